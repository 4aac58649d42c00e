"""Turns: one run at a time changes an install, whoever started it, and whoever dies."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from temporalio.client import Client, WorkflowExecutionStatus

from activities.installs.runs import InstallRuns
from contracts.deploys import Inputs, ScopeInput
from tests.workflows.workflow_site import (
    NO_CHANGES,
    RELEASE,
    FakeControl,
    Handle,
    Site,
    approve,
    asked,
    ended,
    failure,
    outcomes,
    until,
    waiting,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


def turns(site: Site) -> list[tuple[int, str]]:
    """The turn of each deploy that reached the worker, in order."""
    found = [one.turn for one in site.worker.told(ScopeInput)]
    return [(one.number, one.workflow_id) for one in found]


async def finish(site: Site, *runs: Handle) -> None:
    for run in runs:
        await approve(run, "net")
        assert await outcomes(run) == {"net": "applied"}


async def test_deploys_take_turns_in_the_order_they_came(site: Site) -> None:
    await site.begin()
    runs = [await site.deploy() for _ in range(3)]
    assert [run.id for run in runs] == [f"deploy/{site.install}/{n}" for n in (1, 2, 3)]
    await site.queue(*runs[1:])
    await site.waits_for_turn(runs[1])
    await asked(runs[0], "net")
    assert len(turns(site)) == 1, "nobody else has touched the worker"
    await finish(site, *runs)
    assert [workflow_id for _, workflow_id in turns(site)] == [run.id for run in runs]
    numbers = [number for number, _ in turns(site)]
    assert numbers == sorted(set(numbers))
    await site.holder(None)


async def test_a_run_that_somebody_starts_asks_for_its_turn(site: Site) -> None:
    await site.begin()
    first = await site.deploy()
    await asked(first, "net")
    second = await site.deploy_directly("by-hand/today")
    await site.waits_for_turn(second)
    await finish(site, first, second)
    assert [workflow_id for _, workflow_id in turns(site)] == [first.id, second.id]


async def test_a_terminated_holder_frees_its_turn(site: Site) -> None:
    await site.begin()
    first, second = await site.deploy(), await site.deploy()
    await asked(first, "net")
    await site.waits_for_turn(second)
    await first.terminate("a test")
    await finish(site, second)
    await site.holder(None)


async def test_a_holder_that_nobody_waited_for_frees_its_turn_when_somebody_does(
    site: Site,
) -> None:
    await site.begin()
    first = await site.deploy()
    await asked(first, "net")
    await first.terminate("a test")
    await finish(site, await site.deploy())


async def test_a_grant_that_reaches_nobody_passes_to_the_next(site: Site) -> None:
    await site.begin()
    first, second, third = [await site.deploy() for _ in range(3)]
    await site.queue(second, third)
    await second.terminate("a test")
    await finish(site, first, third)
    assert [workflow_id for _, workflow_id in turns(site)] == [first.id, third.id]
    await site.queue()


async def test_an_install_that_starts_again_adopts_the_open_runs(site: Site) -> None:
    await site.begin()
    first, second, third = [await site.deploy() for _ in range(3)]
    await asked(first, "net")
    await site.queue(second, third)
    await site.entity.terminate("a test")
    await site.begin()
    await site.holder(first)
    await site.queue(second, third)
    await finish(site, first, second, third)
    numbers = [number for number, _ in turns(site)]
    assert numbers == sorted(set(numbers)), "turns only grow, over the Install's death too"


async def test_an_install_that_starts_again_does_not_reuse_a_run_that_is_open(site: Site) -> None:
    await site.begin()
    first = await site.deploy()
    await asked(first, "net")
    await site.entity.terminate("a test")
    await site.begin()
    second = await site.deploy()
    assert second.id != first.id
    await finish(site, first, second)


async def delayed_deploy(site: Site) -> Handle:
    """A run that is open, and has not begun: it has asked for nothing yet."""
    input = {"install": site.install, "release": RELEASE}
    wait = timedelta(hours=1)
    return await site.start("Deploy", f"deploy/{site.install}/1", input, start_delay=wait)


async def test_a_name_that_is_taken_is_passed_over_with_the_turn(site: Site) -> None:
    await site.begin()
    await until(site.status)
    delayed = await delayed_deploy(site)
    run = await site.deploy()
    assert run.id == f"deploy/{site.install}/2"
    await site.holder(run)
    await finish(site, run)
    await delayed.terminate("a test")


async def test_an_install_starts_beside_a_run_that_has_not_begun(site: Site) -> None:
    delayed = await delayed_deploy(site)
    listed = f"WorkflowId = '{delayed.id}'"
    await until(lambda: anext(site.client.list_workflows(listed), None))
    await site.begin()
    try:
        async with asyncio.timeout(5):
            run = await site.deploy()
    finally:
        await delayed.terminate("a test")
    await finish(site, run)


async def test_a_grant_is_taken_from_the_install_alone(site: Site) -> None:
    await site.begin()
    forged = {"turn": {"number": 10**15, "workflow_id": f"deploy/{site.install}/forged"}}
    run = await site.deploy_directly("forged", grant=forged | {"app": site.app})
    error = await failure(run)
    assert error.type == "BadInput"
    assert "Only the Install workflow may set `grant`" in error.message
    assert not site.worker.begun or site.worker.begun == ["describe"]


async def test_without_an_install_the_run_says_so(site: Site) -> None:
    error = await failure(await site.deploy_directly("alone"))
    assert error.type == "NotThere"
    assert f"install/{site.install}" in error.message
    assert "temporal workflow start --type Install" in error.message


async def test_an_end_that_reaches_nobody_does_not_fail_the_run(site: Site) -> None:
    install = await site.begin()
    run = await site.deploy()
    await asked(run, "net")
    await install.terminate("a test")
    await finish(site, run)


async def test_cancel_while_waiting_for_the_turn_leaves_the_queue(site: Site) -> None:
    await site.begin()
    first, second, third = [await site.deploy() for _ in range(3)]
    await site.queue(second, third)
    await site.waits_for_turn(second)
    await second.cancel()
    assert await ended(second) == WorkflowExecutionStatus.CANCELED
    await site.queue(third)
    await finish(site, first, third)


async def test_cancel_while_waiting_for_an_approval_frees_the_turn(site: Site) -> None:
    await site.begin()
    run = await site.deploy()
    await asked(run, "net")
    await run.cancel()
    assert await ended(run) == WorkflowExecutionStatus.CANCELED
    await site.holder(None)
    assert "apply net" not in site.worker.begun


async def test_cancel_waits_until_the_tool_has_stopped(site: Site) -> None:
    await site.begin()
    site.worker.gate("apply net")
    run = await site.deploy()
    await approve(run, "net")
    await site.worker.wait_for("apply net")
    await run.cancel()
    assert await ended(run) == WorkflowExecutionStatus.CANCELED
    assert "apply net" in site.worker.ended
    assert "finish" not in site.worker.begun


async def test_a_failed_run_frees_the_turn_and_is_not_the_deployed_release(site: Site) -> None:
    await site.begin()
    run = await site.deploy()
    plan = await asked(run, "net")
    await run.execute_update("deny", {"digest": plan.digest})
    assert (await failure(run)).type == "DeployFailed"
    await site.holder(None)
    assert (await site.status()).release is None


async def test_the_install_learns_of_release_and_worker(site: Site) -> None:
    await site.begin()
    site.worker.answers["plan net"] = [NO_CHANGES]
    assert await outcomes(await site.deploy()) == {"net": "unchanged"}
    await site.holder(None)
    status = await site.status()
    assert status.release == RELEASE
    assert status.worker is not None
    assert status.worker.description.host == "vm-1"
    assert (status.app, status.install, status.inputs) == (site.app, site.install, Inputs())


async def test_an_update_does_not_wait_for_a_worker_that_is_away(
    client: Client, releases: FakeControl, install: str
) -> None:
    site = Site(client, install)
    releases.inputs[site.app] = []
    site.worker.answers["plan net"] = [NO_CHANGES]
    await site.begin()
    async with asyncio.timeout(5):
        run = await site.deploy()
    assert (await waiting(run)).waits_for == "nothing"
    assert (await site.status()).worker is None
    async with site.serving():
        assert await outcomes(run) == {"net": "unchanged"}


async def test_a_second_run_of_the_same_id_gets_the_turn_of_the_first(site: Site) -> None:
    await site.begin()
    first = await site.deploy_directly("mine")
    await asked(first, "net")
    await first.terminate("a test")
    second = await site.deploy_directly("mine")
    assert second.first_execution_run_id != first.first_execution_run_id
    await finish(site, second)
    await site.holder(None)


async def test_a_run_that_a_new_install_missed_asks_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is open is looked up in an index that lags behind."""
    await site.begin()
    first = await site.deploy()
    await asked(first, "net")
    second = await site.deploy()
    await site.waits_for_turn(second)
    await site.entity.terminate("a test")
    await finish(site, first)

    async def nothing(self: InstallRuns, install: str) -> AsyncIterator[tuple[str, str]]:
        none: tuple[tuple[str, str], ...] = ()
        for found in none:
            yield found

    monkeypatch.setattr(InstallRuns, "_open", nothing)
    await site.begin()
    await finish(site, second)
