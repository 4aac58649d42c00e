"""What a deploy does with each component, and why."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import create_model

from activities.deploy.decisions import Target, decide, decide_sandbox
from activities.plans.fingerprints import input_fingerprints, part_fingerprint
from apps.config.app import AppConfig
from apps.config.components import TerraformComponent
from apps.config.metadata import Metadata
from apps.config.sources import Source
from apps.config.terraform import Sandbox, TerraformModule
from apps.graph import Graph
from apps.parts import SANDBOX
from apps.sensitivity import Sensitive
from contracts.deploys import Decision
from store.install_records import ComponentRecord

KEY = b"k" * 32
RELEASE = "sha256:" + "2" * 64
BEFORE = "sha256:" + "1" * 64


def component(name: str, *dependencies: str, **more: Any) -> TerraformComponent:
    return TerraformComponent.model_validate(
        {
            "type": "terraform_module", "name": name, "terraform_version": "1.11",
            "public_repo": {"repo": ".", "directory": "m"}, "dependencies": dependencies,
        }
        | more
    )  # fmt: skip


NET = component("net", vars={"zone": "{{ .nuon.inputs.inputs.zone }}"})
DB = component("db", vars={"net": "{{ .nuon.components.net.outputs.id }}"})
API = component("api", "db", env_vars={"KEY": "{{ .nuon.inputs.inputs.license }}"})


def target(*components: TerraformComponent, **more: Any) -> Target:
    found = Target(
        release=RELEASE,
        config=AppConfig(metadata=Metadata(version="v2"), components=list(components)),
        artifacts={one.name: f"artifact of {one.name}" for one in components},
        inputs={"zone": "a", "license": Sensitive("hunter2"), "unused": "x"},
        deployed={},
        key=KEY,
    )
    return replace(found, **more)


def _fingerprint(part: object) -> str:
    assert isinstance(part, TerraformModule)
    return part_fingerprint(part)


def done(over: Target) -> dict[str, ComponentRecord]:
    """The records that a deploy of the target leaves."""
    graph = Graph(over.config)
    return {
        one.name: ComponentRecord(
            component=one.name,
            type=one.type,
            status="done",
            app="shop",
            release=BEFORE,
            artifact=over.artifacts[one.name],
            config=_fingerprint(one),
            inputs=input_fingerprints(graph, one.name, over.inputs, KEY),
            dependencies=graph.dependencies(one.name),
        )
        for one in over.config.components
    }


ALL = target(API, DB, NET)
DEPLOYED = done(ALL)


def by_name(over: Target) -> dict[str, Decision]:
    return {one.component: one for one in decide(over)}


def planned(over: Target) -> dict[str, str]:
    """The reason of each component that is planned."""
    return {name: one.reason for name, one in by_name(over).items() if one.verb == "plan"}


def changed(name: str, **fields: Any) -> dict[str, ComponentRecord]:
    return {**DEPLOYED, name: DEPLOYED[name].model_copy(update=fields)}


def test_all_are_planned_at_first_along_the_graph() -> None:
    found = decide(ALL)
    assert [one.component for one in found] == ["net", "db", "api"]
    assert {one.verb for one in found} == {"plan"}
    assert {one.reason for one in found} == {"it was not deployed before"}
    assert {one.release for one in found} == {RELEASE}
    assert {one.component: one.after for one in found} == {"net": [], "db": ["net"], "api": ["db"]}


def test_nothing_is_planned_when_nothing_changed() -> None:
    found = decide(replace(ALL, deployed=DEPLOYED))
    assert {one.verb for one in found} == {"skip"}
    assert all(one.reason for one in found)


@pytest.mark.parametrize(
    ("deployed", "reason"),
    [
        ({n: r for n, r in DEPLOYED.items() if n != "db"}, "it was not deployed before"),
        (changed("db", status="applying"), "its last apply did not end well"),
        (changed("db", artifact="another"), "its artifact changed"),
        (changed("db", config="another"), "its config changed"),
    ],
)
def test_each_reason(deployed: dict[str, ComponentRecord], reason: str) -> None:
    assert planned(replace(ALL, deployed=deployed)) == {"db": reason}


def test_a_changed_input_plans_those_that_read_it() -> None:
    for name, value, reader in (("zone", "b", "net"), ("license", Sensitive("other"), "api")):
        over = replace(ALL, deployed=DEPLOYED, inputs={**ALL.inputs, name: value})
        assert planned(over) == {reader: f"the input {name} changed"}
    unused = replace(ALL, deployed=DEPLOYED, inputs={**ALL.inputs, "unused": "y"})
    assert planned(unused) == {}


def test_an_input_that_became_sensitive_with_the_same_value_changes_nothing() -> None:
    over = replace(ALL, deployed=DEPLOYED, inputs={**ALL.inputs, "zone": Sensitive("a")})
    assert planned(over) == {}


def test_records_do_not_hold_what_an_input_was() -> None:
    assert "hunter2" not in "".join(one.model_dump_json() for one in DEPLOYED.values())
    other_key = input_fingerprints(Graph(ALL.config), "api", ALL.inputs, b"l" * 32)
    assert other_key != DEPLOYED["api"].inputs, "a plain hash could be guessed"


def test_a_component_with_new_vars_has_another_config() -> None:
    new = component("net", vars={"zone": "{{ .nuon.inputs.inputs.zone }}", "more": "1"})
    over = replace(target(API, DB, new), deployed=DEPLOYED)
    assert planned(over) == {"net": "its config changed"}


def test_a_field_that_a_newer_version_adds_with_a_default_changes_nothing() -> None:
    newer = create_model("Newer", __base__=TerraformComponent, drift=(str, "never"))
    old, new = NET.model_dump(), newer.model_validate(NET.model_dump())
    assert part_fingerprint(new) == part_fingerprint(NET)
    set_ = newer.model_validate({**old, "drift": "daily"})
    assert part_fingerprint(set_) != part_fingerprint(NET)


def test_removed_components_wait_for_what_was_on_top_of_them() -> None:
    over = replace(target(NET), deployed=DEPLOYED)
    found = by_name(over)
    assert found["net"].verb == "skip"
    for name, after in (("db", ["api"]), ("api", [])):
        assert found[name] == Decision(
            component=name,
            type="terraform_module",
            verb="teardown",
            reason="the release no longer has it",
            release=BEFORE,
            after=after,
        )


def test_a_removed_component_waits_for_one_that_stays_and_no_longer_needs_it() -> None:
    alone = component("api")
    found = by_name(replace(target(NET, alone), deployed=DEPLOYED))
    assert found["api"].verb == "plan"
    assert found["db"].after == ["api"], "the new api must be off it first"
    assert found["api"].after == []


def test_everything_removed_is_torn_down_in_the_reverse_of_the_graph() -> None:
    found = by_name(replace(target(), deployed=DEPLOYED))
    assert {name: one.after for name, one in found.items()} == {
        "api": [], "db": ["api"], "net": ["db"],
    }  # fmt: skip


def test_decisions_never_wait_for_each_other_in_a_circle() -> None:
    """The new release reverses a dependency, and drops one of the two components."""
    turned = component("net", "new")
    over = replace(target(turned, component("new")), deployed=DEPLOYED)
    found = by_name(over)
    waits = {name: set(one.after) & found.keys() for name, one in found.items()}
    while waits:
        free = {name for name, after in waits.items() if not after & waits.keys()}
        assert free, f"each waits for another: {waits}"
        waits = {name: after for name, after in waits.items() if name not in free}


def test_decisions_wait_only_for_what_has_a_decision() -> None:
    for over in (
        ALL,
        replace(target(NET), deployed=DEPLOYED),
        replace(target(), deployed=DEPLOYED),
    ):
        found = by_name(over)
        assert all(set(one.after) <= found.keys() for one in found.values())


def test_a_component_that_missed_a_change_of_its_dependency_is_planned() -> None:
    on_net = {**DEPLOYED, "db": DEPLOYED["db"].model_copy(update={"built_on": {"net": "first"}})}
    for generation, verb in (("first", "skip"), ("second", "plan")):
        net = DEPLOYED["net"].model_copy(update={"generation": generation})
        found = by_name(replace(ALL, deployed={**on_net, "net": net}))
        assert found["db"].verb == verb
    assert found["db"].reason == "net changed since"


VPC = component("vpc", vars={"id": "{{ .nuon.install.sandbox.outputs.id }}"})
GROUND = Sandbox(
    terraform_version="1.11",
    public_repo=Source(repo=".", directory="s"),
    vars={"zone": "{{ .nuon.inputs.inputs.zone }}"},
)


def on_ground(*components: TerraformComponent, sandbox: Sandbox = GROUND) -> Target:
    found = target(*components)
    return replace(
        found,
        config=found.config.model_copy(update={"sandbox": sandbox}),
        artifacts={**found.artifacts, SANDBOX: "artifact of the sandbox"},
    )


def ground(over: Target, generation: str = "first", **fields: Any) -> ComponentRecord:
    """The record that a provision of the target leaves."""
    sandbox = over.config.sandbox
    assert sandbox is not None
    record = ComponentRecord(
        component=SANDBOX,
        type="terraform_module",
        status="done",
        app="shop",
        release=BEFORE,
        artifact=over.artifacts[SANDBOX],
        config=_fingerprint(sandbox),
        inputs=input_fingerprints(Graph(over.config), SANDBOX, over.inputs, KEY),
        generation=generation,
    )
    return record.model_copy(update=fields)


def test_a_sandbox_applied_again_plans_exactly_the_components_that_read_it() -> None:
    over = on_ground(VPC, API, DB, NET)
    records = done(over)
    records["vpc"] = records["vpc"].model_copy(update={"built_on": {SANDBOX: "first"}})
    over = replace(over, deployed=records)
    assert planned(replace(over, sandbox=ground(over))) == {}
    moved = replace(over, sandbox=ground(over, "second"))
    assert planned(moved) == {"vpc": "sandbox changed since"}


def test_a_component_that_was_there_before_the_sandbox_and_reads_it_is_planned() -> None:
    over = on_ground(VPC, NET)
    over = replace(over, deployed=done(over), sandbox=ground(over))
    assert planned(over) == {"vpc": "sandbox changed since"}


@pytest.mark.parametrize(
    ("fields", "inputs", "reason"),
    [
        ({}, {}, None),
        ({"status": "applying"}, {}, "its last apply did not end well"),
        ({"artifact": "another"}, {}, "its artifact changed"),
        ({"config": "another"}, {}, "its config changed"),
        ({}, {"zone": "b"}, "the input zone changed"),
        ({}, {"license": Sensitive("another")}, None),
    ],
)
def test_the_sandbox_is_planned_for_the_reasons_of_a_component(
    fields: dict[str, Any], inputs: dict[str, Any], reason: str | None
) -> None:
    over = on_ground(NET)
    over = replace(over, sandbox=ground(over, **fields), inputs={**over.inputs, **inputs})
    [found] = decide_sandbox(over)
    assert (found.verb, found.release) == ("plan" if reason else "skip", RELEASE)
    assert found.reason == (reason or "nothing that it depends on has changed")
    assert [one.component for one in decide(over)] == ["net"]
