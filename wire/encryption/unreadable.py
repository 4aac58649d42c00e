"""Payloads that cannot or may not be read here: marked by the codec, and refused later.

If a codec raises, the SDK retries without end. So the codec replaces a payload that it refuses with
a mark, and the converter and the interceptor here refuse the mark: a person's input as bad input, a
worker's input with a typed error.
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
    "This payload is encrypted, and this process has no keys. On the control side, name the "
    "file of the master keys: EXCLAVE_KEYS=FILE. A worker gets its keys with its enrolment."
)


@dataclass(frozen=True)
class Refused:
    """Takes the place of a worker's input that is refused."""

    error: ExclaveError


def unreadable(error: KeyMissing | PayloadRefused, *, given_up: bool = False) -> Payload:
    """The mark that replaces a payload which the codec refuses.

    Args:
        error: Why it is refused.
        given_up: Whether the wait for its missing key is over.
    """
    metadata = {"encoding": _UNREADABLE.encode()}
    if given_up:
        metadata[_GIVEN_UP] = b"1"
    return Payload(
        metadata=metadata,
        data=json.dumps([error.type, error.message]).encode(),
    )


def is_unreadable(payload: Payload, *, for_good: bool | None = None) -> bool:
    """Whether a payload is the codec's mark for one that it refuses.

    Args:
        payload: Any payload.
        for_good: True to ask for one that no key can make readable, False for one whose key is
            missing, None for both.
    """
    if payload.metadata.get("encoding") != _UNREADABLE.encode():
        return False
    return for_good is None or for_good is (json.loads(payload.data)[0] != KeyMissing.__name__)


def is_given_up(payload: Payload) -> bool:
    """Whether a marked payload's key did not arrive in time."""
    return _GIVEN_UP in payload.metadata


class UnreadableConverter(EncodingPayloadConverter):
    """Refuses payloads that the codec has marked."""

    @property
    def encoding(self) -> str:
        """The codec's mark."""
        return _UNREADABLE

    def to_payload(self, value: Any) -> Payload | None:
        """Never used to send."""
        return None

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        """Refuse a person's input as `BadInput`; the interceptor refuses a worker's."""
        kind, message = json.loads(payload.data)
        error = (KeyMissing if kind == KeyMissing.__name__ else PayloadRefused)(message)
        if isinstance(type_hint, type) and issubclass(type_hint, WorkerInput):
            return Refused(error)
        # A missing key may still arrive; only what no key can read is the person's fault.
        if (
            isinstance(error, PayloadRefused)
            and isinstance(type_hint, type)
            and issubclass(type_hint, Command)
        ):
            raise BadInput(message)
        raise Unreadable(message)


class EncryptedConverter(UnreadableConverter):
    """Refuses encrypted payloads in a process without keys."""

    @property
    def encoding(self) -> str:
        """The encoding of encrypted payloads."""
        return ENCRYPTED.decode()

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        """Refuse the payload, until there are keys."""
        return super().from_payload(unreadable(KeyMissing(NO_KEYS)), type_hint)


async def _no_others() -> None:
    """For processes with the master keys, which have all keys already."""


class Readable(Interceptor):
    """Refuses activities whose input could not be read."""

    def __init__(self, learn_keys: Callable[[], Awaitable[None]] = _no_others) -> None:
        """`learn_keys` is awaited when a key is missing, before Temporal retries."""
        self._learn_keys = learn_keys

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Put the check in front of each activity."""
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
