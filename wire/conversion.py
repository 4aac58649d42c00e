"""The data converter: pydantic models as plain JSON, and an immediate error for bad input.

By default, a workflow whose arguments cannot be decoded hangs, since Temporal takes that for a bug
in the code and retries for ever. Here, bad input from people (`Command`) is refused with a typed
error, and a bad answer of a customer's worker fails its run (`contracts.answers`). If any other
`Message` cannot be decoded, that is a bug of Exclave's: the workflow waits for a version that fixes
it, and loses nothing.
"""

import dataclasses
import difflib
from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter, pydantic_data_converter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
)

from contracts.answers import AnswerTo, Unfit
from contracts.errors import BadInput
from contracts.messages import Command, Public
from wire.encryption.codec import PUBLIC, Encryption
from wire.encryption.keys import Keys
from wire.encryption.server_payloads import ServerWordsConverter
from wire.encryption.unreadable import (
    EncryptedConverter,
    UnreadableConverter,
    is_given_up,
    is_unreadable,
)
from wire.failures import EncodedFailures, ReadableFailures

_SHOWN: Final = 500
"""How many characters describe what is wrong with an answer."""


class _CommandRefusing(PydanticJSONPlainPayloadConverter):
    """Turns a `Command` that does not validate into `BadInput`, and marks public messages."""

    def to_payload(self, value: Any) -> Payload | None:
        """Encode, and mark a `Public` message."""
        payload = super().to_payload(value)
        if payload is not None and isinstance(value, Public):
            payload.metadata[PUBLIC] = b"1"
        return payload

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        """Decode, or raise `BadInput` for a `Command`."""
        try:
            return super().from_payload(payload, type_hint)
        except ValidationError as error:
            if isinstance(type_hint, type) and issubclass(type_hint, Command):
                raise BadInput(describe(error, type_hint)) from None
            raise


class _PayloadConverter(CompositePayloadConverter):
    """The default converters, but with another one for plain JSON."""

    def __init__(self) -> None:
        json_converter = _CommandRefusing()
        super().__init__(
            *(
                json_converter if isinstance(converter, JSONPlainPayloadConverter) else converter
                for converter in DefaultPayloadConverter.default_encoding_payload_converters
            ),
            ServerWordsConverter(),
            UnreadableConverter(),
            EncryptedConverter(),
        )

    def from_payloads(
        self, payloads: Sequence[Payload], type_hints: list[type] | None = None
    ) -> list[Any]:
        """Decode; a worker's answer that cannot be read becomes `Unfit`."""
        match type_hints, payloads:
            case [AnswerTo(result)], [payload]:
                return [self._answer(payload, result)]
            case _:
                return super().from_payloads(payloads, type_hints)

    def _answer(self, payload: Payload, result: type[BaseModel]) -> Any:
        if is_unreadable(payload, for_good=False):
            if is_given_up(payload):
                return Unfit("its key did not arrive", given_up=True)
            # The missing key may still arrive.
            return super().from_payloads([payload], [result])[0]
        try:
            [answer] = super().from_payloads([payload], [result])
        except ValidationError as error:
            return Unfit(f"it is no {result.__name__}: {describe(error, result)[:_SHOWN]}")
        except Exception as error:
            # Any exception, since a worker may have answered anything.
            return Unfit(f"it cannot be read: {str(error)[:_SHOWN]}")
        return answer if isinstance(answer, result) else Unfit(f"it is no {result.__name__}")


def describe(error: ValidationError, model: type[BaseModel]) -> str:
    """All problems of an input in one line: the keys, what is wrong, and what would be right."""
    lines = [f"{_key(problem)}: {_what(problem, model)}" for problem in error.errors()]
    accepted = ", ".join(
        name if field.is_required() else f"{name} (optional)"
        for name, field in model.model_fields.items()
    )
    problems = "; ".join(lines)
    end = "" if problems.endswith("?") else "."
    return f"The input does not fit {model.__name__}: {problems}{end} It has: {accepted}."


def _key(problem: ErrorDetails) -> str:
    return ".".join(str(part) for part in problem["loc"]) or "the input"


def _what(problem: ErrorDetails, model: type[BaseModel]) -> str:
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(problem["loc"][-1]), model.model_fields, n=1)
        return "unknown key" + (f", did you mean `{near[0]}`?" if near else "")
    return problem["msg"]


data_converter: DataConverter = dataclasses.replace(
    pydantic_data_converter,
    payload_converter_class=_PayloadConverter,
    failure_converter_class=ReadableFailures,
)
"""The data converter of every client and worker whose payloads are plain."""


def encrypting(keys: Keys | None, namespace: str) -> DataConverter:
    """The data converter of a process: with keys, nothing readable leaves the process.

    Messages and stack traces of errors are encrypted, too.

    Args:
        keys: The process's keys; without them, payloads are plain.
        namespace: The org.
    """
    if keys is None:
        return data_converter
    return dataclasses.replace(
        data_converter,
        payload_codec=Encryption(keys, namespace),
        failure_converter_class=EncodedFailures,
    )
