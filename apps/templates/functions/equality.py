"""When values are deeply equal, as Go's `reflect.DeepEqual` has it."""

from collections.abc import Hashable, Mapping

from apps.templates.go_types import Opaque, is_nil, type_of
from apps.templates.limits import Budget


def deep_equal(first: object, second: object) -> bool:
    """Whether two values have the same type and content.

    Raises:
        FunctionError: they are too large, or too deep.
    """
    return identity(first) == identity(second)


def identity(value: object) -> Hashable:
    """A key that is equal for deeply equal values.

    Raises:
        FunctionError: the value is too large, or too deep.
    """
    return _identity(value, Budget(), 0)


def _identity(value: object, budget: Budget, depth: int) -> Hashable:
    kind = type_of(value)
    match value:
        case Mapping():
            budget.visit(len(value), depth)
            return kind, frozenset(
                (key, _identity(item, budget, depth + 1)) for key, item in value.items()
            )
        case list() | tuple():
            budget.visit(len(value), depth)
            items = tuple(_identity(item, budget, depth + 1) for item in value)
            return kind, is_nil(value), items
        case float() if value != value:  # noqa: PLR0124 - what is not a number equals nothing
            return object()
        case Opaque():
            return kind, str(value)
    return kind, value
