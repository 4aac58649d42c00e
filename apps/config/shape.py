"""What the models say about a table: its keys, what is below each, and how strings are marked.

The loader and the graph walk configs by it, so that a new field needs only a line in its model.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

from apps.config.base import Mark, Model
from apps.keys import below

Form = Literal["one", "list", "map"]


@dataclass(frozen=True)
class Slot:
    """What a key holds."""

    marks: frozenset[Mark]
    inner: type[Model] | None
    """The model of the table below it, if it has one."""
    form: Form
    """Whether there is one such table, a list of them, or one for each name."""


@cache
def shape(model: type[Model]) -> Mapping[str, Slot]:
    """The keys of a model's table, in order."""
    found: dict[str, Slot] = {}
    for name, field in model.model_fields.items():
        marks = {item for item in field.metadata if isinstance(item, Mark)}
        inner: list[type[Model]] = []
        form = _look_into(field.annotation, marks, inner)
        found[name] = Slot(frozenset(marks), inner[0] if inner else None, form)
    return found


def inner_tables(value: object, slot: Slot, at: str) -> Iterator[tuple[str, Any]]:
    """Each table (of TOML, or as a model) below a key, with its path; other values are skipped."""
    if not value:
        # An empty table counts; most keys are simply absent.
        if value == {} and slot.form == "one":
            yield at, value
        return
    match slot.form:
        case "one":
            items: list[tuple[str, Any]] = [(at, value)]
        case "list":
            listed = value if isinstance(value, list) else []
            items = [(below(at, index), item) for index, item in enumerate(listed)]
        case "map":
            named = value if isinstance(value, Mapping) else {}
            items = [(below(at, str(name)), item) for name, item in named.items()]
    yield from ((place, item) for place, item in items if isinstance(item, dict | Model))


def templates(model: Model, at: str = "") -> Iterator[tuple[str, str]]:
    """Each string of a model that is a template, with the path of its key."""
    for name, slot in shape(type(model)).items():
        is_template = Mark.TEMPLATE in slot.marks
        if not is_template and slot.inner is None:
            continue
        value = getattr(model, name)
        if not value:
            continue
        place = below(at, name)
        if is_template:
            yield from strings(value, place)
        else:
            for key, table in inner_tables(value, slot, place):
                yield from templates(table, key)


def degrades(model: Model, key: str) -> bool:
    """Whether the template at one of the model's own keys is rendered as far as possible."""
    slot = shape(type(model)).get(key)
    return slot is not None and Mark.DEGRADES in slot.marks


def strings(value: object, at: str) -> Iterator[tuple[str, str]]:
    """Each string of a TOML value, at any depth, with its path."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from strings(item, below(at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from strings(item, below(at, index))


def _look_into(annotation: Any, marks: set[Mark], inner: list[type[Model]]) -> Form:
    """Collects the marks and models of an annotation."""
    marks.update(item for item in getattr(annotation, "__metadata__", ()) if isinstance(item, Mark))
    if isinstance(annotation, type) and issubclass(annotation, Model):
        inner.append(annotation)
        return "one"
    forms: dict[Any, Form] = {list: "list", dict: "map"}
    form = forms.get(get_origin(annotation), "one")
    for argument in get_args(annotation):
        below_it = _look_into(argument, marks, inner)
        form = below_it if form == "one" else form
    return form
