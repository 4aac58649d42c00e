"""Checks the paths that templates read against what there will be when they are rendered."""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from apps.parts import SANDBOX
from apps.reading.entities import Names
from apps.spelling import did_you_mean
from apps.templates.state_fields import (
    COMPONENT_FIELDS,
    SANDBOX_FIELDS,
    TEMPLATE_ROOTS,
    UNSUPPORTED_INSTALL_FIELDS,
    UNSUPPORTED_TEMPLATE_ROOTS,
    WORKFLOW_FIELDS,
)

Path = tuple[str, ...]


@dataclass(frozen=True)
class Known:
    """The names that a config's templates can refer to."""

    components: Names
    inputs: Names
    actions: Names
    outputs: Mapping[str, Set[str]]
    """The outputs of each part; parts whose outputs are not known are left out."""
    lacks_sandbox: bool = False


def sandbox_reference_problem(path: Path, known: Known) -> str | None:
    """Why a path leads to nothing if the sandbox reads it, or None.

    The sandbox comes before everything else.
    """
    match path[1:]:
        case ("components" | "actions" | "sandbox", *_) | ("install",) | ("install", "sandbox", *_):
            return (
                f"`{_dotted(path)}` cannot be read by the sandbox, which comes before components "
                "and actions: it sees inputs, the install's id and name, the app and the org"
            )
    return reference_problem(path, known)


def reference_problem(path: Path, known: Known) -> str | None:  # noqa: PLR0911 - a table of cases
    """Why a path (which begins with `nuon`) leads to nothing, or None."""
    if path[0] != "nuon":
        return f"there is no `.{path[0]}`; paths begin with `.nuon`"
    if len(path) == 1:
        return "`.nuon` as a whole cannot be read; name a field, such as `.nuon.install.id`"
    root = path[1]
    if root in UNSUPPORTED_TEMPLATE_ROOTS:
        return f"`.nuon.{root}` is not supported yet"
    if root not in TEMPLATE_ROOTS:
        return _unknown(path[:2], TEMPLATE_ROOTS.keys())
    match path[1:]:
        case ("components", *rest):
            return _component(path, rest, known)
        case ("sandbox", *rest) | ("install", "sandbox", *rest):
            return _sandbox(path, rest, known)
        case ("install", field, *_) if field in UNSUPPORTED_INSTALL_FIELDS:
            return f"`{_dotted(path[:3])}` is not supported yet"
        case ("inputs" | "install", "inputs", name, *_) if known.inputs.lacks(name):
            return f"there is no input `{name}`{did_you_mean(name, known.inputs.known)}"
        case ("actions", "workflows", *rest):
            return _workflow(path, rest, known)
    fields = TEMPLATE_ROOTS[root]
    if fields is not None and len(path) > 2 and path[2] not in fields:
        return _unknown(path[:3], fields)
    return None


def _component(path: Path, rest: list[str], known: Known) -> str | None:
    if not rest:
        return "`.nuon.components` as a whole cannot be read; name a component"
    name = rest[0]
    if known.components.lacks(name):
        return f"there is no component `{name}`{did_you_mean(name, known.components.known)}"
    if len(rest) > 1 and rest[1] not in COMPONENT_FIELDS:
        return _unknown(path[:4], COMPONENT_FIELDS)
    if len(rest) > 2 and rest[1] == "outputs":
        outputs = known.outputs.get(name)
        if outputs is not None and rest[2] not in outputs:
            hint = did_you_mean(rest[2], outputs)
            return f"the module of component `{name}` has no output `{rest[2]}`{hint}"
    return None


def _sandbox(path: Path, rest: list[str], known: Known) -> str | None:
    if known.lacks_sandbox:
        return f"`{_dotted(path)}` leads to nothing: the app has no `sandbox.toml`"
    if rest and rest[0] not in SANDBOX_FIELDS:
        return _unknown(path[: len(path) - len(rest) + 1], SANDBOX_FIELDS)
    outputs = known.outputs.get(SANDBOX)
    if len(rest) > 1 and rest[0] == "outputs" and outputs is not None and rest[1] not in outputs:
        return f"the sandbox's module has no output `{rest[1]}`{did_you_mean(rest[1], outputs)}"
    return None


def _workflow(path: Path, rest: list[str], known: Known) -> str | None:
    if rest and known.actions.lacks(rest[0]):
        return f"there is no action `{rest[0]}`{did_you_mean(rest[0], known.actions.known)}"
    if len(rest) > 1 and rest[1] not in WORKFLOW_FIELDS:
        return _unknown(path[:5], WORKFLOW_FIELDS)
    return None


def _unknown(path: Path, fields: Set[str]) -> str:
    return f"there is no `{_dotted(path)}`{did_you_mean(path[-1], fields)}"


def _dotted(path: Path) -> str:
    return "".join(f".{name}" for name in path)
