"""Recognizes payloads that Temporal's server itself writes into failures, in plain JSON.

The server has no keys. According to its source (1.32), and to tests of cancel, timeout, terminate
and reset before and after the start (tests/workflows/test_server_words.py), it writes only two
things in places where a worker answers. Both are details of a cancelled activity that nobody was
working on:

- `"ACTIVITY_ID_NOT_STARTED"`, for a workflow's activity that had not started, or whose next attempt
  had not;
- the reason that was given for the cancel, any text, for an activity started without a workflow.

Its other payloads (why a run was terminated, the times of schedules) lie where no worker answers.
No decision depends on these two, so forging them gains nothing. Anything else in plain text is
refused, and so are these two in the place of a result.
"""

import json
from typing import Any, Final

from temporalio.api.common.v1 import Payload
from temporalio.converter import EncodingPayloadConverter

from wire.faults import Unreadable

_PLAIN: Final = {"encoding": b"json/plain"}
_ENCODING: Final = "exclave/server-words"
NOT_STARTED: Final = Payload(metadata=_PLAIN, data=b'"ACTIVITY_ID_NOT_STARTED"')
"""For an activity that a workflow cancelled before it, or its next attempt, started."""


def is_of_the_server(payload: Payload, *, alone: bool) -> bool:
    """Whether the server may have written this.

    Args:
        payload: A plain payload in the place of a worker's answer.
        alone: Whether the activity was started without a workflow.
    """
    return payload == NOT_STARTED or (alone and _is_text(payload))


def of_the_server(payload: Payload) -> Payload:
    """The payload, marked as the server's: it is accepted in the details of a failure only."""
    return Payload(metadata={"encoding": _ENCODING.encode()}, data=payload.data)


def _is_text(payload: Payload) -> bool:
    if dict(payload.metadata) != _PLAIN:
        return False
    try:
        return isinstance(json.loads(payload.data), str)
    except ValueError:
        return False


class ServerWordsConverter(EncodingPayloadConverter):
    """Reads the payloads that the codec marked as the server's own."""

    @property
    def encoding(self) -> str:
        """The codec's mark."""
        return _ENCODING

    def to_payload(self, value: Any) -> Payload | None:
        """Never used to send."""
        return None

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        """The text. Details of failures are read without a type hint, but results with theirs.

        Raises:
            Unreadable: it takes the place of a result.
        """
        if type_hint is not None:
            raise Unreadable(
                "Temporal's note about a cancelled activity is in the place of an activity's "
                "result, where Temporal never writes it. Somebody between the worker and "
                "Temporal, who has no key, must have put it there. Look at the gateways."
            )
        return json.loads(payload.data)
