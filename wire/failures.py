"""Reads failures even if their details cannot be read.

By default, the SDK (1.35) raises if it cannot read a detail, and the task of a workflow whose
activity failed with such a detail would fail for ever. No decision depends on details.
"""

from collections.abc import Sequence
from typing import Any

from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.converter import DefaultFailureConverter, PayloadConverter


class _Details(PayloadConverter):
    """Reads each value that can be read, and replaces the others with a note."""

    def __init__(self, converter: PayloadConverter) -> None:
        self._converter = converter

    def to_payloads(self, values: Sequence[Any]) -> list[Payload]:
        """Unchanged."""
        return self._converter.to_payloads(values)

    def from_payloads(
        self, payloads: Sequence[Payload], type_hints: list[type] | None = None
    ) -> list[Any]:
        """One by one, and without types, as failures are read."""
        return [self._read(payload) for payload in payloads]

    def _read(self, payload: Payload) -> Any:
        try:
            [value] = self._converter.from_payloads([payload])
        except Exception as error:
            # Any exception, since a worker may have sent anything.
            return f"(cannot be read: {type(error).__name__})"
        return value


class ReadableFailures(DefaultFailureConverter):
    """The default converter, but tolerant of details that cannot be read."""

    def from_failure(self, failure: Failure, payload_converter: PayloadConverter) -> BaseException:
        """Read a failure."""
        tolerant = isinstance(payload_converter, _Details)
        return super().from_failure(
            failure, payload_converter if tolerant else _Details(payload_converter)
        )


class EncodedFailures(ReadableFailures):
    """The same, but messages and stack traces go through the codec, too."""

    def __init__(self) -> None:
        super().__init__(encode_common_attributes=True)
