"""Rules for components and the sandbox."""

from collections.abc import Iterator
from typing import Any

from apps.checks.rules.sources import one_source
from apps.checks.violations import Rules, Violation, exactly_one
from apps.config.components import (
    ComponentFields,
    ContainerImage,
    DockerBuild,
    HelmChart,
    HelmValues,
    KubernetesManifest,
)
from apps.config.health import Probe
from apps.config.images import ImageTag
from apps.config.terraform import PulumiProgram, SandboxFields, TerraformModule
from apps.cron import cron_problem
from apps.keys import below


def _terraform(module: TerraformModule) -> Iterator[Violation]:
    yield from one_source(module)
    yield from _schedule(module)


def _pulumi(program: PulumiProgram) -> Iterator[Violation]:
    yield from one_source(program)
    yield from _schedule(program)


def _helm(chart: HelmChart) -> Iterator[Violation]:
    yield from one_source(chart, "helm_repo")
    yield from _schedule(chart)


def _helm_values(values: HelmValues) -> Iterator[Violation]:
    if not values.contents and not values.path and not values.source:
        yield Violation("contents", "is required, or `path`: the values")
    elif values.path and values.source:
        yield Violation("source", "is the older name of `path`; keep only one of the two")


def _manifest(component: KubernetesManifest) -> Iterator[Violation]:
    given = {
        "manifest": component.manifest is not None,
        "kustomize": component.kustomize is not None,
    }
    problem = exactly_one(given)
    if problem:
        yield Violation("", problem)
    elif component.kustomize is not None:
        yield from one_source(component)
    elif component.public_repo or component.connected_repo:
        key = "public_repo" if component.public_repo else "connected_repo"
        yield Violation(key, "has no meaning for a `manifest`, only for `kustomize`; remove it")
    yield from _schedule(component)


def _docker_build(build: DockerBuild) -> Iterator[Violation]:
    yield from one_source(build)


def _image(image: ContainerImage) -> Iterator[Violation]:
    sources = ("aws_ecr", "gcp_gar", "azure_acr", "public")
    problem = exactly_one({key: getattr(image, key) is not None for key in sources})
    if problem:
        yield Violation("", problem)


def _image_tag(image: ImageTag) -> Iterator[Violation]:
    if not image.tag and not image.update_policy:
        yield Violation("tag", "is required, or `update_policy`: which of the image's tags")


def _component(component: ComponentFields) -> Iterator[Violation]:
    if component.default_enabled is not None and not component.toggleable:
        message = "has no effect: the component is not `toggleable`"
        yield Violation("default_enabled", message, "warning")
    yield from _operations(component.operation_roles, ("deploy", "teardown"), "a component")


def _sandbox(sandbox: SandboxFields) -> Iterator[Violation]:
    legal = ("provision", "reprovision", "deprovision")
    yield from _operations(sandbox.operation_roles, legal, "the sandbox")


def _probe(probe: Probe) -> Iterator[Violation]:
    if probe.type == "exec" and not any(probe.command):
        yield Violation("command", "is required for `exec`: a program, and its arguments")
    elif probe.type != "exec" and not probe.url:
        yield Violation("url", f"is required for `{probe.type}`")


def _operations(roles: list[Any], legal: tuple[str, ...], of: str) -> Iterator[Violation]:
    seen: set[str] = set()
    for index, one in enumerate(roles):
        at = below("operation_roles", index, "operation")
        if one.operation not in legal:
            words = ", ".join(f"`{word}`" for word in legal)
            message = f"has no effect: {of} has no operation `{one.operation}`, only {words}"
            yield Violation(at, message, "warning")
        elif one.operation in seen:
            yield Violation(at, f"there is already a role for `{one.operation}`")
        seen.add(one.operation)


def _schedule(model: Any) -> Iterator[Violation]:
    text = model.drift_schedule
    problem = cron_problem(text) if text else None
    if problem:
        yield Violation("drift_schedule", problem)


RULES: Rules = {
    TerraformModule: _terraform,
    PulumiProgram: _pulumi,
    HelmChart: _helm,
    HelmValues: _helm_values,
    KubernetesManifest: _manifest,
    DockerBuild: _docker_build,
    ContainerImage: _image,
    ImageTag: _image_tag,
    ComponentFields: _component,
    SandboxFields: _sandbox,
    Probe: _probe,
}
