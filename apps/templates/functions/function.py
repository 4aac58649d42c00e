"""What a function is, and the types of its parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apps.templates.errors import FunctionError
from apps.templates.go_types import Int32, Int64, Map, StringMap, Uint64, type_of
from apps.templates.limits import check_walked


@dataclass(frozen=True)
class Function:
    """A function and how many arguments it takes."""

    call: Callable[..., object]
    """Raises `FunctionError` for arguments that it refuses."""
    least: int
    most: int | None
    """None means any number."""


@dataclass(frozen=True)
class Parameter:
    """A type of Go that an argument must have."""

    description: str
    accepts: Callable[[object], bool]
    nil: Callable[[], object] | None = None
    """What nil becomes; None means that nil is refused."""

    def checked(self, value: object, position: int) -> object:
        """The argument at a position, counted from 1.

        Raises:
            FunctionError: it is of another type.
        """
        if value is None and self.nil is not None:
            return self.nil()
        if not self.accepts(value):
            given = "nil" if value is None else type_of(value)
            raise FunctionError(f"argument {position} must be {self.description}, and is {given}")
        return value


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool | Int64 | Int32 | Uint64)


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping) and not isinstance(value, StringMap)


def _is_float(value: object) -> bool:
    # A whole number that stands in the template is a float64 where one is asked for.
    return isinstance(value, float) or _is_int(value)


def _is_walked(value: object) -> bool:
    if isinstance(value, str):
        check_walked(len(value))
    return isinstance(value, str)


ANY = Parameter("anything", lambda _: True, lambda: None)
STRING = Parameter("a string", lambda value: isinstance(value, str))
WALKED = Parameter("a string", _is_walked)
"""A string that is looked at character by character."""
INT = Parameter("an int", _is_int)
FLOAT = Parameter("a float64", _is_float)
BOOL = Parameter("a bool", lambda value: isinstance(value, bool))
MAP = Parameter("a map[string]interface {}", _is_map, Map)
SET_MAP = Parameter("a map[string]interface {}", _is_map)


def typed(
    call: Callable[..., object], *parameters: Parameter, rest: Parameter | None = None
) -> Function:
    """A function whose arguments are checked before it is called; `rest`: any number of those."""

    def checked(*given: object) -> object:
        arguments: list[object] = []
        for index, value in enumerate(given):
            parameter = parameters[index] if index < len(parameters) else rest
            if parameter is None:
                raise FunctionError(f"takes {len(parameters)} arguments, not {len(given)}")
            arguments.append(value if parameter is ANY else parameter.checked(value, index + 1))
        if len(arguments) < len(parameters):
            raise FunctionError(f"needs {len(parameters)} arguments, not {len(given)}")
        return call(*arguments)

    return Function(checked, len(parameters), None if rest else len(parameters))
