"""The functions that text/template has by itself."""

from collections.abc import Mapping

from apps.templates.errors import FunctionError
from apps.templates.functions.function import ANY, STRING, Function, typed
from apps.templates.functions.printf import sprintf
from apps.templates.go_types import StringMap, encoded, is_list, is_nil, items_of, type_of
from apps.templates.limits import check_text, check_walked
from apps.templates.printing import printed


def truth(value: object) -> bool:
    """Whether a value is true for `if`, `and`, `or` and `not`: it is not empty."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, int | float):
        return value != 0
    if isinstance(value, str | Mapping | list | tuple):
        return len(value) > 0
    return True


def _length(value: object) -> int:
    if isinstance(value, str):
        return len(encoded(value))
    if isinstance(value, Mapping) or is_list(value):
        return len(value)  # type: ignore[arg-type]
    raise FunctionError(f"{_named(value)} has no length")


def _named(value: object) -> str:
    return "nil" if value is None else f"a {type_of(value)}"


def index(of: object, *indices: object) -> object:
    """An item of an item of … a list, string or map; a key that a map lacks gives nil.

    Raises:
        FunctionError: an index is out of range, or of the wrong type.
    """
    if of is None:
        raise FunctionError("nil has no items")
    found = of
    for at in indices:
        found = _indexed(found, at)
    return found


def _indexed(of: object, at: object) -> object:
    if isinstance(of, str):
        data = encoded(of)
        return data[_position(at, len(data))]
    items = items_of(of)
    if items is not None:
        return items[_position(at, len(items))]
    if isinstance(of, Mapping):
        if not isinstance(at, str):
            raise FunctionError(f"the key of a map must be a string, not {_named(at)}")
        return of.get(at, "" if isinstance(of, StringMap) else None)
    raise FunctionError(f"{_named(of)} has no items")


def _position(at: object, length: int) -> int:
    if isinstance(at, bool) or not isinstance(at, int):
        raise FunctionError(f"the index must be a whole number, not {_named(at)}")
    if not 0 <= at < length:
        raise FunctionError(f"there is no item {at}: there are {length}, counted from 0")
    return int(at)


def _print(*values: object) -> str:
    """Values are separated by a space if neither of them is a string."""
    parts: list[str] = []
    for at, value in enumerate(values):
        if at and not isinstance(value, str) and not isinstance(values[at - 1], str):
            parts.append(" ")
        parts.append(printed(value))
    return _checked("".join(parts))


def _println(*values: object) -> str:
    return _checked(" ".join(map(printed, values)) + "\n")


def _evaluated(values: tuple[object, ...]) -> str:
    return _print(*("<no value>" if value is None else value for value in values))


def _checked(text: str) -> str:
    check_text(len(text))
    return text


_HTML = str.maketrans(
    {'"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;", "\0": "\ufffd"}
)
_JS = {
    "\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026",
    "=": "\\u003D",
}  # fmt: skip


def _html(*values: object) -> str:
    return _checked(_evaluated(values).translate(_HTML))


def _js(*values: object) -> str:
    text = _evaluated(values)
    check_walked(len(text))
    return _checked("".join(map(_js_char, text)))


def _js_char(char: str) -> str:
    if char in _JS:
        return _JS[char]
    if char < " ":
        return f"\\u{ord(char):04X}"
    if char.isascii() or char.isprintable():
        return char
    return f"\\u{ord(char):04X}"


def _urlquery(*values: object) -> str:
    from urllib.parse import quote_plus  # noqa: PLC0415 - few templates need it

    return _checked(quote_plus(encoded(_evaluated(values)), safe="~"))


def _basic(value: object) -> str | None:
    """What a value can be compared as, or None."""
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case str():
            return "string"
    return None


def equal(first: object, *others: object) -> bool:
    """Whether the first value equals any of the others.

    Raises:
        FunctionError: they are of types that cannot be compared.
    """
    return any(_equal(first, other) for other in others)


def _equal(first: object, other: object) -> bool:
    kind = _basic(first)
    if kind != _basic(other):
        if first is not None and other is not None:
            raise _incompatible(first, other)
        return False
    if kind is not None:
        return first == other
    if first is None or other is None or is_nil(first) or is_nil(other):
        return is_nil(first) == is_nil(other)
    raise FunctionError(f"{_named(first)} and {_named(other)} cannot be compared; use `deepEqual`")


def _incompatible(first: object, other: object) -> FunctionError:
    return FunctionError(f"{_named(first)} and {_named(other)} cannot be compared")


def less(first: object, other: object) -> bool:
    """Whether the first value is less than the other.

    Raises:
        FunctionError: they have no order.
    """
    kind = _basic(first)
    if kind != _basic(other) or kind is None or kind == "bool":
        raise _incompatible(first, other)
    if isinstance(first, str) and isinstance(other, str):
        return encoded(first) < encoded(other)
    return first < other  # type: ignore[operator,no-any-return]


def _less_or_equal(first: object, other: object) -> bool:
    return less(first, other) or _equal(first, other)


FUNCTIONS: Mapping[str, Function] = {
    # The evaluator stops at the first argument that decides, and never calls these two.
    "and": typed(lambda *values: next((v for v in values if not truth(v)), values[-1]),
                 ANY, rest=ANY),
    "or": typed(lambda *values: next((v for v in values if truth(v)), values[-1]), ANY, rest=ANY),
    "not": typed(lambda value: not truth(value), ANY),
    "len": typed(_length, ANY),
    "index": typed(index, ANY, rest=ANY),
    "print": typed(_print, rest=ANY),
    "printf": typed(sprintf, STRING, rest=ANY),
    "println": typed(_println, rest=ANY),
    "html": typed(_html, rest=ANY),
    "js": typed(_js, rest=ANY),
    "urlquery": typed(_urlquery, rest=ANY),
    "eq": typed(equal, ANY, ANY, rest=ANY),
    "ne": typed(lambda first, other: not _equal(first, other), ANY, ANY),
    "lt": typed(less, ANY, ANY),
    "le": typed(_less_or_equal, ANY, ANY),
    "gt": typed(lambda first, other: not _less_or_equal(first, other), ANY, ANY),
    "ge": typed(lambda first, other: not less(first, other), ANY, ANY),
}  # fmt: skip
