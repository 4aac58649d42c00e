"""Decrypts the payloads within a message of Temporal's API.

The SDK decodes the values that it returns, but events of a history and descriptions contain
payloads as Temporal stores them.
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
    """A copy of the message, with all payloads decrypted that the client's keys can read."""
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
    """The payloads and failures within a message, also those within failures."""
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
        # Of a map, the values, which need not be messages.
        several = value.values() if hasattr(value, "values") else value
        yield from (one for one in several if isinstance(one, Message))


def _restore(failure: Failure) -> None:
    """Put the message and the stack trace back where the SDK took them from."""
    attributes = failure.encoded_attributes
    if attributes.metadata.get("encoding") != b"json/plain":
        return
    words = json.loads(attributes.data)
    if isinstance(words, dict):
        failure.message = str(words.get("message", failure.message))
        failure.stack_trace = str(words.get("stack_trace", ""))
