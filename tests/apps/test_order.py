"""What is deployed first: fewer dependencies, then what others are made of, then the name."""

import itertools

import pytest
from pydantic import TypeAdapter

from apps.config.actions import KubernetesContext
from apps.config.app import AppConfig
from apps.config.components import Component
from apps.config.metadata import Metadata
from apps.graph import CycleError, Graph

REPO = {"repo": ".", "directory": "m"}
BY_TYPE: dict[str, dict[str, object]] = {
    "container_image": {"public": {"image_url": "x", "tag": "1"}},
    "docker_build": {"dockerfile": "Dockerfile", "public_repo": REPO},
    "terraform_module": {"terraform_version": "1.11", "public_repo": REPO},
    "pulumi": {"runtime": "go", "public_repo": REPO},
    "helm_chart": {"chart_name": "x", "public_repo": REPO},
    "kubernetes_manifest": {"manifest": "x", "namespace": "y"},
    "job": {"image_url": "x", "tag": "1"},
}
"""In the order in which they go."""

COMPONENT: TypeAdapter[Component] = TypeAdapter(Component)


def part(type_: str, name: str, *dependencies: str, **more: object) -> Component:
    return COMPONENT.validate_python(
        {"type": type_, "name": name, "dependencies": dependencies, **BY_TYPE[type_], **more}
    )


def graph(*components: Component, contexts: dict[str, str] | None = None) -> Graph:
    named = [KubernetesContext(name=n, component=c) for n, c in (contexts or {}).items()]
    return Graph(
        AppConfig(
            metadata=Metadata(version="v2"), components=list(components), kubernetes_contexts=named
        )
    )


def test_what_others_are_made_of_goes_first() -> None:
    # Names are in the other direction.
    made = [part(one, f"{9 - place}") for place, one in enumerate(BY_TYPE)]
    assert graph(*reversed(made)).order() == [one.name for one in made]


def test_of_each_two_types_the_earlier_goes_first() -> None:
    for first, second in itertools.combinations(BY_TYPE, 2):
        found = graph(part("terraform_module", "x"), part(second, "a", "x"), part(first, "b", "x"))
        assert found.order() == ["x", "b", "a"]
        assert found.reversed() == ["a", "b", "x"]


def test_of_one_type_the_name_decides_and_fewer_dependencies_before_all() -> None:
    found = graph(
        part("job", "b"), part("job", "a"), part("helm_chart", "z", "a"),
        part("container_image", "i", "a", "b"),
    )  # fmt: skip
    assert found.order() == ["a", "b", "z", "i"]


def test_a_cluster_comes_before_what_is_deployed_to_it() -> None:
    contexts = {"east": "cluster"}
    chart = part("helm_chart", "a", kubernetes_context="east")
    elsewhere = part("helm_chart", "b", kubernetes_context="sandbox")
    found = graph(chart, elsewhere, part("terraform_module", "cluster"), contexts=contexts)
    assert found.dependencies("a") == ["cluster"] and found.dependencies("b") == []
    assert found.order() == ["cluster", "b", "a"]


def test_a_cluster_cannot_need_what_is_deployed_to_it() -> None:
    cluster = part("terraform_module", "cluster", "a")
    with pytest.raises(CycleError, match="a → cluster → a"):
        graph(cluster, part("job", "a", kubernetes_context="east"), contexts={"east": "cluster"})
