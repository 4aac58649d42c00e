"""Which role an operation takes: the first of those that say so."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from apps.config import AppConfig, Operation, OperationRole

Principal = Literal["component", "sandbox", "action", "secrets"]


class NoRole(Exception):
    """Nothing says which role the operation takes."""


@dataclass(frozen=True)
class Asking:
    """An operation that wants a role."""

    principal: Principal
    operation: Operation
    name: str = ""
    """Of the component or the action."""
    named: str | None = None
    """The role that was named when the operation was started."""
    ends_install: bool = False
    """It is part of the end of the install."""


def role_for(config: AppConfig, asking: Asking) -> str:
    """The name of the role, a template; its rendered name is one of the stack's outputs.

    The first of: the role named at the start, an action's role to break glass, what the component,
    the sandbox or the action says itself, the matrix (an exact name before `*`), and the app's own
    role for that: to provision, to maintain, or to deprovision.

    Raises:
        NoRole: none of them says anything.
    """
    for name in _candidates(config, asking):
        if name:
            return name
    what = f"{asking.principal} {asking.name}".strip()
    raise NoRole(
        f"no role for `{asking.operation}` of {what}: name one in operation_roles.toml, or give "
        f"permissions a role of the type `{_standard(asking)}`"
    )


def _candidates(config: AppConfig, asking: Asking) -> Iterator[str | None]:
    yield asking.named
    if asking.principal == "action":
        action = config.action(asking.name)
        if action is not None:
            yield from (action.break_glass_role, action.role)
    elif asking.principal != "secrets":
        yield _own(_operation_roles(config, asking), asking.operation)
    yield from _by_matrix(config, asking)
    roles = config.permissions.roles if config.permissions else []
    yield from (role.name for role in roles if role.type == _standard(asking))


def _operation_roles(config: AppConfig, asking: Asking) -> list[OperationRole]:
    part = config.sandbox if asking.principal == "sandbox" else config.component(asking.name)
    return part.operation_roles if part is not None else []


def _own(roles: list[OperationRole], operation: Operation) -> str | None:
    return next((one.role for one in roles if one.operation == operation), None)


def _by_matrix(config: AppConfig, asking: Asking) -> Iterator[str]:
    rules = config.operation_roles.rules if config.operation_roles else []
    for name in dict.fromkeys((asking.name, "*" if asking.name else "")):
        for rule in rules:
            is_meant = rule.principal_kind == asking.principal and rule.principal_name == name
            if is_meant and rule.operation == asking.operation:
                yield rule.role


def _standard(asking: Asking) -> str:
    if asking.ends_install or asking.operation == "deprovision":
        return "deprovision"
    return "provision" if asking.principal in ("sandbox", "secrets") else "maintenance"
