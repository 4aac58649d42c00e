"""What Temporal's server itself writes into a failure, in plain JSON: it has no key of ours.

Read in the source of 1.32, and seen for cancel, timeout, terminate and reset, before and after the
start (tests/workflows/test_server_words.py). Of all that a worker's answer may hold, it writes but
two things, both as the details of a cancelled activity that nobody was working on:

- `"ACTIVITY_ID_NOT_STARTED"`, of a workflow's activity that had not started, or whose next attempt
  had not;
- of an activity that was started without a workflow: the reason that came with the cancel, any
  text.

What else it writes (why a run was terminated, the times of schedules) lies where no worker answers.
Neither decides anything, so neither is worth making up. What is not exactly that is refused, and so
are these in the place of a result.
"""

import json
from typing import Any, Final

from temporalio.api.common.v1 import Payload
from temporalio.converter import EncodingPayloadConverter

from wire.faults import Unreadable

_PLAIN: Final = {"encoding": b"json/plain"}
_ENCODING: Final = "exclave/server-words"
NOT_STARTED: Final = Payload(metadata=_PLAIN, data=b'"ACTIVITY_ID_NOT_STARTED"')
"""Of an activity that a workflow cancelled before it, or its next attempt, started."""


def is_of_the_server(payload: Payload, *, alone: bool) -> bool:
    """Whether the server may have written this.

    Args:
        payload: In plain text, where a worker answers.
        alone: The activity was started without a workflow.
    """
    return payload == NOT_STARTED or (alone and _is_text(payload))


def of_the_server(payload: Payload) -> Payload:
    """Marks it: it may stand among the details of a failure, and nowhere else."""
    return Payload(metadata={"encoding": _ENCODING.encode()}, data=payload.data)


def _is_text(payload: Payload) -> bool:
    if dict(payload.metadata) != _PLAIN:
        return False
    try:
        return isinstance(json.loads(payload.data), str)
    except ValueError:
        return False


class ServerWordsConverter(EncodingPayloadConverter):
    """Reads what the codec found to be the server's own."""

    @property
    def encoding(self) -> str:
        """What the codec marks it with."""
        return _ENCODING

    def to_payload(self, value: Any) -> Payload | None:
        """Nothing is sent like this."""
        return None

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        """The words; details of failures are read without a type, and results with theirs.

        Raises:
            Unreadable: it stands where a result belongs.
        """
        if type_hint is not None:
            raise Unreadable(
                "What Temporal says of a cancelled activity stands in the place of an activity's "
                "result, where it never writes it: whoever did is between the worker and "
                "Temporal, and holds no key. Look at the gateways."
            )
        return json.loads(payload.data)
