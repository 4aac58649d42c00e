"""The Go types of template values that have no counterpart in Python.

Go's nil is None, bool is bool, int is int, float64 is float, string is str, `[]interface {}` is
list, and `map[string]interface {}` is dict. Some functions return the types here instead, and
templates see the difference: `int64` is not accepted where `int` is wanted.

Go's strings are bytes. A byte that is not valid UTF-8 becomes a surrogate in a str, as with
Python's `surrogateescape`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar


class Map(dict[str, object]):
    """A `map[string]interface {}` made by a template; data is a plain dict, and never changed."""


class List(list[object]):
    """An `[]interface {}` made by a template."""


class Int64(int):
    """An `int64`, such as sprig's arithmetic gives."""


class Int32(int):
    """An `int32`: what a character constant is."""


class Uint64(int):
    """A `uint64`, such as the parts of a semantic version."""


class Strings(list[str]):
    """A `[]string`."""


class Ints(list[int]):
    """An `[]int`."""


class Lists(list[List]):
    """A `[][]interface {}`."""


class NilList(List):
    """An `[]interface {}` that is nil: it is empty, and null as JSON."""


class NilStrings(Strings):
    """A `[]string` that is nil."""


class StringMap(dict[str, str]):
    """A `map[string]string`."""


class Opaque(ABC):
    """A value of a type with its own methods; it prints as its `str()`, also in JSON."""

    type_name: ClassVar[str]
    kind: ClassVar[str]

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def field(self, name: str) -> object:
        """The result of a method without arguments, as in `(semver "1.2.3").Major`.

        Raises:
            FunctionError: there is no such method.
        """

    def json_text(self) -> str:
        """Its JSON form, as a string."""
        return str(self)


_TYPES: tuple[tuple[type, str, str], ...] = (
    (bool, "bool", "bool"),
    (Int64, "int64", "int64"),
    (Int32, "int32", "int32"),
    (Uint64, "uint64", "uint64"),
    (int, "int", "int"),
    (float, "float64", "float64"),
    (str, "string", "string"),
    (Strings, "[]string", "slice"),
    (Ints, "[]int", "slice"),
    (Lists, "[][]interface {}", "slice"),
    (list, "[]interface {}", "slice"),
    (tuple, "[]interface {}", "slice"),
    (StringMap, "map[string]string", "map"),
    (Mapping, "map[string]interface {}", "map"),
)


def type_of(value: object) -> str:
    """The name of a value's type, as Go's `%T` prints it."""
    if value is None:
        return "<nil>"
    if isinstance(value, Opaque):
        return value.type_name
    return next((name for known, name, _ in _TYPES if isinstance(value, known)), "unknown")


def kind_of(value: object) -> str:
    """The kind of a value, as Go's reflection names it."""
    if value is None:
        return "invalid"
    if isinstance(value, Opaque):
        return value.kind
    return next((kind for known, _, kind in _TYPES if isinstance(value, known)), "invalid")


def is_list(value: object) -> bool:
    """Whether a value is a slice."""
    return isinstance(value, list | tuple)


def items_of(value: object) -> Sequence[object] | None:
    """The items of a slice, or None for anything else."""
    return value if isinstance(value, list | tuple) else None


def is_nil(value: object) -> bool:
    """Whether a value is nil, alone or of its type."""
    return value is None or isinstance(value, NilList | NilStrings)


def is_empty(value: object) -> bool:
    """Whether a value is the zero value of its type, or has no items."""
    # Written out, since Python's truth differs for other types.
    if value is None or value is False:
        return True
    if isinstance(value, int | float):
        return value == 0
    return isinstance(value, str | Mapping | list | tuple) and len(value) == 0


def encoded(text: str) -> bytes:
    """The bytes of a string of Go."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # JSON can have half a surrogate pair; Go's decoder replaces it.
        return "".join(_REPLACEMENT if _is_half(char) else char for char in text).encode(
            "utf-8", "surrogateescape"
        )


def decoded(data: bytes) -> str:
    """Bytes as a Go string."""
    return data.decode("utf-8", "surrogateescape")


def int64(value: int) -> int:
    """A number wrapped to 64 bits."""
    return (value + 2**63) % 2**64 - 2**63


_REPLACEMENT = "\ufffd"


def _is_half(char: str) -> bool:
    # U+DC80 to U+DCFF stand for bytes.
    return "\ud800" <= char <= "\udfff" and not "\udc80" <= char <= "\udcff"
