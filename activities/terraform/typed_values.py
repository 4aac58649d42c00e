"""Values of any type, beside which Terraform keeps their type."""

from collections.abc import Mapping

_TYPE_WORDS = frozenset({"string", "number", "bool", "dynamic"})


def plain(value: object) -> object:
    """Without the type that the state keeps beside a value of any type."""
    if isinstance(value, Mapping) and value.keys() == {"value", "type"}:
        kind = value["type"]
        if isinstance(kind, list) or kind in _TYPE_WORDS:
            return value["value"]
    return value
