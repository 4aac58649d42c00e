"""An update that was put back with its workflow task is sent again; no other call is."""

import pytest
from temporalio.service import RPCError, RPCStatusCode

from client import updates
from client.updates import sent_until_taken

PUT_BACK = RPCError(
    "Unable to perform workflow execution update due to unexpected workflow task failure.",
    RPCStatusCode.FAILED_PRECONDITION,
    b"",
)
"""The answer of Temporal 1.32 (see tests/workflows/test_busy_histories.py, where it is random)."""


class Sender:
    def __init__(self, *answers: RPCError | str) -> None:
        self._answers = list(answers)

    async def __call__(self) -> str:
        answer = self._answers.pop(0)
        if isinstance(answer, RPCError):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "_WAITS", (0.0,) * 5)


@pytest.mark.parametrize("times", [0, 1, 5])
async def test_it_is_sent_until_it_is_taken(times: int) -> None:
    assert await sent_until_taken(Sender(*[PUT_BACK] * times, "done")) == "done"


async def test_it_is_given_up_in_the_end() -> None:
    with pytest.raises(RPCError, match="workflow task failure"):
        await sent_until_taken(Sender(*[PUT_BACK] * 6, "too late"))


@pytest.mark.parametrize(
    "other",
    [
        RPCError("no poller seen for task queue", RPCStatusCode.FAILED_PRECONDITION, b""),
        RPCError("unexpected workflow task failure", RPCStatusCode.UNAVAILABLE, b""),
    ],
)
async def test_what_means_something_else_is_not_sent_again(other: RPCError) -> None:
    with pytest.raises(RPCError) as raised:
        await sent_until_taken(Sender(other, "sent twice"))
    assert raised.value is other
