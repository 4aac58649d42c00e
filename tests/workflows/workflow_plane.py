"""A Temporal server and a control worker, in the test's own process."""

import gc
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.client import Client
from temporalio.common import SearchAttributeKey
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities.access.activities import AccessActivities
from activities.access.authority import EnrolmentAuthority, EnrolmentKey
from activities.installs.runs import InstallRuns
from activities.interceptor import ActivityInterceptor
from activities.proofs import KeyProofs
from contracts.names import CONTROL_QUEUE, SEARCH_ATTRIBUTES
from stacks.enrolment import BuildEnrolment
from tests.workflow_histories import replay_all
from tests.workflows.workflow_site import FakeControl
from wire.arguments import ArgumentCount
from wire.conversion import data_converter
from workers.control import SANDBOX, WORKFLOWS

FAST = {
    "history.transferProcessorMaxPollRPS": "1000",
    "matching.numTaskqueueReadPartitions": "1",
    "matching.numTaskqueueWritePartitions": "1",
}
ENROLMENT_KEY = EnrolmentKey(bytes(range(32)))
BUILD_ENROLMENT = BuildEnrolment.of(
    namespace="dev",
    gateway="https://gateway.example.com",
    gateway_ca=None,
    control_key=ENROLMENT_KEY.public,
)


@asynccontextmanager
async def temporal(more: Mapping[str, str] | None = None) -> AsyncIterator[Client]:
    """The development server, as the package beside this Python brings it."""
    settings = {**FAST, **(more or {})}
    async with await WorkflowEnvironment.start_local(
        namespace="dev",
        data_converter=data_converter,
        search_attributes=[SearchAttributeKey.for_keyword(name) for name in SEARCH_ATTRIBUTES],
        dev_server_existing_path=str(Path(sys.executable).with_name("temporal")),
        dev_server_log_level="error",
        dev_server_extra_args=[
            word
            for name, value in settings.items()
            for word in ("--dynamic-config-value", f"{name}={value}")
        ],
    ) as environment:
        yield environment.client


@asynccontextmanager
async def controlling(client: Client, releases: FakeControl) -> AsyncIterator[None]:
    """A control worker: all of it is real but the registry."""
    runs = InstallRuns(client)
    access = AccessActivities(
        EnrolmentAuthority([ENROLMENT_KEY]), client.namespace, build_enrolment=BUILD_ENROLMENT
    )
    async with Worker(
        client,
        task_queue=CONTROL_QUEUE,
        workflows=WORKFLOWS,
        workflow_runner=SANDBOX,
        activities=[
            runs.open_runs,
            runs.watch_run,
            releases.read,
            releases.render,
            releases.set_schedules,
            access.verify_enrolment,
            access.mint_token,
            KeyProofs(client).prove,
        ],
        interceptors=[ArgumentCount(), ActivityInterceptor()],
    ):
        yield


@asynccontextmanager
async def control_plane(
    releases: FakeControl, settings: Mapping[str, str] | None = None
) -> AsyncIterator[Client]:
    """Both of them, and nothing of them afterwards. All that ran there must replay."""
    async with temporal(settings) as client:
        async with controlling(client, releases):
            yield client
        await replay_all(client)
    _collect_dropped_runs()


def _collect_dropped_runs() -> None:
    """Runs that were terminated while the worker held them end here, in their `finally`.

    Outside of a workflow that raises, and pytest would fail the whole session for it at its end.
    """
    before = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        gc.collect()
    finally:
        sys.unraisablehook = before
