"""OTLP's two encodings: how requests are read and answers are written."""

import base64
import binascii
import json
from enum import Enum
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message

from gateway.telemetry.signals import Signal

_IDS = {"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"}
"""OTLP writes these in hexadecimal digits, unlike protobuf's own JSON."""


_OBJECTS_AT_MOST = 50_000
"""The most objects in a JSON body, since JSON takes a hundred times as long to read as protobuf."""


class NotUnderstood(Exception):
    """A body is not what its headers say."""


class Encoding(Enum):
    """The encoding of a request and of its answer."""

    PROTOBUF = "application/x-protobuf"
    JSON = "application/json"

    @staticmethod
    def named(content_type: str) -> "Encoding | None":
        """The encoding that a Content-Type names; None if it is neither."""
        bare = content_type.partition(";")[0].strip().lower()
        return next((one for one in Encoding if one.value == bare), None)

    def read(self, signal: Signal, body: bytes) -> Message:
        """The request in these bytes.

        Raises:
            NotUnderstood: they are not such a request.
        """
        request = signal.request()
        try:
            if self is Encoding.PROTOBUF:
                request.ParseFromString(body)
            else:
                if body.count(b"{") > _OBJECTS_AT_MOST:
                    raise NotUnderstood(
                        f"the JSON has over {_OBJECTS_AT_MOST} objects; send smaller batches, or "
                        "protobuf"
                    )
                json_format.ParseDict(_plain(json.loads(body)), request, ignore_unknown_fields=True)
        except (DecodeError, json_format.ParseError, ValueError, RecursionError) as error:
            raise NotUnderstood(
                f"the body is no {signal.request.DESCRIPTOR.name} as {self.value}: "
                f"{str(error)[:200]}"
            ) from error
        return request

    def answer(self, signal: Signal, dropped: int, why: str) -> bytes:
        """The answer to an accepted request, of which `dropped` items were dropped."""
        response: Any = signal.response()
        if dropped:
            setattr(response.partial_success, signal.rejected, dropped)
            response.partial_success.error_message = why
        if self is Encoding.PROTOBUF:
            return bytes(response.SerializeToString())
        return json_format.MessageToJson(response, indent=None).encode()

    def refusal(self, message: str) -> bytes:
        """A `google.rpc.Status`, as OTLP requires for every error."""
        if self is Encoding.JSON:
            return json.dumps({"message": message}).encode()
        text = message.encode()
        # Field 2 of a Status is the message, with wire type 2.
        return b"\x12" + _varint(len(text)) + text


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _plain(content: Any) -> Any:
    """Converts OTLP's JSON to protobuf's own, in place."""
    left = [content]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            for key, value in one.items():
                if isinstance(value, str):
                    if key in _IDS:
                        one[key] = _base64(value)
                else:
                    left.append(value)
        elif isinstance(one, list):
            left += one
    return content


def _base64(digits: str) -> str:
    try:
        return base64.b64encode(binascii.unhexlify(digits)).decode()
    except ValueError as error:
        raise NotUnderstood(f"{digits[:64]!r} is no id: expected hexadecimal digits") from error
