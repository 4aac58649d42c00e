"""Values of dynamic type, which Terraform stores together with their type."""

from collections.abc import Mapping

_TYPE_WORDS = frozenset({"string", "number", "bool", "dynamic"})


def plain(value: object) -> object:
    """The value itself, without the type that the state stores with it."""
    if isinstance(value, Mapping) and value.keys() == {"value", "type"}:
        kind = value["type"]
        if isinstance(kind, list) or kind in _TYPE_WORDS:
            return value["value"]
    return value
