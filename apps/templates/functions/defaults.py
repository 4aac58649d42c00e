"""sprig's functions that choose a value, and those that name its type."""

from collections.abc import Mapping

from apps.templates.errors import FunctionError
from apps.templates.functions.equality import deep_equal
from apps.templates.functions.function import ANY, BOOL, STRING, Function, typed
from apps.templates.go_types import is_empty, kind_of, type_of


def _default(fallback: object, *given: object) -> object:
    """`fallback` if the given value is empty."""
    return fallback if not given or is_empty(given[0]) else given[0]


def _coalesce(*values: object) -> object:
    return next((value for value in values if not is_empty(value)), None)


def _ternary(if_true: object, if_false: object, condition: bool) -> object:
    return if_true if condition else if_false


def _fail(message: str) -> str:
    raise FunctionError(message)


def _type_is_like(name: str, value: object) -> bool:
    known = type_of(value)
    return known in (name, f"*{name}")


FUNCTIONS: Mapping[str, Function] = {
    "default": typed(_default, ANY, rest=ANY),
    "empty": typed(is_empty, ANY),
    "coalesce": typed(_coalesce, rest=ANY),
    "all": typed(lambda *values: not any(map(is_empty, values)), rest=ANY),
    "any": typed(lambda *values: not all(map(is_empty, values)), rest=ANY),
    "ternary": typed(_ternary, ANY, ANY, BOOL),
    "fail": typed(_fail, STRING),
    "typeOf": typed(type_of, ANY),
    "typeIs": typed(lambda name, value: name == type_of(value), STRING, ANY),
    "typeIsLike": typed(_type_is_like, STRING, ANY),
    "kindOf": typed(kind_of, ANY),
    "kindIs": typed(lambda name, value: name == kind_of(value), STRING, ANY),
    "deepEqual": typed(deep_equal, ANY, ANY),
}
