import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.config.app import AppConfig
from apps.config.components import TerraformComponent
from apps.config.metadata import Metadata
from apps.config.terraform import Sandbox
from apps.graph import CycleError, Graph
from apps.parts import SANDBOX


def component(name: str, *dependencies: str, **more: object) -> TerraformComponent:
    return TerraformComponent.model_validate({
        "type": "terraform_module", "name": name, "terraform_version": "1.11",
        "public_repo": {"repo": ".", "directory": "m"}, "dependencies": dependencies, **more,
    })  # fmt: skip


def graph(*components: TerraformComponent) -> Graph:
    return Graph(AppConfig(metadata=Metadata(version="v2"), components=list(components)))


def test_templates_make_dependencies() -> None:
    found = graph(
        component("net"),
        component("db", vars={"x": [{"y": "{{ .nuon.components.net.outputs.id }}"}]}),
        component("api", "net", env_vars={"A": "{{ .exclave.components.db.status }}"}),
        component("ui", var_file=[{"contents": "a={{ .nuon.components.the_api.outputs.u }}"}]),
        component("dashed-api", var_name="the_api"),
    )
    assert found.dependencies("db") == ["net"]
    assert found.dependencies("api") == ["db", "net"]
    assert found.dependencies("ui") == ["dashed-api"]
    assert found.dependents("net") == ["api", "db"]


def test_the_older_mirror_of_the_state_makes_dependencies_too() -> None:
    reading = {"x": "{{ .nuon.install.components.net.outputs.id }}"}
    found = graph(component("net"), component("db", vars=reading))
    assert found.dependencies("db") == ["net"]


def test_order_is_stable_with_fewer_dependencies_first_then_names() -> None:
    found = graph(
        component("z"), component("y"), component("a", "y", "z"), component("b", "y"),
        component("c", "a"),
    )  # fmt: skip
    assert found.order() == ["y", "z", "b", "a", "c"]
    assert found.reversed() == ["c", "a", "b", "z", "y"]


@pytest.mark.parametrize(
    ("needs", "path"),
    [({"a": ["a"]}, ["a", "a"]), ({"a": ["b"], "b": ["c"], "c": ["b"]}, ["b", "c", "b"])],
)
def test_circles_are_told_as_a_path(needs: dict[str, list[str]], path: list[str]) -> None:
    with pytest.raises(CycleError) as caught:
        graph(*(component(name, *others) for name, others in needs.items()))
    assert caught.value.path == path


def test_who_reads_an_input() -> None:
    found = graph(
        component("a", vars={"x": "{{ .nuon.inputs.inputs.zone }}"}),
        component("b", vars={"x": "{{ .nuon.install.inputs.zone }}"}),
        component("c", vars={"x": "{{ .nuon.inputs.inputs }}"}),
        component("d", vars={"x": "{{ .nuon.inputs.inputs.other }}"}),
    )
    assert found.parts_referencing_input("zone") == ["a", "b", "c"]


def with_sandbox(*components: TerraformComponent, **sandbox: object) -> Graph:
    made = Sandbox.model_validate({
        "terraform_version": "1.11", "public_repo": {"repo": ".", "directory": "s"}, **sandbox,
    })  # fmt: skip
    config = AppConfig(metadata=Metadata(version="v2"), sandbox=made, components=list(components))
    return Graph(config)


def test_the_sandbox_reads_inputs_and_is_in_no_order() -> None:
    found = with_sandbox(
        component("a", vars={"x": "{{ .nuon.inputs.inputs.zone }}"}),
        vars={"zone": ["{{ .nuon.inputs.inputs.zone }}"]},
        env_vars={"A": "{{ .nuon.install.inputs.size }}"},
    )
    assert found.parts_referencing_input("zone") == [SANDBOX, "a"]
    assert found.parts_referencing_input("size") == [SANDBOX]
    assert found.order() == found.reversed() == ["a"]


@pytest.mark.parametrize(
    ("path", "reads"),
    [
        ("sandbox", True), ("sandbox.outputs.id", True), ("install.sandbox.outputs.id", True),
        ("install", True), ("install.id", False), ("id", False), ("components.b.status", False),
    ],
)  # fmt: skip
def test_who_reads_the_sandbox(path: str, reads: bool) -> None:
    parts = component("a", vars={"x": f"{{{{ .nuon.{path} }}}}"}), component("b")
    found = with_sandbox(*parts)
    assert found.reads_sandbox("a") is reads
    assert not found.reads_sandbox("b")
    assert not graph(*parts).reads_sandbox("a")


@given(st.data())
def test_each_comes_after_what_it_needs(data: st.DataObject) -> None:
    names = [f"c{index}" for index in range(data.draw(st.integers(1, 9)))]
    shuffled = data.draw(st.permutations(names))
    made = [
        component(name, *data.draw(st.sets(st.sampled_from(shuffled[:at]))) if at else ())
        for at, name in enumerate(shuffled)
    ]
    found = graph(*made)
    order = found.order()
    assert sorted(order) == sorted(names)
    for name in names:
        assert all(order.index(need) < order.index(name) for need in found.dependencies(name))
    assert order == graph(*reversed(made)).order()


def test_a_long_chain_needs_no_deep_stack() -> None:
    chain = [component(f"c{i}", f"c{i - 1}") for i in range(1, 3000)]
    assert len(graph(component("c0"), *chain).order()) == 3000
