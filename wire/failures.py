"""Failures whose details cannot be read are failures all the same.

By default the SDK (1.35) raises where it cannot read a detail, and a workflow whose activity failed
with such a one would have its task fail for ever. Details decide nothing.
"""

from collections.abc import Sequence
from typing import Any

from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.converter import DefaultFailureConverter, PayloadConverter


class _Details(PayloadConverter):
    """Reads what can be read, and says of the rest that it cannot."""

    def __init__(self, converter: PayloadConverter) -> None:
        self._converter = converter

    def to_payloads(self, values: Sequence[Any]) -> list[Payload]:
        """As ever."""
        return self._converter.to_payloads(values)

    def from_payloads(
        self, payloads: Sequence[Payload], type_hints: list[type] | None = None
    ) -> list[Any]:
        """One by one; failures are read without types."""
        return [self._read(payload) for payload in payloads]

    def _read(self, payload: Payload) -> Any:
        try:
            [value] = self._converter.from_payloads([payload])
        except Exception as error:
            # Whatever is in it: a worker may have sent anything.
            return f"(cannot be read: {type(error).__name__})"
        return value


class ReadableFailures(DefaultFailureConverter):
    """The default, but for what is said above."""

    def from_failure(self, failure: Failure, payload_converter: PayloadConverter) -> BaseException:
        """Read a failure."""
        tolerant = isinstance(payload_converter, _Details)
        return super().from_failure(
            failure, payload_converter if tolerant else _Details(payload_converter)
        )


class EncodedFailures(ReadableFailures):
    """Whose messages and stack traces go through the codec, too."""

    def __init__(self) -> None:
        super().__init__(encode_common_attributes=True)
