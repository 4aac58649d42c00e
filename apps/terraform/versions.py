"""Compares the Terraform version of a config with what its modules require."""

import re

from apps.version_numbers import version_numbers

_CONSTRAINT = re.compile(r"(>=|<=|!=|~>|>|<|=|)\s*v?(\d{1,9}(?:\.\d{1,9}){0,2})(-[\w.]+)?")

Version = tuple[int, int, int]


def requirement_problem(version: str, requirement: str) -> str | None:
    """Why no Terraform that the config allows fits the module's requirement; None if one may fit.

    The config allows `version` and newer ones of the same major version. What cannot be parsed is
    left to Terraform.
    """
    low = version_numbers(version)
    high = (low[0] + 1, 0, 0)
    for part in requirement.split(","):
        match = _CONSTRAINT.fullmatch(part.strip())
        if match is None:
            return None
        operator, bound = match[1] or "=", version_numbers(match[2])
        ceiling = _ceiling(operator, match[2], bound)
        if ceiling is not None and not low < ceiling:
            return f"it needs a version below {_shown(ceiling)}"
        if operator == "<=" and low > bound:
            return f"it needs {_shown(bound)} or older"
        if operator == "=" and low > bound:
            return f"it needs exactly {_shown(bound)}"
        if operator in (">=", ">", "~>", "=") and bound >= high:
            return f"it needs {_shown(bound)} or newer, which is another major version"
    return None


def is_too_old(version: str, requirement: str) -> bool:
    """Whether the config allows a Terraform that is older than the module requires."""
    for part in requirement.split(","):
        match = _CONSTRAINT.fullmatch(part.strip())
        if (
            match
            and match[1] in (">=", ">", "~>")
            and version_numbers(version) < version_numbers(match[2])
        ):
            return True
    return False


def _ceiling(operator: str, text: str, bound: Version) -> Version | None:
    """The lowest version that is too high, if the constraint sets such a limit."""
    if operator == "<":
        return bound
    if operator == "~>":
        parts = text.count(".") + 1
        return (bound[0], bound[1] + 1, 0) if parts == 3 else (bound[0] + 1, 0, 0)
    return None


def _shown(version: Version) -> str:
    return ".".join(map(str, version))
