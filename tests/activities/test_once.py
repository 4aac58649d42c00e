"""Done once: a recorded outcome is returned, and only final outcomes are recorded."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from temporalio.testing import ActivityEnvironment

from activities.once import Say, once
from activities.operations.opening import Operations
from activities.operations.operation import Operation
from activities.releases.reader import ReleaseReader
from activities.workplace import Workplace
from contracts.deploys import Applied, Outputs
from contracts.errors import (
    Bug,
    Draining,
    EngineFailed,
    ExclaveError,
    LockHeld,
    StalePlan,
    ToolLost,
    TurnRefused,
    Unreachable,
)
from contracts.messages import Turn
from store.errors import StoreUnavailable
from store.folder import FolderStore
from store.install_state import InstallState
from store.journal import Journal
from store.machine import Machine
from store.opening import folder_description
from workers.engines import ENGINES

KEY = "run-1/net/apply/1"
DONE = Applied(state_revision=3, outputs=Outputs(values={"id": [1, "a"]}, sensitive=["p"]))

Body = Callable[[Operation, Say], Awaitable[Applied]]
Check = Callable[[], Awaitable[None]]


class Site:
    def __init__(self, root: Path) -> None:
        data = root / "data"
        store = FolderStore(root / "store")
        self.journal = Journal(store)
        self.calls = 0
        self.workplace = Workplace(
            engines=ENGINES,
            install="acme",
            org="dev",
            data=data,
            store=store,
            state=InstallState(store, "acme", "dev"),
            operations=Operations(
                store, folder_description(store.root), data, Machine.here(data)
            ),
            open_releases=lambda: cast(ReleaseReader, None),
        )  # fmt: skip

    async def run(self, body: Body, key: str = KEY, check: Check | None = None) -> Applied:
        async def counted(operation: Operation, say: Say) -> Applied:
            self.calls += 1
            return await body(operation, say)

        async def activity() -> Applied:
            return await once(
                self.workplace, key=key, subject="net", result=Applied, body=counted, check=check
            )  # fmt: skip

        return await ActivityEnvironment().run(activity)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


async def done(operation: Operation, say: Say) -> Applied:
    return DONE


def failing(error: Exception) -> Body:
    async def body(operation: Operation, say: Say) -> Applied:
        raise error

    return body


async def test_a_recorded_result_is_given_back_whole(site: Site) -> None:
    assert await site.run(done) == DONE
    assert await site.run(failing(AssertionError("done twice"))) == DONE
    assert site.calls == 1


async def test_another_key_is_another_operation(site: Site) -> None:
    await site.run(done)
    await site.run(done, "run-1/net/apply/2")
    assert site.calls == 2


@pytest.mark.parametrize("kind", [EngineFailed, StalePlan])
async def test_a_final_failure_is_replayed_with_its_type(
    site: Site, kind: type[ExclaveError]
) -> None:
    for body in (failing(kind("the last lines")), done):
        with pytest.raises(kind) as caught:
            await site.run(body)
        assert (caught.value.type, caught.value.message) == (kind.__name__, "the last lines")
    assert site.calls == 1


@pytest.mark.parametrize("kind", [LockHeld, Unreachable, ToolLost, Draining])
async def test_a_retryable_failure_is_not_recorded(site: Site, kind: type[ExclaveError]) -> None:
    with pytest.raises(kind):
        await site.run(failing(kind("for now")))
    assert await site.run(done) == DONE


async def test_an_unforeseen_exception_is_not_recorded(site: Site) -> None:
    with pytest.raises(ZeroDivisionError):
        await site.run(failing(ZeroDivisionError()))
    assert site.journal.outcome(KEY) is None
    assert await site.run(done) == DONE


async def test_a_failure_of_a_type_that_is_not_known_here_is_a_bug(site: Site) -> None:
    site.journal.begin(KEY, Machine.here(site.workplace.data))
    site.journal.record_failure(KEY, "OfANewerVersion", "told")
    with pytest.raises(Bug, match="told"):
        await site.run(done)


@pytest.mark.parametrize("fails", [False, True])
async def test_a_cancel_while_it_is_recorded_loses_nothing(
    site: Site, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = ActivityEnvironment()
    name = "record_failure" if fails else "record_result"
    recorded = asyncio.Event()
    real = getattr(Operation, name)

    async def slow(operation: Operation, *args: object) -> object:
        environment.cancel()
        await asyncio.sleep(0)
        outcome = await real(operation, *args)
        recorded.set()
        return outcome

    monkeypatch.setattr(Operation, name, slow)

    async def body(operation: Operation, say: Say) -> Applied:
        if fails:
            raise EngineFailed("told")
        return DONE

    async def activity() -> Applied:
        return await once(site.workplace, key=KEY, subject="net", result=Applied, body=body)

    with pytest.raises(asyncio.CancelledError):
        await environment.run(activity)
    async with asyncio.timeout(5):
        await recorded.wait()
    outcome = site.journal.outcome(KEY)
    assert outcome is not None
    assert (outcome.failure is not None) == fails


async def test_a_cancel_of_the_body_records_nothing(site: Site) -> None:
    environment = ActivityEnvironment()
    begun = asyncio.Event()

    async def body(operation: Operation, say: Say) -> Applied:
        begun.set()
        await asyncio.Event().wait()
        return DONE

    async def activity() -> Applied:
        return await once(site.workplace, key=KEY, subject="net", result=Applied, body=body)

    task = asyncio.ensure_future(environment.run(activity))
    await begun.wait()
    environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert site.journal.outcome(KEY) is None


async def test_a_turn_that_was_lost_during_the_wait_is_refused(site: Site) -> None:
    ours, theirs = (Turn(number=n, workflow_id=f"deploy/acme/{n}") for n in (1, 2))
    check = partial(site.workplace.check_turn, ours)
    await check()
    async with site.workplace.operations.open("run-2/net/apply/1", "net", print):
        waiting = asyncio.ensure_future(site.run(done, check=check))
        await asyncio.sleep(0.1)
        assert not waiting.done(), "the subject is held by another run"
        await site.workplace.check_turn(theirs)
    with pytest.raises(TurnRefused, match="deploy/acme/2"):
        await waiting
    assert site.calls == 0
    assert site.journal.outcome(KEY) is None


async def test_what_was_done_needs_no_check(site: Site) -> None:
    async def refused() -> None:
        raise TurnRefused("by another run")

    assert await site.run(done) == DONE
    assert await site.run(done, check=refused) == DONE


@pytest.mark.parametrize("error", [StoreUnavailable("away"), OSError(28, "No space left")])
async def test_what_can_be_mended_is_not_recorded(site: Site, error: Exception) -> None:
    with pytest.raises(type(error)):
        await site.run(failing(error))
    assert site.journal.outcome(KEY) is None
    assert await site.run(done) == DONE


async def test_a_result_that_cannot_be_recorded_is_not_a_final_failure(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> str:
        raise StoreUnavailable("no room")

    async def body(operation: Operation, say: Say) -> Applied:
        monkeypatch.setattr(FolderStore, "put", full)
        return DONE

    with pytest.raises(Unreachable, match="no room"):
        await site.run(body)
    monkeypatch.undo()
    assert await site.run(done) == DONE
