"""Which environment variables an app config may set, for a component's tool or an action's step.

Some names decide how the tool works rather than what it works on: with `TF_WORKSPACE`, for example,
Terraform would keep its state outside the install's store. The loader refuses them, and so does the
worker: what it gets was built by any version.
"""

from collections.abc import Iterable

_FREE_PREFIX = "TF_VAR_"
_REFUSED_PREFIXES = ("TF_", "LD_", "DYLD_")
_REFUSED = frozenset({
    "PATH", "HOME", "TERRAFORM_CONFIG", "CHECKPOINT_DISABLE",
    "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE",
    "NUON_ORG_ID", "NUON_APP_ID", "NUON_INSTALL_ID", "TRIGGER_TYPE",
    "NUON_ACTIONS_ROOT", "NUON_ACTIONS_OUTPUT_FILEPATH",
})  # fmt: skip


def environment_problem(name: str) -> str | None:
    """Why the variable cannot be set, and what to do instead; None if it can."""
    if not name or "=" in name or "\0" in name:
        return "is no name of an environment variable"
    if name.startswith(_FREE_PREFIX):
        return None
    # Proxies are read in lower case too.
    if name.upper() in _REFUSED or name.startswith(_REFUSED_PREFIXES):
        instead = " (of TF_*, only TF_VAR_<variable>)" if name.startswith("TF_") else ""
        return f"is set by the worker alone{instead}; remove it, or use another name"
    return None


def environment_problems(names: Iterable[str]) -> list[str]:
    """The same for many: a sentence for each that cannot be set."""
    found = ((name, environment_problem(name)) for name in names)
    return [f"env_vars.{name} {problem}" for name, problem in found if problem]
