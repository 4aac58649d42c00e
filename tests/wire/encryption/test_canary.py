"""A secret in every kind of payload is found in no file of Temporal and in no log."""

import logging
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.client import ActivityFailureError, Client, WorkflowFailureError
from temporalio.common import RawValue, RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from contracts.errors import KeyMissing
from tests.wire.encryption import canary_story
from wire.connection import TemporalAddress, connect_once
from wire.encryption.key_ring import KeyRing
from wire.encryption.keys import MasterKeys
from wire.faults import Unreadable
from workers.log_lines import WordlessExceptions

pytestmark = pytest.mark.process

PASSING = {
    *("query-input", "query-result", "current-details", "update-refusal"),
    *("heartbeat", "local-input"),
}
"""Secrets that are never in a history: in answers, refused payloads, and what stays in a worker. A
heartbeat is in the database until the next one."""


@asynccontextmanager
async def temporal(folder: Path) -> AsyncIterator[str]:
    """The address of a server with its database in a file."""
    for tries_left in reversed(range(3)):
        try:
            environment = await WorkflowEnvironment.start_local(
                namespace="dev",
                dev_server_existing_path=str(Path(sys.executable).with_name("temporal")),
                dev_server_database_filename=str(folder / "temporal.db"),
                dev_server_log_level="info",
                dev_server_extra_args=[
                    *("--dynamic-config-value", "history.transferProcessorMaxPollRPS=1000"),
                ],
            )
            break
        except RuntimeError:
            # The SDK gives it 5 s, which may not be enough on a busy machine.
            if not tries_left:
                raise
    async with environment:
        yield environment.client.service_client.config.target_host


@asynccontextmanager
async def logging_to(file: Path) -> AsyncIterator[None]:
    """Log everything, also from the SDK, as a worker process does."""
    handler = logging.FileHandler(file)
    handler.setFormatter(WordlessExceptions("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.setLevel(before)
        root.removeHandler(handler)
        handler.close()


async def the_story(address: str, keys: MasterKeys | None) -> None:
    where = TemporalAddress(address, "dev")
    control: Client = await connect_once(where, KeyRing(keys) if keys else None)
    install = await connect_once(
        where, KeyRing(keys.for_subject("dev", "install/acme")) if keys else None
    )
    async with canary_story.control_worker(control), canary_story.install_worker(install):
        await canary_story.tell_story(control)


@pytest.mark.parametrize("encrypted", [False, True])
async def test_no_secret_is_found(tmp_path: Path, encrypted: bool) -> None:
    canary_story.forget()
    async with logging_to(tmp_path / "workers.log"), temporal(tmp_path) as address:
        await the_story(address, MasterKeys.new() if encrypted else None)
    assert (tmp_path / "temporal.db").stat().st_size > 100_000
    assert "Completing activity as failed" in (tmp_path / "workers.log").read_text()
    found = canary_story.found_in(tmp_path)
    if encrypted:
        assert found == {}, "readable"
    else:
        missed = canary_story.SECRET.made.keys() - found.keys()
        assert missed <= PASSING, "the search finds what is there"


async def test_who_may_say_what_to_whom(tmp_path: Path) -> None:
    canary_story.forget()
    keys = MasterKeys.new()
    async with temporal(tmp_path) as address:
        where = TemporalAddress(address, "dev")
        await a_worker_takes_nothing_that_is_not_for_it(where, keys)
        await what_people_send_in_plain_is_taken_and_answered_encrypted(where, keys)


async def a_worker_takes_nothing_that_is_not_for_it(
    where: TemporalAddress, keys: MasterKeys
) -> None:
    plain = await connect_once(where)
    stranger = await connect_once(where, KeyRing(MasterKeys.new()))
    other = await connect_once(where, KeyRing(keys.for_subject("dev", "install/other")))

    def asking(client: Client, tries: RetryPolicy | None = None) -> Awaitable[canary_story.Done]:
        return client.execute_activity(
            canary_story.answer,
            canary_story.Work(text="do it"),
            id=f"forged-{uuid4()}",
            task_queue=canary_story.QUEUE,
            start_to_close_timeout=canary_story.SOON,
            retry_policy=tries,
        )

    install = await connect_once(where, KeyRing(keys.for_subject("dev", "install/acme")))
    async with canary_story.install_worker(install):
        with pytest.raises(ActivityFailureError) as caught:
            await asking(plain)
        assert typed(caught.value.cause) == "PayloadRefused"
        with pytest.raises(ActivityFailureError) as caught:
            await asking(stranger, canary_story.ONCE)
        assert typed(caught.value.cause) == "KeyMissing"
    with pytest.raises(KeyMissing):
        await asking(other)


def typed(error: BaseException | None) -> str | None:
    assert isinstance(error, ApplicationError)
    return error.type


async def what_people_send_in_plain_is_taken_and_answered_encrypted(
    where: TemporalAddress, keys: MasterKeys
) -> None:
    control = await connect_once(where, KeyRing(keys))
    person = await connect_once(where)
    async with canary_story.control_worker(control):
        run = await person.start_workflow(
            "Child", {"text": "hello"}, id="action/acme/plain", task_queue=canary_story.CONTROL
        )
        await run.signal("hear", {"text": canary_story.SECRET("external-signal")})
        with pytest.raises(Unreadable, match="EXCLAVE_KEYS"):
            await run.result()
        answer = await control.get_workflow_handle(run.id, result_type=canary_story.Done).result()
        assert answer.text == canary_story.SECRET("child-result")
        # One install's payload, copied to another install, is bad input there.
        events = (await control.get_workflow_handle(run.id).fetch_history()).events
        result = events[-1].workflow_execution_completed_event_attributes.result.payloads[0]
        copied = await person.start_workflow(
            "Child", RawValue(result), id="action/other/moved", task_queue=canary_story.CONTROL
        )
        with pytest.raises(WorkflowFailureError) as caught:
            await control.get_workflow_handle(copied.id).result()
        assert typed(caught.value.cause) == "BadInput"
        assert "belongs to 'install/acme'" in str(caught.value.cause)
