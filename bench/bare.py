"""The reference: the smallest Temporal workflow, with one activity that does nothing."""

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

BARE_QUEUE = "bench.bare"
REMOTE_QUEUE = "bench.bare.remote"
"""The queue of a worker with only the activity, just as an install worker has its own queue."""


@activity.defn(name="bare.nothing")
async def nothing() -> None:
    """Does nothing."""


@workflow.defn(name="Bare")
class Bare:
    @workflow.run
    async def run(self, activity_queue: str) -> None:
        await workflow.execute_activity(
            "bare.nothing",
            task_queue=activity_queue,
            start_to_close_timeout=timedelta(seconds=10),
        )


@contextlib.asynccontextmanager
async def bare_workers(client: Client) -> AsyncIterator[None]:
    """A worker with workflow and activity, and one with only the activity, with SDK defaults."""
    async with (
        Worker(client, task_queue=BARE_QUEUE, workflows=[Bare], activities=[nothing]),
        Worker(client, task_queue=REMOTE_QUEUE, activities=[nothing]),
    ):
        yield
