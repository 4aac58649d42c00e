"""A payload that may not be read here: carried on as such, and refused where somebody is told.

A codec that raises would make the SDK try again without end. So the codec puts a payload of its own
in the place of one that it refuses, and the converter and this interceptor refuse that: what people
send as bad input, what a worker is told by a typed error.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from temporalio.api.common.v1 import Payload
from temporalio.converter import EncodingPayloadConverter
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from contracts.errors import BadInput, ExclaveError, KeyMissing, PayloadRefused
from contracts.messages import Command, WorkerInput
from wire.faults import Unreadable

ENCRYPTED: Final = b"binary/encrypted"
_UNREADABLE: Final = "exclave/unreadable"
_GIVEN_UP: Final = "given-up"

NO_KEYS: Final = (
    "This payload is encrypted, and this process was given no keys. On the control side, name the "
    "file of the master keys: EXCLAVE_KEYS=FILE. A worker gets its keys with its enrolment."
)


@dataclass(frozen=True)
class Refused:
    """Stands in for what a worker was told."""

    error: ExclaveError


def unreadable(error: KeyMissing | PayloadRefused, *, given_up: bool = False) -> Payload:
    """What the codec puts in the place of a payload that it refuses.

    Args:
        error: Why it does.
        given_up: A key that is missing was waited for long enough.
    """
    metadata = {"encoding": _UNREADABLE.encode()}
    if given_up:
        metadata[_GIVEN_UP] = b"1"
    return Payload(
        metadata=metadata,
        data=json.dumps([error.type, error.message]).encode(),
    )


def is_unreadable(payload: Payload, *, for_good: bool | None = None) -> bool:
    """Whether the codec has put it in the place of one that it refuses.

    Args:
        payload: Any.
        for_good: Ask for one that is refused whatever keys there will be; or False, for one whose
            key is missing.
    """
    if payload.metadata.get("encoding") != _UNREADABLE.encode():
        return False
    return for_good is None or for_good is (json.loads(payload.data)[0] != KeyMissing.__name__)


def is_given_up(payload: Payload) -> bool:
    """Whether the key of one that the codec refuses was waited for long enough."""
    return _GIVEN_UP in payload.metadata


class UnreadableConverter(EncodingPayloadConverter):
    """Refuses what the codec could not read."""

    @property
    def encoding(self) -> str:
        """What the codec marks such payloads with."""
        return _UNREADABLE

    def to_payload(self, value: Any) -> Payload | None:
        """Nothing is sent like this."""
        return None

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        """What a person sent is bad input; a worker's input is refused by the interceptor."""
        kind, message = json.loads(payload.data)
        error = (KeyMissing if kind == KeyMissing.__name__ else PayloadRefused)(message)
        if isinstance(type_hint, type) and issubclass(type_hint, WorkerInput):
            return Refused(error)
        # A key that is missing may come yet: only what never can be read is the person's fault.
        if (
            isinstance(error, PayloadRefused)
            and isinstance(type_hint, type)
            and issubclass(type_hint, Command)
        ):
            raise BadInput(message)
        raise Unreadable(message)


class EncryptedConverter(UnreadableConverter):
    """Refuses what is encrypted where there are no keys at all."""

    @property
    def encoding(self) -> str:
        """What encrypted payloads are marked with."""
        return ENCRYPTED.decode()

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        """Refuse it, until there are keys."""
        return super().from_payload(unreadable(KeyMissing(NO_KEYS)), type_hint)


async def _no_others() -> None:
    """Whoever has the master keys has all there are."""


class Readable(Interceptor):
    """Refuses activities whose input could not be read."""

    def __init__(self, learn_keys: Callable[[], Awaitable[None]] = _no_others) -> None:
        """`learn_keys` is awaited when a key is missing, before Temporal tries again."""
        self._learn_keys = learn_keys

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Put the check before each activity."""
        return _Inbound(next, self._learn_keys)


class _Inbound(ActivityInboundInterceptor):
    def __init__(
        self, next: ActivityInboundInterceptor, learn_keys: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(next)
        self._learn_keys = learn_keys

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        for argument in input.args:
            if isinstance(argument, Refused):
                if isinstance(argument.error, KeyMissing):
                    await self._learn_keys()
                raise argument.error
        return await super().execute_activity(input)
