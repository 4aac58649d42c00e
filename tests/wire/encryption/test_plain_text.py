"""Encrypted payloads in Temporal's messages can be read: events, failures, descriptions."""

from dataclasses import dataclass
from typing import Any, cast

import pytest
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.converter import DataConverter, WorkflowSerializationContext

from contracts.errors import EngineFailed
from wire.conversion import encrypting
from wire.encryption.key_ring import KeyRing
from wire.encryption.keys import MasterKeys
from wire.encryption.plain_text import plain_text

KEYS = KeyRing(MasterKeys.new())
CONVERTER = encrypting(KEYS, "dev").with_context(
    WorkflowSerializationContext(namespace="dev", workflow_id="deploy/acme/1")
)


@dataclass
class Connected:
    """The part of a client that is used."""

    data_converter: DataConverter


def client(keys: KeyRing | None) -> Client:
    return cast(Client, Connected(encrypting(keys, "dev")))


async def payloads(*values: Any) -> Any:
    return await CONVERTER.encode_wrapper(values)


async def failure() -> Failure:
    failed = Failure()
    try:
        raise EngineFailed("no such bucket", "details") from KeyError("the cause")
    except EngineFailed as error:
        await CONVERTER.encode_failure(error, failed)
    assert "bucket" not in str(failed)
    return failed


async def test_an_event_can_be_read() -> None:
    event = HistoryEvent(event_id=5)
    started = event.workflow_execution_started_event_attributes
    started.input.CopyFrom(await payloads({"a": 1}))
    started.memo.fields["note"].CopyFrom((await payloads("noted")).payloads[0])
    read = await plain_text(client(KEYS), event)
    attributes = read.workflow_execution_started_event_attributes
    assert attributes.input.payloads[0].data == b'{"a":1}'
    assert attributes.memo.fields["note"].data == b'"noted"'
    assert event != read, "what was given stays as it was"
    assert await plain_text(client(None), event) is event


async def test_a_failure_has_its_words_back() -> None:
    event = HistoryEvent(event_id=5)
    event.activity_task_failed_event_attributes.failure.CopyFrom(await failure())
    read = (await plain_text(client(KEYS), event)).activity_task_failed_event_attributes.failure
    assert read.message == "no such bucket"
    assert "test_plain_text.py" in read.stack_trace
    assert read.cause.message == "'the cause'"
    assert read.application_failure_info.details.payloads[0].data == b'"details"'


@pytest.mark.parametrize("keys", [KeyRing(MasterKeys.new())])
async def test_what_cannot_be_read_stays_as_it_is(keys: KeyRing) -> None:
    event = HistoryEvent(event_id=5)
    event.activity_task_failed_event_attributes.failure.CopyFrom(await failure())
    read = (await plain_text(client(keys), event)).activity_task_failed_event_attributes.failure
    assert read.message == "Encoded failure"
