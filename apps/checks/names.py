"""Checks names: each is used once, and every reference is to a name that exists."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from apps.config.actions import Action, KubernetesContext, Runbook
from apps.config.base import Model
from apps.config.components import ComponentFields
from apps.config.documents import PermissionsFile
from apps.config.inputs import Input, InputGroup, Secret
from apps.config.policies import Policy
from apps.config.roles import NamedPolicy, OperationRoles, Role
from apps.config.shape import shape
from apps.config.terraform import SandboxFields
from apps.config.vendor import Branch, EventRule, InstallConfig
from apps.input_values import default_text, type_problem
from apps.keys import below
from apps.parts import SANDBOX, part_shown
from apps.reading.entities import Entities, Located
from apps.reading.findings import Findings
from apps.spelling import did_you_mean

_UNIQUE: tuple[tuple[str, type[Model]], ...] = (
    ("group", InputGroup), ("input", Input), ("secret", Secret), ("action", Action),
    ("runbook", Runbook), ("named policy", NamedPolicy), ("Kubernetes context", KubernetesContext),
    ("policy", Policy), ("install", InstallConfig), ("branch", Branch), ("rule", EventRule),
)  # fmt: skip

_DEFAULT_CONTEXT = "sandbox"
"""The cluster of the sandbox, where there is one; nobody declares it."""

_READABLE_DEFAULT: Final = (
    "is a default of a sensitive input, and everybody who has the release can read it; remove it, "
    "and set the value on each worker's machine"
)


def check_names(entities: Entities, findings: Findings) -> None:
    """Adds a problem for each name that is used twice, and for each reference to nothing."""
    check = _Check(entities, findings)
    check.unique_names()
    check.inputs()
    check.components()
    check.actions()
    check.runbooks()
    check.roles()
    check.policies()
    check.plane()


class _Check:
    def __init__(self, entities: Entities, findings: Findings) -> None:
        self._entities = entities
        self._findings = findings

    def unique_names(self) -> None:
        for what, model in _UNIQUE:
            seen: dict[str, str] = {}
            for located in self._entities.of(model):
                self._claim(what, located, "name", seen)
        seen = {}
        components = self._entities.of(ComponentFields)
        for component in components:
            self._claim("component", component, "name", seen)
        for component in components:
            second = component.model.var_name
            if second and second != component.model.name:
                self._claim("component", component, "var_name", seen)
            if component.model.name == part_shown(SANDBOX) and not self._entities.lacks_sandbox:
                message = "is what people see the app's sandbox as; choose another name"
                self._findings.error(component.file, "name", message)

    def inputs(self) -> None:
        groups = self._entities.names["group"]
        for item in self._entities.of(Input):
            if item.model.group is None and groups.known:
                message = f"is required, since groups are declared{did_you_mean('', groups.known)}"
                self._findings.error(item.file, item.key("group"), message)
            elif item.model.group is not None:
                self._refer(item, "group", item.model.group, "group")
            if item.model.sensitive and item.model.default not in (None, ""):
                self._findings.warning(item.file, item.key("default"), _READABLE_DEFAULT)
            text = default_text(item.model)
            problem = type_problem(item.model.type, text) if text else None
            if problem:
                message = f"{problem} (type {item.model.type})"
                self._findings.error(item.file, item.key("default"), message)

    def components(self) -> None:
        parts: list[Located[Any]] = [*self._entities.of(ComponentFields)]
        for item in [*parts, *self._entities.of(Action)]:
            self._refer_each(item, "dependencies", item.model.dependencies, "component")
            if item.model.kubernetes_context not in (None, _DEFAULT_CONTEXT):
                self._refer(item, "kubernetes_context", item.model.kubernetes_context, "context")
        for context in self._entities.of(KubernetesContext):
            self._refer(context, "component", context.model.component, "component")

    def actions(self) -> None:
        for action in self._entities.of(Action):
            for index, trigger in enumerate(action.model.triggers):
                if trigger.component_name is not None:
                    key = below("triggers", index, "component_name")
                    self._refer(action, key, trigger.component_name, "component")

    def runbooks(self) -> None:
        for runbook in self._entities.of(Runbook):
            self._refer_each(runbook, "dependencies", runbook.model.dependencies, "component")
            for index, step in enumerate(runbook.model.steps):
                at = below("steps", index)
                if step.component_name is not None:
                    key = below(at, "component_name")
                    self._refer(runbook, key, step.component_name, "component")
                if step.action_name is not None:
                    self._refer(runbook, below(at, "action_name"), step.action_name, "action")
                if step.type.startswith("sandbox_") and self._entities.lacks_sandbox:
                    message = f"`{step.type}` needs a sandbox: the app has no `sandbox.toml`"
                    self._findings.error(runbook.file, below(at, "type"), message)

    def roles(self) -> None:
        self._standard_roles()
        self._named_policies()
        for matrix in self._entities.of(OperationRoles):
            for index, rule in enumerate(matrix.model.rules):
                if rule.principal_kind != "sandbox" and rule.principal_name != "*":
                    key, what = below("rules", index, "principal"), rule.principal_kind
                    self._refer(matrix, key, rule.principal_name, what)
        for located in self._entities.all():
            for key, name in _roles_used(located.model):
                self._role_used(located, key, name)

    def _named_policies(self) -> None:
        known = self._entities.names["named policy"]
        for role in self._entities.of(Role):
            for index, used in enumerate(role.model.named_policies):
                if known.lacks(used.name):
                    key = role.key("named_policies", index, "name")
                    message = f"there is no named policy `{used.name}`"
                    hint = did_you_mean(used.name, known.known)
                    self._findings.error(role.file, key, message + hint)

    def policies(self) -> None:
        for policy in self._entities.of(Policy):
            for index, name in enumerate(policy.model.components):
                if name != "*":
                    self._refer(policy, below("components", index), name, "component")

    def plane(self) -> None:
        inputs = {item.model.name: item.model for item in self._entities.of(Input)}
        for install in self._entities.of(InstallConfig):
            for index, values in enumerate(install.model.inputs):
                for name, value in values.items():
                    key = below("inputs", index, name)
                    self._refer(install, key, name, "input")
                    declared = inputs.get(name)
                    if declared is not None:
                        text = default_text(declared.model_copy(update={"default": value})) or ""
                        problem = type_problem(declared.type, text) if text else None
                        if problem:
                            self._findings.error(install.file, key, problem)
            if install.model.app_branch is not None and self._entities.names["branch"].known:
                self._refer(install, "app_branch", install.model.app_branch, "branch")
            for key in ("components", "component_toggles"):
                for name in getattr(install.model, key):
                    self._refer(install, below(key, name), name, "component")
        for branch in self._entities.of(Branch):
            names = branch.model.post_deploy_runbooks
            self._refer_each(branch, "post_deploy_runbooks", names, "runbook")
        for rule in self._entities.of(EventRule):
            app_branch = rule.model.target.app_branch
            if app_branch is not None:
                self._refer(rule, below("target", "app_branch"), app_branch, "branch")

    def _standard_roles(self) -> None:
        roles = self._entities.of(Role, "permissions")
        names = self._entities.names["role"]
        if not roles or not names.complete:
            return
        is_file = roles[0].file == "permissions.toml"
        for kind in shape(PermissionsFile):
            type_ = kind.removesuffix("_role")
            if type_ == kind:
                continue
            found = [role for role in roles if role.model.type == type_]
            for role in found[1:]:
                message = f"there is already a role of the type `{type_}` in {found[0].file}"
                self._findings.error(role.file, role.key("type"), message)
            if not found:
                message = f"there is no role of the type `{type_}`; an app needs one"
                file = "permissions.toml" if is_file else "permissions/"
                self._findings.error(file, kind if is_file else "", message)

    def _role_used(self, located: Located[Any], key: str, name: str) -> None:
        # A role may be written another way and be the same once it is rendered.
        names = self._entities.names["role"]
        known = {_squeezed(one): one for one in names.known}
        if name and names.complete and _squeezed(name) not in known:
            message = f"there is no role `{name}` in permissions or break_glass"
            hint = _role_meant(name, names.known) or did_you_mean(name, names.known)
            self._findings.warning(located.file, located.joined(key), message + hint)

    def _refer_each(self, located: Located[Any], key: str, names: Iterable[str], what: str) -> None:
        for index, name in enumerate(names):
            self._refer(located, below(key, index), name, what)

    def _refer(self, located: Located[Any], key: str, name: str, what: str) -> None:
        known = self._entities.names[what]
        if known.lacks(name):
            shown = "Kubernetes context" if what == "context" else what
            message = f"there is no {shown} `{name}`{did_you_mean(name, known.known)}"
            self._findings.error(located.file, located.joined(key), message)

    def _claim(self, what: str, located: Located[Any], key: str, seen: dict[str, str]) -> None:
        name = getattr(located.model, key)
        if name in seen:
            where = f" in {seen[name]}" if seen[name] != located.file else ""
            message = f"there is already {_article(what)} `{name}`{where}"
            self._findings.error(located.file, located.key(key), message)
        seen.setdefault(name, located.file)


def _roles_used(model: Model) -> Iterator[tuple[str, str]]:
    """Each role that a model names, with its key."""
    if isinstance(model, OperationRoles):
        yield from ((below("rules", i, "role"), rule.role) for i, rule in enumerate(model.rules))
    elif isinstance(model, ComponentFields | SandboxFields):
        for index, one in enumerate(model.operation_roles):
            yield below("operation_roles", index, "role"), one.role
    elif isinstance(model, Action):
        yield from (("role", model.role or ""), ("break_glass_role", model.break_glass_role or ""))
    elif isinstance(model, Runbook):
        for index, step in enumerate(model.steps):
            yield below("steps", index, "role"), step.role or ""


def _role_meant(name: str, known: set[str]) -> str:
    """A hint at the role whose name is that one, and a template."""
    for role in sorted(known):
        if re.sub(r"\{\{[^{}]*\}\}[-_]?", "", role) == name:
            return f"; did you mean `{role}`?"
    return ""


def _squeezed(name: str) -> str:
    return "".join(name.split())


def _article(what: str) -> str:
    return f"an {what}" if what[0] in "aeiou" else f"a {what}"
