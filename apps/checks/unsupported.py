"""What a config may say, but Exclave does not support yet: noted by checks, refused in time."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from apps.config.actions import Action, ActionTrigger, KubernetesContext, Runbook
from apps.config.app import AppConfig
from apps.config.base import Model
from apps.config.components import ComponentFields
from apps.config.health import Health
from apps.config.inputs import Secret
from apps.config.metadata import Runner, Stack
from apps.config.parts import Part
from apps.config.policies import Policy
from apps.config.roles import OperationRoles, Permissions, Role
from apps.config.shape import degrades, inner_tables, shape, templates
from apps.config.terraform import SandboxFields, TerraformModule
from apps.config.vendor import Branch, EventRule, InstallConfig, Installer, InstallsLocation
from apps.deployable import Deployable
from apps.keys import joined
from apps.templates import TemplateError
from apps.templates.state_fields import is_unfilled
from apps.templates.state_paths import Path, ReadsOf, reads_of
from apps.triggers import SUPPORTED_TRIGGERS

Stage = Literal["build", "deploy", "never"]
"""Who refuses it: a build, a deploy before it starts anything, or nobody."""


@dataclass(frozen=True)
class Missing:
    """One thing that is not supported yet."""

    key: str
    """Its key within the entity's table; empty for the whole table."""
    message: str
    refused_at: Stage
    alone: bool = False
    """Nothing else is reported about this entity."""


@dataclass(frozen=True)
class MissingOf:
    """One thing that is not supported yet, and the entity that has it."""

    whose: str
    """As in `component api`."""
    missing: Missing

    def __str__(self) -> str:
        key = f"{self.missing.key}: " if self.missing.key else ""
        return f"{self.whose}: {key}{self.missing.message}"


def unsupported(config: AppConfig, deployable: Deployable) -> list[MissingOf]:
    """Everything in a config that is not supported yet, in the order of the config's fields."""
    return [
        MissingOf(whose, missing)
        for whose, model in _entities(config)
        for missing in missing_in(model, deployable)
    ]


def undeployable(config: AppConfig, deployable: Deployable) -> list[MissingOf]:
    """Everything in a config that a deploy refuses."""
    return [one for one in unsupported(config, deployable) if one.missing.refused_at != "never"]


def missing_in(
    model: Model, deployable: Deployable, reads_of: ReadsOf = reads_of
) -> Iterator[Missing]:
    """Everything in one entity that is not supported yet."""
    if isinstance(model, Part) and not deployable.has(model):
        yield _no_engine(model)
        return
    gaps = list(_in_tables(model))
    alone = next((gap for gap in gaps if gap.alone), None)
    if alone is not None:
        yield alone
        return
    yield from gaps
    reported: set[tuple[str, str]] = set()
    for key, text in templates(model):
        if degrades(model, key):
            continue
        for path in _paths(text, reads_of):
            root = ".".join(("", *path[: 3 if path[1] == "install" else 2]))
            if is_unfilled(path) and (key, root) not in reported:
                reported.add((key, root))
                yield Missing(key, f"accepted, but `{root}` has no values yet", "deploy")


def _no_engine(part: Part) -> Missing:
    is_sandbox = isinstance(part, SandboxFields)
    kind = part.part_type
    what = f"making a sandbox with {kind.capitalize()}" if is_sandbox else f"deploying {kind}"
    return Missing("type", f"accepted, but {what} is not supported yet", "build", alone=True)


def _in_tables(model: Model) -> Iterator[Missing]:
    for base in type(model).__mro__:
        for one in _ENTITIES.get(base, ()):
            if one.when(model):
                yield Missing(one.key, one.message(model), one.refused_at, one.alone)
    for name, slot in shape(type(model)).items():
        value = getattr(model, name)
        if slot.inner is not None:
            for at, inner in inner_tables(value, slot, name):
                for missing in _in_tables(inner):
                    yield replace(missing, key=joined(at, missing.key), alone=False)


def _paths(text: str, reads_of: ReadsOf) -> list[Path]:
    try:
        return [read.path for read in reads_of(text) if read.required and len(read.path) > 1]
    except TemplateError:
        return []  # reported by the check of templates


def _entities(config: AppConfig) -> Iterator[tuple[str, Model]]:
    for name, slot in shape(AppConfig).items():
        if slot.inner is None:
            continue
        for at, model in inner_tables(getattr(config, name), slot, name):
            own = getattr(model, "name", None)
            yield f"{_NAMES.get(name, name)} {own}" if own else at, model


_NAMES: Final = {
    "components": "component", "actions": "action", "inputs": "input", "groups": "group",
    "secrets": "secret", "policies": "policy", "runbooks": "runbook", "break_glass": "role",
    "kubernetes_contexts": "Kubernetes context", "stack": "stack",
}  # fmt: skip


@dataclass(frozen=True)
class _Gap:
    key: str
    message: Callable[[Any], str]
    refused_at: Stage
    when: Callable[[Any], bool] = lambda _: True
    alone: bool = False


def _says(text: str) -> Callable[[Any], str]:
    return lambda _: f"accepted, but {text}"


def _key(key: str, what: str, refused_at: Stage, when: Callable[[Any], bool] = bool) -> _Gap:
    message = _says(f"{what} is not supported yet")
    return _Gap(key, message, refused_at, lambda model: when(getattr(model, key)))


def _whole(what: str, refused_at: Stage = "never") -> tuple[_Gap]:
    return (_Gap("", _says(what), refused_at, alone=True),)


_ENTITIES: Final[dict[type[Model], Iterable[_Gap]]] = {
    ComponentFields: (
        _key("toggleable", "switching a component on and off", "deploy"),
        _key("kubernetes_context", "choosing a cluster", "deploy"),
        _key("operation_roles", "taking a role", "deploy"),
        _key("build_timeout", "a timeout for one component", "never"),
        _key("deploy_timeout", "a timeout for one component", "never"),
        _key("max_auto_retries", "retrying by itself", "never"),
        _key("skip_noops", "skipping approvals", "never"),
        _key("auto_approve_on_policies_passing", "approving by policies", "never"),
    ),
    SandboxFields: (
        _key("operation_roles", "taking a role", "deploy"),
        _key("max_auto_retries", "retrying by itself", "never"),
        _key("skip_noops", "skipping approvals", "never"),
        _key("auto_approve_on_policies_passing", "approving by policies", "never"),
    ),
    TerraformModule: (_key("drift_schedule", "looking for drift", "never"),),
    Health: (
        _Gap("", _says("health is not watched yet"), "never", lambda h: not h.block_deploy),
        _key("block_deploy", "waiting for health", "deploy"),
    ),
    ActionTrigger: (
        _Gap(
            "type",
            lambda trigger: f"accepted, but the trigger `{trigger.type}` is not supported yet",
            "deploy",
            lambda trigger: trigger.type not in SUPPORTED_TRIGGERS,
        ),
    ),
    Action: (
        _key("enable_kube_config", "a KUBECONFIG for steps", "deploy"),
        _key("role", "taking a role", "deploy"),
        _key("break_glass_role", "taking a role", "deploy"),
        _key("image", "running steps in an image", "deploy"),
        _key("kubernetes_context", "choosing a cluster", "deploy"),
    ),
    Secret: _whole("secrets are not supported yet", "deploy"),
    Policy: _whole("policies are not supported yet", "deploy"),
    OperationRoles: _whole("taking a role is not supported yet", "deploy"),
    Permissions: _whole("roles have no effect yet: the worker uses those of its machine"),
    Role: _whole("roles have no effect yet: the worker uses those of its machine"),
    Runner: _whole("it has no effect yet: `exclave install` describes the worker's machine"),
    Stack: _whole("it has no effect yet: `exclave install` makes the stack"),
    Runbook: _whole("runbooks have no effect yet"),
    KubernetesContext: _whole("named clusters have no effect yet"),
    InstallConfig: _whole("install files have no effect yet"),
    InstallsLocation: _whole("install files have no effect yet"),
    Branch: _whole("branches have no effect yet"),
    EventRule: _whole("event triggers have no effect yet"),
    Installer: _whole("the installer has no effect yet"),
}
"""What is not supported yet, by model; it holds for a model's subclasses as well."""
