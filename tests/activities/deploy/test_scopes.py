"""What each kind of run learns from its scope: decisions, actions, and refusals."""

from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from apps.parts import SANDBOX
from contracts.actions import ActionScope, ScopeAction, StepInput
from contracts.deploys import Decision, Scope, TriggeredAction
from contracts.errors import BadInput, NotThere, TurnRefused
from tests.activities.deploy.deploy_site import DeploySite, action, component, input_of, module

ZONE = "{{ .nuon.inputs.inputs.zone }}"
ON_SANDBOX = {"vars": {"vpc": "{{ .nuon.sandbox.outputs.vpc }}"}}

WHOLE: dict[str, Any] = {
    "sandbox": module(vars={"zone": ZONE}),
    "components": [component("net", **ON_SANDBOX), component("db", "net")],
    "inputs": [input_of("zone", default="a"), input_of("size", default="1")],
}


@pytest.fixture
def site(tmp_path: Path) -> DeploySite:
    return DeploySite(tmp_path)


def provisioned(site: DeploySite, release: str, **fields: Any) -> None:
    site.deployed(SANDBOX, release, **fields)


def verbs(scope: Scope) -> dict[str, str]:
    return {one.component: one.verb for one in scope.decisions}


async def test_the_sandbox_is_planned_at_first(site: DeploySite) -> None:
    release = site.releases.add(**WHOLE)
    scope = await site.provision_scope(release)
    assert scope.decisions == [
        Decision(
            component=SANDBOX,
            type="terraform_module",
            verb="plan",
            reason="it was not provisioned before",
            release=release,
        )
    ]
    assert not scope.provisioned
    assert "provision/1" in scope.worker.features


async def test_a_release_without_a_sandbox_has_nothing_to_provision(site: DeploySite) -> None:
    scope = await site.provision_scope(site.releases.add(components=[component("net")]))
    assert scope.decisions == []


async def test_an_install_is_provisioned_once_all_of_a_provision_went_well(
    site: DeploySite,
) -> None:
    release = site.releases.add(components=[component("net")])
    await site.provision_scope(release)
    assert not (await site.provision_scope(release)).provisioned
    await site.provision_finish(release)
    assert (await site.provision_scope(release)).provisioned
    assert (await site.deploy_scope(release)).provisioned


async def test_missing_inputs_end_a_provision_before_anything_is_planned(site: DeploySite) -> None:
    release = site.releases.add(sandbox=module(), inputs=[input_of("must", required=True)])
    with pytest.raises(BadInput, match=r"must.* Set inputs with .*update `set_inputs`"):
        await site.provision_scope(release)
    await site.provision_scope(release, must="x")


async def test_components_wait_for_the_sandbox(site: DeploySite) -> None:
    release = site.releases.add(**WHOLE)
    with pytest.raises(
        BadInput, match=r"has not been run yet\. Provision .* `provision` on the .*"
    ):
        await site.deploy_scope(release)
    provisioned(site, release, status="applying")
    with pytest.raises(BadInput, match="its provision did not end well"):
        await site.deploy_scope(release)
    provisioned(site, release)
    assert verbs(await site.deploy_scope(release)) == {"net": "plan", "db": "plan"}


async def test_a_deploy_leaves_a_sandbox_of_another_release_as_it_is(site: DeploySite) -> None:
    before = site.releases.add(**WHOLE)
    provisioned(site, before)
    release = site.releases.add(**{**WHOLE, "sandbox": module(vars={"zone": "other"})})
    assert SANDBOX not in verbs(await site.deploy_scope(release))
    assert verbs(await site.provision_scope(release)) == {SANDBOX: "plan"}


async def test_an_install_belongs_to_one_app(site: DeploySite) -> None:
    release = site.releases.add(**WHOLE)
    site.state.put_app("other")
    with pytest.raises(BadInput, match="acme is an install of other, and this run is of shop"):
        await site.provision_scope(release)


async def test_scopes_and_ends_ask_for_the_turn(site: DeploySite) -> None:
    release = site.releases.add(components=[component("net")])
    await site.provision_scope(release)
    held = site.turn
    site.begin("deploy")
    await site.deploy_scope(release)
    site.turn = held
    with pytest.raises(TurnRefused):
        await site.provision_finish(release)
    with pytest.raises(TurnRefused):
        await site.deprovision_finish()


TRIGGERS: dict[str, Any] = {
    "actions": [
        action("last", {"type": "post-provision", "index": 1}, {"type": "manual"}),
        action("check", {"type": "post-provision"}, {"type": "cron", "cron_schedule": "@daily"}),
        action("warm", {"type": "post-deploy-component", "component_name": "net"}),
    ]
}


async def test_each_scope_carries_what_the_release_wants_to_be_run(site: DeploySite) -> None:
    release = site.releases.add(components=[component("net")], **TRIGGERS)
    expected = [
        TriggeredAction(action="check", trigger="post-provision"),
        TriggeredAction(action="check", trigger="cron", cron="@daily"),
        TriggeredAction(action="warm", trigger="post-deploy-component", component="net"),
        TriggeredAction(action="last", trigger="post-provision"),
    ]
    assert (await site.provision_scope(release)).actions == expected
    assert (await site.deploy_scope(release)).actions == expected


async def test_a_teardown_is_in_the_reverse_of_what_was_deployed_on_what(site: DeploySite) -> None:
    new, old = site.releases.add(**WHOLE), site.releases.add(sandbox=module())
    site.deployed("net", new)
    site.deployed("db", old, "net")
    site.deployed("api", new, "net", "db")
    provisioned(site, old)
    scope = await site.deprovision_scope()
    found = [(one.component, one.release, one.after) for one in scope.decisions]
    assert found == [
        ("api", new, []),
        ("db", old, ["api"]),
        ("net", new, ["api", "db"]),
        (SANDBOX, old, ["api", "db", "net"]),
    ]
    assert {(one.verb, one.type) for one in scope.decisions} == {("teardown", "terraform_module")}


async def test_a_teardown_of_records_that_name_each_other_does_not_wait_for_ever(
    site: DeploySite,
) -> None:
    release = site.releases.add(**WHOLE)
    for name, on in (("a", "b"), ("b", "a"), ("c", "a")):
        site.deployed(name, release, on)
    scope = await site.deprovision_scope()
    assert [(one.component, one.after) for one in scope.decisions] == [
        ("c", []), ("a", ["c"]), ("b", ["a"]),
    ]  # fmt: skip


async def test_nothing_is_torn_down_where_nothing_is(site: DeploySite) -> None:
    scope = await site.deprovision_scope()
    assert (scope.decisions, scope.actions, scope.state_revision) == ([], [], 0)


async def test_the_actions_of_a_deprovision_are_those_of_the_release_that_runs(
    site: DeploySite,
) -> None:
    def release_with(name: str) -> str:
        return site.releases.add(actions=[action(name, {"type": "pre-deprovision"})])

    async def found() -> list[tuple[str, str | None]]:
        return [(one.action, one.release) for one in (await site.deprovision_scope()).actions]

    provision, sandbox, deploy = (release_with(name) for name in ("p", "s", "d"))
    await site.provision_scope(provision)
    await site.provision_finish(provision)
    assert await found() == [("p", provision)]
    provisioned(site, sandbox)
    assert await found() == [("s", sandbox)]
    await site.deploy_scope(deploy)
    await site.deploy_finish(deploy)
    assert await found() == [("d", deploy)]


async def action_scope(site: DeploySite, release: str | None) -> ActionScope:
    input = ScopeAction(install="acme", action="check", release=release)
    return await ActivityEnvironment().run(site.actions.scope, input)


async def test_an_action_runs_before_anything_is_deployed(site: DeploySite) -> None:
    out = "$NUON_ACTIONS_OUTPUT_FILEPATH"
    check = {
        "name": "check",
        "steps": [
            {
                "name": "one",
                "command": f"echo zone=$ZONE why=$TRIGGER_TYPE > {out}",
                "env_vars": {"ZONE": "{{ .nuon.inputs.inputs.zone | default `none` }}"},
            }
        ],
    }
    release = site.releases.add(**{**WHOLE, "inputs": [input_of("zone")], "actions": [check]})
    with pytest.raises(NotThere, match="its worker does not know its app"):
        await action_scope(site, release)
    await site.provision_scope(release)
    with pytest.raises(NotThere, match="or name the release whose action it is"):
        await action_scope(site, None)
    scope = await action_scope(site, release)
    assert (scope.app, scope.release, scope.steps) == ("shop", release, ["one"])
    step = StepInput(
        install="acme",
        app=scope.app,
        release=release,
        action="check",
        step=0,
        key="run/check/step/0",
        timeout_seconds=30,
        trigger="pre-provision",
    )
    result = await ActivityEnvironment().run(site.actions.step, step)
    assert result.outputs.values == {"zone": "none why=pre-provision"}


async def test_removed_components_that_name_each_other_wait_in_no_circle(site: DeploySite) -> None:
    """Their records come from two releases, the second of which reversed the dependency."""
    old = site.releases.add(components=[component("a"), component("b")])
    site.deployed("a", old, "b")
    site.deployed("b", old, "a")
    scope = await site.deploy_scope(site.releases.add(components=[component("c")]))
    assert [(one.component, one.after) for one in scope.decisions] == [
        ("c", []), ("a", []), ("b", ["a"]),
    ]  # fmt: skip
