"""What must hold within one table, beyond the types of its keys."""

import json
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from apps.checks.violations import Told, exactly_one
from apps.config.actions import Action, ActionStep, ActionTrigger, Runbook, RunbookStep
from apps.config.base import Model
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
from apps.config.inputs import Secret
from apps.config.metadata import Stack
from apps.config.policies import Policy
from apps.config.roles import NamedPolicy, OperationRoles, OperationRule, Role, RolePolicy
from apps.config.shape import inner_tables, shape
from apps.config.sources import Source, is_remote
from apps.config.terraform import PulumiProgram, SandboxFields, TerraformModule
from apps.config.vendor import Branch, BranchPreview, InstallConfig, InstallGroup, InstallsLocation
from apps.cron import cron_problem
from apps.environment import environment_problem, script_variable_problem
from apps.input_values import json_problem
from apps.keys import below
from apps.reading.addresses import AddressRefused, checked_directory, checked_ref, repository_url
from apps.triggers import trigger_oddities, trigger_problems

M = TypeVar("M", bound=Model)

_RULES: dict[type[Model], Callable[[Any], Iterator[Told]]] = {}


def told_of(model: Model) -> Iterator[Told]:
    """Everything that is wrong within a model, and within the models below it."""
    for base in type(model).__mro__:
        rule = _RULES.get(base)
        if rule is not None:
            yield from rule(model)
    for name, slot in shape(type(model)).items():
        if slot.inner is not None:
            for at, inner in inner_tables(getattr(model, name), slot, name):
                yield from (told.beneath(at) for told in told_of(inner))


def _rule(
    model: type[M],
) -> Callable[[Callable[[M], Iterator[Told]]], Callable[[M], Iterator[Told]]]:
    def register(check: Callable[[M], Iterator[Told]]) -> Callable[[M], Iterator[Told]]:
        _RULES[model] = check
        return check

    return register


@_rule(Source)
def _source(source: Source) -> Iterator[Told]:
    if source.is_local:
        return
    try:
        repository_url(source.repo)
    except AddressRefused as refused:
        yield Told("repo", str(refused))
        return
    if not source.branch:
        yield Told("branch", f"is required: which branch of `{source.repo}`")
    for key, check in (("branch", checked_ref), ("directory", checked_directory)):
        value = getattr(source, key)
        try:
            check(value or "main")
        except AddressRefused as refused:
            yield Told(key, str(refused))


def _one_source(model: Any, *more: str, or_none: bool = False) -> Iterator[Told]:
    keys = ("public_repo", "connected_repo", *more)
    problem = exactly_one({key: getattr(model, key) is not None for key in keys}, or_none=or_none)
    if problem:
        yield Told("", problem)


@_rule(TerraformModule)
def _terraform(module: TerraformModule) -> Iterator[Told]:
    yield from _one_source(module)
    yield from _schedule(module)
    yield from _environment(module.env_vars, environment_problem)


@_rule(PulumiProgram)
def _pulumi(program: PulumiProgram) -> Iterator[Told]:
    yield from _one_source(program)
    yield from _schedule(program)


@_rule(HelmChart)
def _helm(chart: HelmChart) -> Iterator[Told]:
    yield from _one_source(chart, "helm_repo")
    yield from _schedule(chart)


@_rule(HelmValues)
def _helm_values(values: HelmValues) -> Iterator[Told]:
    if not values.contents and not values.path and not values.source:
        yield Told("contents", "is required, or `path`: the values")
    elif values.path and values.source:
        yield Told("source", "is the older name of `path`; keep only one of the two")


@_rule(KubernetesManifest)
def _manifest(component: KubernetesManifest) -> Iterator[Told]:
    given = {
        "manifest": component.manifest is not None,
        "kustomize": component.kustomize is not None,
    }
    problem = exactly_one(given)
    if problem:
        yield Told("", problem)
    elif component.kustomize is not None:
        yield from _one_source(component)
    elif component.public_repo or component.connected_repo:
        key = "public_repo" if component.public_repo else "connected_repo"
        yield Told(key, "has no meaning for a `manifest`, only for `kustomize`; remove it")
    yield from _schedule(component)


@_rule(DockerBuild)
def _docker_build(build: DockerBuild) -> Iterator[Told]:
    yield from _one_source(build)


@_rule(ContainerImage)
def _image(image: ContainerImage) -> Iterator[Told]:
    sources = ("aws_ecr", "gcp_gar", "azure_acr", "public")
    problem = exactly_one({key: getattr(image, key) is not None for key in sources})
    if problem:
        yield Told("", problem)


@_rule(ImageTag)
def _image_tag(image: ImageTag) -> Iterator[Told]:
    if not image.tag and not image.update_policy:
        yield Told("tag", "is required, or `update_policy`: which of the image's tags")


@_rule(ComponentFields)
def _component(component: ComponentFields) -> Iterator[Told]:
    if component.default_enabled is not None and not component.toggleable:
        message = "has no effect: the component is not `toggleable`"
        yield Told("default_enabled", message, "warning")
    yield from _operations(component.operation_roles, ("deploy", "teardown"), "a component")


@_rule(SandboxFields)
def _sandbox(sandbox: SandboxFields) -> Iterator[Told]:
    legal = ("provision", "reprovision", "deprovision")
    yield from _operations(sandbox.operation_roles, legal, "the sandbox")


def _operations(roles: list[Any], legal: tuple[str, ...], of: str) -> Iterator[Told]:
    seen: set[str] = set()
    for index, one in enumerate(roles):
        at = below("operation_roles", index, "operation")
        if one.operation not in legal:
            words = ", ".join(f"`{word}`" for word in legal)
            message = f"has no effect: `{one.operation}` is no operation of {of}; there is {words}"
            yield Told(at, message, "warning")
        elif one.operation in seen:
            yield Told(at, f"there is already a role for `{one.operation}`")
        seen.add(one.operation)


@_rule(Probe)
def _probe(probe: Probe) -> Iterator[Told]:
    if probe.type == "exec" and not any(probe.command):
        yield Told("command", "is required for `exec`: a program, and its arguments")
    elif probe.type != "exec" and not probe.url:
        yield Told("url", f"is required for `{probe.type}`")


@_rule(Secret)
def _secret(secret: Secret) -> Iterator[Told]:
    if secret.auto_generate and secret.required:
        yield Told("required", "excludes `auto_generate`: who must give it, needs none made")
    if secret.auto_generate and secret.default:
        yield Told("default", "excludes `auto_generate`; keep only one of the two")
    if secret.required and secret.default:
        yield Told("default", "excludes `required`; keep only one of the two")
    for key in ("kubernetes_secret_namespace", "kubernetes_secret_name"):
        is_synced = secret.kubernetes_sync and not secret.kubernetes_sync_targets
        if is_synced and not getattr(secret, key):
            yield Told(key, "is required for `kubernetes_sync`")


@_rule(Stack)
def _stack(stack: Stack) -> Iterator[Told]:
    for key in ("name", "index"):
        seen: set[object] = set()
        for place, nested in enumerate(stack.custom_nested_stacks):
            value = getattr(nested, key)
            if value in seen:
                at = below("custom_nested_stacks", place, key)
                yield Told(at, f"there is already a nested stack with the {key} `{value}`")
            seen.add(value)


@_rule(Role)
def _role(role: Role) -> Iterator[Told]:
    if not role.policies and not role.named_policies:
        yield Told("policies", "is required, or `named_policies`: what the role may do")
    yield from _policy_document("permissions_boundary", role.permissions_boundary)


@_rule(RolePolicy)
def _role_policy(policy: RolePolicy) -> Iterator[Told]:
    grants = (
        policy.managed_policy_name, policy.contents, policy.gcp_permissions,
        policy.gcp_predefined_role, policy.azure_actions, policy.azure_built_in_roles,
    )  # fmt: skip
    if not any(grants):
        yield Told(
            "", "grants nothing: write `managed_policy_name`, `contents`, `gcp_permissions`, "
            "`gcp_predefined_role`, `azure_actions` or `azure_built_in_roles`", "warning",
        )  # fmt: skip
    if policy.managed_policy_name and policy.contents:
        yield Told("contents", "excludes `managed_policy_name`; write two policies")
    if policy.contents and not policy.name:
        yield Told("name", "is required for a policy with `contents`")
    yield from _policy_document("contents", policy.contents)


@_rule(NamedPolicy)
def _named_policy(policy: NamedPolicy) -> Iterator[Told]:
    yield from _policy_document("contents", policy.contents)


def _policy_document(key: str, text: str | None) -> Iterator[Told]:
    # With a template in it, it need not be JSON before it is rendered; nor what is fetched later.
    if not text or not text.strip() or "{{" in text or is_remote(text):
        return
    try:
        json.loads(text)
    except RecursionError:
        yield Told(key, "must be JSON, and is nested too deeply")
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        yield Told(key, f"must be JSON: {getattr(error, 'msg', error)}", within=line)


@_rule(OperationRoles)
def _operation_roles(roles: OperationRoles) -> Iterator[Told]:
    seen: set[tuple[str, str]] = set()
    for index, rule in enumerate(roles.rules):
        if (rule.principal, rule.operation) in seen:
            message = f"there is already a rule for `{rule.operation}` of `{rule.principal}`"
            yield Told(below("rules", index), message)
        seen.add((rule.principal, rule.operation))


@_rule(OperationRule)
def _operation_rule(rule: OperationRule) -> Iterator[Told]:
    legal = {
        "sandbox": ("provision", "reprovision", "deprovision"),
        "component": ("deploy", "teardown"),
        "action": ("trigger",),
    }[rule.principal_kind]
    if rule.operation not in legal:
        words = ", ".join(f"`{word}`" for word in legal)
        of = f"`{rule.operation}` is no operation of `{rule.principal}`"
        yield Told("operation", f"has no effect: {of}; there is {words}", "warning")


@_rule(Policy)
def _policy(policy: Policy) -> Iterator[Told]:
    engine = "kyverno" if policy.type == "kubernetes_cluster" else "opa"
    if policy.engine not in (None, engine):
        yield Told("engine", f"must be `{engine}` for a policy of the type `{policy.type}`")
    if "*" in policy.components and len(policy.components) > 1:
        yield Told("components", "has `*` and names; write `*` alone for all")
    if policy.components and policy.type in ("sandbox", "kubernetes_cluster"):
        message = f"has no effect for a policy of the type `{policy.type}`"
        yield Told("components", message, "warning")


@_rule(ActionTrigger)
def _trigger(trigger: ActionTrigger) -> Iterator[Told]:
    yield from (Told(key, message) for key, message in trigger_problems(trigger))
    yield from (Told(key, message, "warning") for key, message in trigger_oddities(trigger))


@_rule(ActionStep)
def _step(step: ActionStep) -> Iterator[Told]:
    if step.command and step.inline_contents is not None:
        message = "has no effect beside `inline_contents`; remove it"
        yield Told("command", message, "warning")
    elif not step.command and step.inline_contents is None:
        yield Told("", "needs `command` or `inline_contents`; none is set")
    yield from _one_source(step, or_none=True)
    yield from _environment(step.env_vars, script_variable_problem)


@_rule(Action)
def _action(action: Action) -> Iterator[Told]:
    seen: set[str] = set()
    for index, step in enumerate(action.steps):
        if step.name in seen:
            message = f"there is already a step `{step.name}`: the outputs of the last one are seen"
            yield Told(below("steps", index, "name"), message, "warning")
        seen.add(step.name)
        if action.image and step.inline_contents is None:
            message = "is required where the action has an `image`"
            yield Told(below("steps", index, "inline_contents"), message)


@_rule(Runbook)
def _runbook(runbook: Runbook) -> Iterator[Told]:
    seen: set[str] = set()
    for index, item in enumerate(runbook.input):
        if item.name in seen:
            yield Told(below("input", index, "name"), f"there is already an input `{item.name}`")
        if item.type == "json" and item.default is not None:
            problem = json_problem(item.default) if isinstance(item.default, str) else None
            if problem:
                yield Told(below("input", index, "default"), problem)
        seen.add(item.name)


@_rule(RunbookStep)
def _runbook_step(step: RunbookStep) -> Iterator[Told]:
    if step.plan_only and step.type not in ("component_deploy", "sandbox_reprovision"):
        yield Told("plan_only", f"cannot be had of `{step.type}`: nothing is planned there")
    if step.type in ("component_deploy", "component_tear_down") and not step.component_name:
        yield Told("component_name", f"is required for `{step.type}`")
    if step.type == "action":
        keys = ("action_name", "command", "inline_contents")
        problem = exactly_one({key: getattr(step, key) is not None for key in keys})
        if problem:
            yield Told("", problem)
    yield from _environment(step.env_vars, script_variable_problem)


@_rule(InstallConfig)
def _install(install: InstallConfig) -> Iterator[Told]:
    keys = ("aws_account", "gcp_account", "azure_account")
    given = {key: getattr(install, key) is not None for key in keys}
    problem = exactly_one(given, or_none=True)
    if problem:
        yield Told("", problem)


@_rule(InstallsLocation)
def _installs_location(location: InstallsLocation) -> Iterator[Told]:
    yield from _one_source(location)


@_rule(Branch)
def _branch(branch: Branch) -> Iterator[Told]:
    yield from _one_source(branch, or_none=True)
    if branch.ignore_changes_regex:
        try:
            with warnings.catch_warnings(action="ignore"):
                re.compile(branch.ignore_changes_regex)
        except (re.error, RecursionError, OverflowError) as error:
            # Another engine reads it, with other words for a few things.
            message = f"may be no regular expression: {error}"
            yield Told("ignore_changes_regex", message, "warning")


@_rule(InstallGroup)
def _install_group(group: InstallGroup) -> Iterator[Told]:
    if group.label_selector and (group.install_ids or group.install_names):
        yield Told("label_selector", "excludes `install_ids` and `install_names`")


@_rule(BranchPreview)
def _preview(preview: BranchPreview) -> Iterator[Told]:
    given = {
        "install_id": bool(preview.install_id),
        "install_name": bool(preview.install_name),
        "label_selector": bool(preview.label_selector),
    }
    problem = exactly_one(given, or_none=preview.mode == "build-only")
    if problem:
        yield Told("", problem)


def _schedule(model: Any) -> Iterator[Told]:
    text = model.drift_schedule
    problem = cron_problem(text) if text else None
    if problem:
        yield Told("drift_schedule", problem)


def _environment(
    variables: dict[str, str], problem_of: Callable[[str], str | None]
) -> Iterator[Told]:
    for name in variables:
        problem = problem_of(name)
        if problem:
            yield Told(below("env_vars", name), problem)
