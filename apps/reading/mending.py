"""Makes a table fit its model by replacing what is wrong with it, so that the rest can be checked.

A wrong key is reported once. Without this, its whole table would be left out of all later checks,
and their problems would only be seen after the first one was fixed.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from apps.config.base import Model
from apps.config.shape import shape

M = TypeVar("M", bound=Model)
Place = tuple[int | str, ...]

_ROUNDS: Final = 4
_MANY: Final = 100
_NUMBERS: Final = count(1)
_TEXTS: Final = ("1.0.0", "v2", "aws", "nuon::sandbox", ".", "1m")


@dataclass(frozen=True)
class Replaced:
    """A key whose value was replaced."""

    place: Place
    by_any: bool
    """The model requires a value, so it got any that fits; what it means for the other keys of its
    table is not known."""


def mended(
    model: type[M], table: Mapping[str, Any], errors: Sequence[Any]
) -> tuple[M, list[Replaced]] | None:
    """The model of the table without what is wrong in it; None if too much is wrong."""
    mending = copy.deepcopy(dict(table))
    replaced: list[Replaced] = []
    for _ in range(_ROUNDS):
        for error in errors[:_MANY]:
            one = _replace(model, mending, error)
            if one is None:
                return None
            replaced.append(one)
        try:
            return model.model_validate(mending), replaced
        except ValidationError as error:
            errors = error.errors(include_url=False)
    return None


def _replace(model: type[Model], table: dict[str, Any], error: Any) -> Replaced | None:
    """Replaces one wrong value."""
    place: Place = error["loc"]
    # The type decides what the other keys of an entity mean.
    if not place or place == ("type",):
        return None
    inside: type[Model] | None = model
    at: Any = table
    for index, step in enumerate(place):
        field = inside.model_fields.get(str(step)) if inside else None
        is_last = index == len(place) - 1
        below = _item(at, step)
        if is_last or not isinstance(below, dict | list):
            return Replaced(place[: index + 1], _put(at, step, field, inside))
        slot = shape(inside).get(str(step)) if inside and field else None
        inside = (slot.inner if slot else None) if field else inside
        at = below
    return None


def _item(at: Any, step: int | str) -> Any:
    if isinstance(at, list):
        return at[step] if isinstance(step, int) and step < len(at) else None
    return at.get(step)


def _put(at: Any, step: Any, field: FieldInfo | None, inside: type[Model] | None) -> bool:
    """Replaces a value, or removes it if that is allowed; whether it got any value that fits."""
    if field is not None and inside is not None:
        if field.is_required():
            at[step] = _any(inside, str(step))
            return True
        at.pop(step, None)
        return False
    if isinstance(at, list) and inside is not None:
        at[step] = _table(inside)
        return True
    at[step] = ""
    return False


def _table(model: type[Model]) -> dict[str, Any]:
    fields = model.model_fields.items()
    return {name: _any(model, name) for name, field in fields if field.is_required()}


def _any(model: type[Model], name: str) -> Any:
    """Any value that the key may have."""
    field = model.model_fields[name]
    adapter = TypeAdapter[Any](field.rebuild_annotation())
    for value in _candidates(model, name, field):
        try:
            adapter.validate_python(value)
        except ValidationError:
            continue
        return value
    return None


def _candidates(model: type[Model], name: str, field: FieldInfo) -> Iterator[Any]:
    if get_origin(field.annotation) is Literal:
        yield from get_args(field.annotation)
    # No two entities get the same name.
    yield f"unnamed_{next(_NUMBERS)}"
    yield from _TEXTS
    slot = shape(model)[name]
    if slot.inner is not None:
        table = _table(slot.inner)
        yield from (table, [table])
    yield from ({}, [], 0, False)
