"""What every activity passes through: checks of its input, and the types of its errors."""

import asyncio
import errno
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.exceptions import CancelledError as TemporalCancelledError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities.interceptor import ActivityInterceptor
from activities.secrets.masking import Mask
from contracts.deploys import ScopeInput
from contracts.errors import (
    Bug,
    DiskFull,
    EngineFailed,
    LockHeld,
    NotUnderstood,
    PolicyDenied,
    Unreachable,
)
from contracts.installs import DescribeInput
from contracts.messages import Nothing, WorkerInput
from store.errors import Conflict
from store.folder import FolderStore
from store.interface import ANY

FEATURES = frozenset({"deploy/1", "action/1"})


class Innermost(ActivityInboundInterceptor):
    """The activity itself."""

    def __init__(self, does: Callable[[], Any]) -> None:
        self._does = does

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        return self._does()


def unused() -> None:
    raise AssertionError("the activity must not run")


async def execute(
    *args: Any, does: Callable[[], Any] = lambda: "done", install: str | None = "acme"
) -> Any:
    inbound = ActivityInterceptor(FEATURES, install).intercept_activity(Innermost(does))
    input = ExecuteActivityInput(fn=unused, args=args, executor=None, headers={})
    return await inbound.execute_activity(input)


async def test_what_is_right_passes() -> None:
    assert await execute(DescribeInput(install="acme", requires=["deploy/1"])) == "done"
    assert await execute(Nothing()) == "done"
    assert await execute(DescribeInput(install="other"), install=None) == "done"
    assert await execute(WorkerInput(requires=["action/1"])) == "done"


async def test_an_unknown_feature_is_refused_before_anything_is_done() -> None:
    needs = ["deploy/1", "helm/2", "roles/1"]
    with pytest.raises(NotUnderstood) as caught:
        await execute(DescribeInput(install="acme", requires=needs), does=unused)
    assert "does not know helm/2, roles/1" in caught.value.message
    assert "It knows: action/1, deploy/1" in caught.value.message


@pytest.mark.parametrize("requires", [[], ["deploy/1"]])
async def test_the_input_of_another_install_is_refused(requires: list[str]) -> None:
    turn = {"number": 1, "workflow_id": "deploy/other/1"}
    one = ScopeInput.model_validate(
        {"install": "other", "app": "shop", "release": "sha256:" + "1" * 64}
        | {"turn": turn, "inputs": {}, "requires": requires}
    )
    with pytest.raises(PolicyDenied, match="'acme', not to 'other'"):
        await execute(one, does=unused)


SECRET = "hunter2hunter2"


def fails() -> None:
    Mask.of(cast(Any, Fails()))


class Fails:
    def __iter__(self) -> None:
        raise ValueError(SECRET)


async def test_an_unknown_exception_is_a_bug_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(Bug) as caught:
        await execute(Nothing(), does=fails)
    assert caught.value.non_retryable
    assert caught.value.message.startswith("ValueError at tests/activities/test_interceptor.py:")
    assert "bug in Exclave" in caught.value.message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__, "nor by the chain of causes"
    assert "masking.py" in caplog.text, "the log has the frames"
    assert SECRET not in caplog.text
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        EngineFailed("it failed"),
        LockHeld("by somebody"),
        ApplicationError("another", type="Other"),
        TemporalCancelledError("cancelled"),
        asyncio.CancelledError(),
    ],
)
async def test_what_has_a_type_passes_as_it_is(error: BaseException) -> None:
    def raises() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await execute(Nothing(), does=raises)
    assert caught.value is error


async def test_a_store_that_is_away_is_tried_again(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    store.root.write_text("no folder")
    with pytest.raises(Unreachable) as caught:
        await execute(Nothing(), does=lambda: store.put("a", b"", if_match=ANY))
    assert not caught.value.non_retryable
    assert str(tmp_path) in caught.value.message
    assert caught.value.__cause__ is None


async def test_a_store_that_others_change_all_the_time_is_tried_again() -> None:
    def lost() -> None:
        raise Conflict("turn.json")

    with pytest.raises(Unreachable, match=r"turn\.json was changed by somebody else"):
        await execute(Nothing(), does=lost)


async def test_a_full_disk_is_named_and_tried_again() -> None:
    def raises() -> None:
        raise OSError(errno.ENOSPC, SECRET, "/data/work/net")

    with pytest.raises(DiskFull) as caught:
        await execute(Nothing(), does=raises)
    assert not caught.value.non_retryable
    for words in ("The disk / of", " free)", "/data/work/net could not be written", "Free space"):
        assert words in caught.value.message
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PermissionError(errno.EACCES, SECRET, "/data/x"), "/data/x: Permission denied"),
        (OSError(errno.EMFILE, SECRET), "test_interceptor.py:"),
        (OSError(SECRET), "OSError"),
    ],
)
async def test_what_the_machine_lacks_is_named_and_tried_again(error: OSError, says: str) -> None:
    def raises() -> None:
        raise error

    with pytest.raises(Unreachable) as caught:
        await execute(Nothing(), does=raises)
    assert not caught.value.non_retryable
    assert says in caught.value.message
    assert "Free space or repair it" in caught.value.message
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "status",
    [
        RPCStatusCode.RESOURCE_EXHAUSTED,
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.ABORTED,
        RPCStatusCode.CANCELLED,
        RPCStatusCode.UNKNOWN,
        RPCStatusCode.INTERNAL,
        RPCStatusCode.FAILED_PRECONDITION,
        RPCStatusCode.UNAUTHENTICATED,
        RPCStatusCode.PERMISSION_DENIED,
    ],
)
async def test_a_temporal_that_is_busy_or_away_is_asked_again(status: RPCStatusCode) -> None:
    def raises() -> None:
        raise RPCError(SECRET, status, b"")

    with pytest.raises(Unreachable) as caught:
        await execute(Nothing(), does=raises)
    assert not caught.value.non_retryable
    assert status.name in caught.value.message
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("status", [RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.NOT_FOUND])
async def test_a_call_that_can_never_be_right_is_a_bug(status: RPCStatusCode) -> None:
    def raises() -> None:
        raise RPCError(SECRET, status, b"")

    with pytest.raises(Bug) as caught:
        await execute(Nothing(), does=raises)
    assert status.name in caught.value.message
    assert SECRET not in str(caught.value)
