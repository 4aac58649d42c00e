"""Action: steps in order, each once, without a turn."""

import pytest

from contracts.actions import ActionResult, ActionScope, ScopeAction, StepInput
from contracts.errors import EngineFailed, NotThere, OutcomeUnknown
from tests.workflows.workflow_site import RELEASE, Handle, Site, asked, failure

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def act(site: Site, **more: str) -> Handle:
    input = {"install": site.install, "action": "health", **more}
    return await site.start("Action", f"action/{site.install}/health/1", input)


async def test_steps_run_in_order_with_what_is_left_of_the_time(site: Site) -> None:
    run = await act(site, release=RELEASE)
    result = ActionResult.model_validate(await run.result())
    assert [one.step for one in result.steps] == ["step 0", "step 1"]
    assert site.worker.begun == ["action scope", "step 0", "step 1"]
    [scope] = site.worker.told(ScopeAction)
    assert (scope.requires, scope.release) == (["action/1"], RELEASE)
    first, second = site.worker.told(StepInput)
    assert [one.key.split("/")[1:] for one in (first, second)] == [
        ["health", "step", "0"],
        ["health", "step", "1"],
    ]
    assert 0 < second.timeout_seconds < first.timeout_seconds <= 60
    assert (first.state_revision, second.state_revision) == (4, 5)


@pytest.mark.parametrize("error", [EngineFailed, OutcomeUnknown])
async def test_the_first_step_that_fails_ends_it_with_its_type(
    site: Site, error: type[EngineFailed]
) -> None:
    site.worker.answers["step 0"] = [error("health, step 'look' did not do")]
    told = await failure(await act(site))
    assert (told.type, told.message) == (error.__name__, "health, step 'look' did not do")
    assert "step 1" not in site.worker.begun


async def test_an_action_that_does_not_exist_says_so(site: Site) -> None:
    site.worker.answers["action scope"] = [NotThere("it has: other")]
    told = await failure(await act(site))
    assert (told.type, told.message) == ("NotThere", "it has: other")


async def test_time_that_ran_out_ends_it_before_the_next_step(site: Site) -> None:
    scope = ActionScope(app="shop", release=RELEASE, steps=["look", "tell"], timeout_seconds=0.2)
    site.worker.answers["action scope"] = [scope]
    # A step that takes its time: it ends with the first heartbeat after the gate is open.
    gate = site.worker.gate("step 0")
    run = await act(site)
    await site.worker.wait_for("step 0")
    await site.worker.passed(0.3)
    gate.set()
    told = await failure(run)
    assert told.type == "EngineFailed"
    assert "before step 'tell'" in told.message
    assert "step 1" not in site.worker.begun


async def test_an_action_runs_while_a_deploy_holds_the_turn(site: Site) -> None:
    await site.begin()
    deploy = await site.deploy()
    await asked(deploy, "net")
    started = await site.entity.execute_update("act", {"action": "health"})
    assert started["workflow_id"].startswith(f"action/{site.install}/health/")
    run = site.client.get_workflow_handle(started["workflow_id"])
    assert len((await run.result())["steps"]) == 2
    await site.holder(deploy)
    await deploy.terminate("a test")
