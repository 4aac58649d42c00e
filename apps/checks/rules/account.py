"""Rules for what concerns the customer's account: secrets, stack, roles, policies."""

import json
from collections.abc import Iterator

from apps.checks.violations import Rules, Violation
from apps.config.inputs import Secret
from apps.config.metadata import Stack
from apps.config.policies import Policy
from apps.config.roles import NamedPolicy, OperationRoles, OperationRule, Role, RolePolicy
from apps.config.sources import is_remote
from apps.keys import below


def _secret(secret: Secret) -> Iterator[Violation]:
    if secret.auto_generate and secret.required:
        yield Violation("required", "excludes `auto_generate`; keep only one of the two")
    if secret.auto_generate and secret.default:
        yield Violation("default", "excludes `auto_generate`; keep only one of the two")
    if secret.required and secret.default:
        yield Violation("default", "excludes `required`; keep only one of the two")
    for key in ("kubernetes_secret_namespace", "kubernetes_secret_name"):
        is_synced = secret.kubernetes_sync and not secret.kubernetes_sync_targets
        if is_synced and not getattr(secret, key):
            yield Violation(key, "is required for `kubernetes_sync`")


def _stack(stack: Stack) -> Iterator[Violation]:
    for key in ("name", "index"):
        seen: set[object] = set()
        for place, nested in enumerate(stack.custom_nested_stacks):
            value = getattr(nested, key)
            if value in seen:
                at = below("custom_nested_stacks", place, key)
                yield Violation(at, f"there is already a nested stack with the {key} `{value}`")
            seen.add(value)


def _role(role: Role) -> Iterator[Violation]:
    if not role.policies and not role.named_policies:
        yield Violation("policies", "is required, or `named_policies`: what the role may do")
    yield from _policy_document("permissions_boundary", role.permissions_boundary)


def _role_policy(policy: RolePolicy) -> Iterator[Violation]:
    grants = (
        policy.managed_policy_name, policy.contents, policy.gcp_permissions,
        policy.gcp_predefined_role, policy.azure_actions, policy.azure_built_in_roles,
    )  # fmt: skip
    if not any(grants):
        yield Violation(
            "", "grants nothing: write `managed_policy_name`, `contents`, `gcp_permissions`, "
            "`gcp_predefined_role`, `azure_actions` or `azure_built_in_roles`", "warning",
        )  # fmt: skip
    if policy.managed_policy_name and policy.contents:
        yield Violation("contents", "excludes `managed_policy_name`; write two policies")
    if policy.contents and not policy.name:
        yield Violation("name", "is required for a policy with `contents`")
    yield from _policy_document("contents", policy.contents)


def _named_policy(policy: NamedPolicy) -> Iterator[Violation]:
    yield from _policy_document("contents", policy.contents)


def _operation_roles(roles: OperationRoles) -> Iterator[Violation]:
    seen: set[tuple[str, str]] = set()
    for index, rule in enumerate(roles.rules):
        if (rule.principal, rule.operation) in seen:
            message = f"there is already a rule for `{rule.operation}` of `{rule.principal}`"
            yield Violation(below("rules", index), message)
        seen.add((rule.principal, rule.operation))


def _operation_rule(rule: OperationRule) -> Iterator[Violation]:
    legal = {
        "sandbox": ("provision", "reprovision", "deprovision"),
        "component": ("deploy", "teardown"),
        "action": ("trigger",),
    }[rule.principal_kind]
    if rule.operation not in legal:
        words = ", ".join(f"`{word}`" for word in legal)
        of = f"`{rule.principal}` has no operation `{rule.operation}`"
        yield Violation("operation", f"has no effect: {of}, only {words}", "warning")


def _policy(policy: Policy) -> Iterator[Violation]:
    engine = "kyverno" if policy.type == "kubernetes_cluster" else "opa"
    if policy.engine not in (None, engine):
        yield Violation("engine", f"must be `{engine}` for a policy of the type `{policy.type}`")
    if "*" in policy.components and len(policy.components) > 1:
        yield Violation("components", "has `*` and names; write `*` alone for all")
    if policy.components and policy.type in ("sandbox", "kubernetes_cluster"):
        message = f"has no effect for a policy of the type `{policy.type}`"
        yield Violation("components", message, "warning")


def _policy_document(key: str, text: str | None) -> Iterator[Violation]:
    # A template becomes JSON only when it is rendered, and some documents are fetched later.
    if not text or not text.strip() or "{{" in text or is_remote(text):
        return
    try:
        json.loads(text)
    except RecursionError:
        yield Violation(key, "must be JSON, and is nested too deeply")
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        yield Violation(key, f"must be JSON: {getattr(error, 'msg', error)}", within=line)


RULES: Rules = {
    Secret: _secret,
    Stack: _stack,
    Role: _role,
    RolePolicy: _role_policy,
    NamedPolicy: _named_policy,
    OperationRoles: _operation_roles,
    OperationRule: _operation_rule,
    Policy: _policy,
}
