"""JSON Schemas of all kinds of files, for editors; made from the models.

An editor finds the schema by a first line such as `#:schema ./schemas/action.json` (Taplo).
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Final

from pydantic import TypeAdapter

from apps.config.actions import Action, KubernetesContext, Runbook
from apps.config.app import AnySandbox
from apps.config.base import Model
from apps.config.components import Component
from apps.config.inputs import Input, InputGroup, Secret
from apps.config.policies import Policy
from apps.config.roles import NamedPolicy, Role
from apps.config.shape import shape
from apps.config.vendor import Branch, InstallConfig
from apps.reading.kinds import COMPONENTS, KINDS, SANDBOXES

_DIALECT = "http://json-schema.org/draft-07/schema#"
"""The dialect that most editors' validators use."""

SCHEMAS: Final[Mapping[str, Any]] = {
    **{name: kind.document for name, kind in KINDS.items() if kind.document is not None},
    "sandbox": AnySandbox,
    "component": Component,
    **COMPONENTS,
    "input": Input,
    "input_group": InputGroup,
    "secret": Secret,
    "role": Role,
    "named_policy": NamedPolicy,
    "policy": Policy,
    "action": Action,
    "runbook": Runbook,
    "kubernetes_context": KubernetesContext,
    "install": InstallConfig,
    "branch": Branch,
}
"""The models with a schema, by its name: single files, and the files of folders."""


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one kind; see `SCHEMAS`.

    Raises:
        KeyError: there is no such kind.
    """
    model = SCHEMAS[name]
    found = TypeAdapter(model).json_schema()
    definitions = found.get("$defs", {})
    for one in sorted(_models(), key=lambda one: one.__name__):
        own = definitions.get(one.__name__)
        if own is None and one is model:
            own = found
        if own is not None:
            _complete(own, one)
    found.pop("discriminator", None)
    return {"$schema": _DIALECT, **_plain(found), "title": name}


def _complete(table: dict[str, Any], model: type[Model]) -> None:
    """Adds what pydantic's schema lacks: what each key means, and that there are no other keys."""
    table["additionalProperties"] = False
    table["description"] = inspect.getdoc(model) or ""
    meanings = _meanings(model)
    for name, key in table.get("properties", {}).items():
        if name in meanings:
            key["description"] = meanings[name]


def _models() -> set[type[Model]]:
    """Every model that a schema may hold."""
    found: set[type[Model]] = set()
    waiting: list[type[Model]] = [
        *(kind.document for kind in KINDS.values() if kind.document is not None),
        *(kind.entity for kind in KINDS.values() if kind.entity is not None),
        *COMPONENTS.values(), *SANDBOXES.values(), NamedPolicy,
    ]  # fmt: skip
    while waiting:
        model = waiting.pop()
        if model not in found:
            found.add(model)
            waiting += [slot.inner for slot in shape(model).values() if slot.inner is not None]
    return found


@cache
def _meanings(model: type[Model]) -> Mapping[str, str]:
    """The docstrings below a model's fields, by field."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, Model) and base is not Model:
            found.update(_own_meanings(base))
    return found


def _own_meanings(model: type[Model]) -> Iterator[tuple[str, str]]:
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    for field, text in pairwise(body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(meaning))):
                yield name, inspect.cleandoc(meaning)


def _plain(part: Any) -> Any:
    """The schema as a person would write it for TOML, which has no null."""
    if isinstance(part, list):
        return [_plain(item) for item in part]
    if not isinstance(part, dict):
        return part
    found = {key: _plain(item) for key, item in part.items() if not _says_nothing(key, item)}
    choices = [one for one in found.get("anyOf", []) if one != {"type": "null"}]
    if len(choices) == 1:
        del found["anyOf"]
        found = {**choices[0], **found}
    if "$ref" in found and len(found) > 1:
        # Beside `$ref`, validators of this dialect read nothing.
        found = {"allOf": [{"$ref": found.pop("$ref")}], **found}
    return found


def _says_nothing(key: str, item: Any) -> bool:
    return (key == "title" and isinstance(item, str)) or (key == "default" and item is None)
