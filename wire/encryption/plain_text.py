"""Plain text again: a message of Temporal's API whose payloads were encrypted.

The SDK decodes what it returns as values. Events of a history and what a description holds come as
they lie in Temporal.
"""

import json
from collections.abc import Iterator
from typing import Any, TypeVar

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.client import Client

M = TypeVar("M", bound=Message)


async def plain_text(client: Client, message: M) -> M:
    """A copy in which everything can be read that the client's keys can read."""
    codec = client.data_converter.payload_codec
    if codec is None:
        return message
    plain = type(message)()
    plain.CopyFrom(message)
    for part in _parts(plain):
        if isinstance(part, Payload):
            part.CopyFrom((await codec.decode([part]))[0])
    for part in _parts(plain):
        if isinstance(part, Failure) and part.HasField("encoded_attributes"):
            _restore(part)
    return plain


def _parts(message: Message) -> Iterator[Message]:
    """The payloads and failures within a message, and what is within failures."""
    if isinstance(message, Payload):
        yield message
        return
    if isinstance(message, Failure):
        yield message
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for inner in _messages(value):
            yield from _parts(inner)


def _messages(value: Any) -> Iterator[Message]:
    if isinstance(value, Message):
        yield value
    else:
        # A map is gone through by its values, which may be no messages.
        several = value.values() if hasattr(value, "values") else value
        yield from (one for one in several if isinstance(one, Message))


def _restore(failure: Failure) -> None:
    """Put message and stack back where the SDK took them from."""
    attributes = failure.encoded_attributes
    if attributes.metadata.get("encoding") != b"json/plain":
        return
    words = json.loads(attributes.data)
    if isinstance(words, dict):
        failure.message = str(words.get("message", failure.message))
        failure.stack_trace = str(words.get("stack_trace", ""))
