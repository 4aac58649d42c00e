"""Which environment variables an app config may set, for a component's tool or an action's step.

Some names decide how the tool works rather than what it works on: with `TF_WORKSPACE`, for example,
Terraform would keep its state outside the install's store. Each engine names those of its tool.
A script is the vendor's own, and has what its step says, except where that would lose what it did.
The loader refuses the rest, and so does the worker: what it gets was built by any version.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class ToolVariables:
    """The environment variables that decide how a tool works, by how their names begin."""

    refused: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    """Those of them that an app config may set all the same."""


_LOADER_PREFIXES = ("LD_", "DYLD_")
_REFUSED_PREFIXES = (*_LOADER_PREFIXES, "HELM_", "KUBE")
"""Refused to every tool. The last two lead to a cluster, and are read by plugins of tools as well,
such as Terraform's providers."""
_REFUSED_TO_SCRIPTS = frozenset({"NUON_ACTIONS_ROOT", "NUON_ACTIONS_OUTPUT_FILEPATH"})
_REFUSED = _REFUSED_TO_SCRIPTS | {
    "PATH", "HOME", "TERRAFORM_CONFIG", "CHECKPOINT_DISABLE",
    "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE",
    "NUON_ORG_ID", "NUON_APP_ID", "NUON_INSTALL_ID", "TRIGGER_TYPE",
}  # fmt: skip


def environment_problem(name: str, tool: ToolVariables) -> str | None:
    """Why a tool's variable cannot be set, and what to do instead; None if it can be set."""
    if _is_no_name(name):
        return _NO_NAME
    if name.startswith(tool.free):
        return None
    its_own = next((one for one in tool.refused if name.startswith(one)), None)
    # Proxies are read in lower case too.
    if its_own or name.upper() in _REFUSED or name.startswith(_REFUSED_PREFIXES):
        free = [one for one in tool.free if its_own and one.startswith(its_own)]
        instead = f" (of {its_own}*, only {free[0]}<variable>)" if free else ""
        return f"is set by the worker alone{instead}; remove it, or use another name"
    return None


def script_variable_problem(name: str) -> str | None:
    """The same for a variable of a script."""
    if _is_no_name(name):
        return _NO_NAME
    if name in _REFUSED_TO_SCRIPTS or name.startswith(_LOADER_PREFIXES):
        return "is set by the worker alone; remove it, or use another name"
    return None


def environment_problems(
    names: Iterable[str], problem_of: Callable[[str], str | None]
) -> list[str]:
    """The same for many: a sentence for each that cannot be set."""
    found = ((name, problem_of(name)) for name in names)
    return [f"env_vars.{name} {problem}" for name, problem in found if problem]


_NO_NAME = "is no name of an environment variable"


def _is_no_name(name: str) -> bool:
    return not name or "=" in name or "\0" in name
