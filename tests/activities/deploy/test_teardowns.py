"""A part can be torn down even if what it read is gone or changed; with a real Terraform."""

import json
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from apps.parts import SANDBOX
from contracts.actions import StepInput
from contracts.deploys import Scope
from tests.activities.deploy.deploy_site import DeploySite, action, component, input_of, module

pytestmark = pytest.mark.process

MAKES = 'variable "x" { type = any }\nresource "terraform_data" "r" {\n  input = var.x\n}\n'
NET = 'output "net" { value = "n" }\n'


@pytest.fixture
def site(tmp_path: Path) -> DeploySite:
    return DeploySite(tmp_path)


def release(site: DeploySite, modules: dict[str, str], **config: Any) -> str:
    files = {part: {"main.tf": text} for part, text in modules.items()}
    return site.releases.add(modules=files, **config)


def reader(template: str, *dependencies: str, **fields: Any) -> dict[str, Any]:
    return component("a", *dependencies, vars={"x": template}, **fields)


async def settle(site: DeploySite, scope: Scope, *parts: str) -> None:
    """Settle the parts in this order; by default all, as they are listed."""
    decisions = {one.component: one for one in scope.decisions}
    for part in parts or decisions:
        if decisions[part].verb != "skip":
            await site.settle(decisions[part])


def variables(site: DeploySite, part: str) -> dict[str, Any]:
    """The variables that the part got when its folder was last prepared."""
    folder = site.data / "work" / "acme" / part
    read: dict[str, Any] = json.loads((folder / "exclave-vars.auto.tfvars.json").read_text())
    return read


RENAMED = 'output "network" { value = "n" }\n'
READS = "{{ .nuon.components.b.outputs.net }}"


async def deployed(site: DeploySite) -> None:
    """Deploys `a`, which reads an output of `b`."""
    both = {"components": [component("b"), reader(READS)]}
    first = release(site, {"b": NET, "a": MAKES}, **both)
    await settle(site, await site.deploy_scope(first))


async def test_a_component_is_torn_down_after_what_it_read_has_another_name(
    site: DeploySite,
) -> None:
    await deployed(site)
    second = release(site, {"b": RENAMED}, components=[component("b")])
    scope = await site.deploy_scope(second)
    await settle(site, scope, "b", "a")
    assert site.state.components().keys() == {"b"}
    assert site.store.list("terraform/a/") == [], "what it was applied with is gone, too"


async def test_so_it_is_by_a_deprovision(site: DeploySite) -> None:
    await deployed(site)
    second = release(site, {"b": RENAMED}, components=[component("b")])
    await settle(site, await site.deploy_scope(second), "b")
    await settle(site, await site.deprovision_scope())
    await site.deprovision_finish()
    assert site.left() == []


SIZE = "{{ .nuon.inputs.inputs.size }}"


async def test_inputs_of_another_type_are_in_no_teardown_s_way(site: DeploySite) -> None:
    inputs = [input_of("size", type="number", default="1"), input_of("other", type="bool")]
    first = release(
        site,
        {SANDBOX: "", "a": MAKES, "b": NET},
        sandbox=module(),
        components=[reader(SIZE), component("b")],
        inputs=inputs,
    )
    await settle(site, await site.provision_scope(first, other="true"))
    await settle(site, await site.deploy_scope(first, other="true"))
    words = [input_of("size", default="small"), input_of("other", default="none")]
    second = release(
        site, {SANDBOX: "", "b": NET}, sandbox=module(), components=[component("b")], inputs=words
    )
    scope = await site.deploy_scope(second, size="small", other="none")
    await settle(site, scope, "a")
    assert site.state.components().keys() == {"b"}
    await settle(site, await site.deprovision_scope())
    await site.deprovision_finish()
    assert site.left() == []


async def test_a_required_input_that_has_no_value_is_in_no_teardown_s_way(
    site: DeploySite,
) -> None:
    must = [input_of("size", required=True)]
    first = release(site, {"a": MAKES}, components=[reader(SIZE)], inputs=must)
    await settle(site, await site.deploy_scope(first, size="7"))
    second = release(site, {})
    scope = await site.deploy_scope(second)
    assert variables(site, "a") == {"x": "7"}
    await settle(site, scope)
    assert site.state.components() == {}


async def test_a_teardown_goes_where_the_apply_went(site: DeploySite) -> None:
    zone = [input_of("size", default="here")]
    first = release(site, {"a": MAKES}, components=[reader(SIZE)], inputs=zone)
    await settle(site, await site.deploy_scope(first, size="here"))
    second = release(site, {}, inputs=zone)
    scope = await site.deploy_scope(second, size="elsewhere")
    await site.plan(scope.decisions[0])
    assert variables(site, "a") == {"x": "here"}


async def test_a_teardown_takes_secrets_as_they_are_now(site: DeploySite) -> None:
    inputs = [input_of("token", sensitive=True), input_of("size", type="number", default="1")]
    reads = {
        "x": "{{ .nuon.inputs.inputs.token }}",
        "y": "{{ .nuon.inputs.inputs.token }} of {{ .nuon.inputs.inputs.size }}",
    }
    makes = MAKES + 'variable "y" { type = string }\n'
    first = release(site, {"a": makes}, components=[component("a", vars=reads)], inputs=inputs)
    site.state.set_sensitive_input("token", "former-token")
    await settle(site, await site.deploy_scope(first))
    site.state.set_sensitive_input("token", "newest-token")
    second = release(site, {}, inputs=[inputs[0], input_of("size")])
    scope = await site.deploy_scope(second, size="none")
    key, _ = await site.plan(scope.decisions[0])
    assert variables(site, "a") == {"x": "newest-token", "y": "former-token of 1"}
    view = site.store.get(f"plans/{key}/view.txt")
    assert view is not None and b"former" not in view.data and b"newest" not in view.data


async def test_what_an_older_worker_applied_is_torn_down_with_inputs_as_they_are(
    site: DeploySite,
) -> None:
    number = [input_of("size", type="number", default="1")]
    first = release(site, {"a": MAKES}, components=[reader(SIZE)], inputs=number)
    await settle(site, await site.deploy_scope(first))
    site.store.delete("terraform/a/values.json")
    second = release(site, {}, inputs=[input_of("size")])
    await settle(site, await site.deploy_scope(second, size="small"))
    assert site.state.components() == {}


NULL = 'output "r" { value = null }\noutput "s" {\n  value     = null\n  sensitive = true\n}\n'


async def test_an_output_that_is_null_is_there(site: DeploySite) -> None:
    config = {
        "components": [
            component("b"),
            component(
                "a",
                vars={
                    "x": "{{ .nuon.components.b.outputs.r }}",
                    "y": '{{ .nuon.components.b.outputs.r | default "d" }}',
                    "z": '{{ if .nuon.components.b.outputs.s }}s{{ else }}none{{ end }}',
                },
            ),
        ]
    }  # fmt: skip
    takes = MAKES + 'variable "y" { type = string }\nvariable "z" { type = string }\n'
    first = release(site, {"b": NULL, "a": takes}, **config)
    scope = await site.deploy_scope(first)
    made = await site.settle(scope.decisions[0])
    assert (made.outputs.values, made.outputs.sensitive) == ({"r": None}, ["s"])
    await settle(site, scope, "a")
    assert variables(site, "a") == {"x": None, "y": "d", "z": "none"}
    again = await site.deploy_scope(first)
    assert {one.verb for one in again.decisions} == {"skip"}


async def test_an_output_that_becomes_null_is_there(site: DeploySite) -> None:
    first = release(site, {"b": 'output "r" { value = "v" }\n'}, components=[component("b")])
    await settle(site, await site.deploy_scope(first))
    second = release(site, {"b": NULL}, components=[component("b")])
    await settle(site, await site.deploy_scope(second))
    record = site.state.component("b")
    assert record is not None
    assert {name: one.value for name, one in record.outputs.items()} == {"r": None, "s": None}


async def test_an_action_of_a_teardown_takes_inputs_as_they_are(site: DeploySite) -> None:
    says = action("bye", {"type": "pre-deprovision"}, command=f"test {SIZE} = small")
    number = [input_of("size", type="number", default="1")]
    first = release(site, {"b": NET}, components=[component("b")], actions=[says], inputs=number)
    await settle(site, await site.deploy_scope(first))
    await site.deploy_finish(first)
    other = release(site, {"b": NET}, components=[component("b")], inputs=[input_of("size")])
    await site.deploy_scope(other, size="small")
    scope = await site.deprovision_scope()
    assert [one.action for one in scope.actions] == ["bye"]
    step = StepInput(
        install="acme",
        app="shop",
        release=first,
        action="bye",
        step=0,
        key="run/bye/step/0",
        timeout_seconds=30,
        trigger="pre-deprovision",
    )
    result = await ActivityEnvironment().run(site.actions.step, step)
    assert result.step == "one"
