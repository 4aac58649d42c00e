"""Evaluates the expressions of a template, as Go's text/template does, within a number of steps.

Values are those of JSON. The data itself never changes: functions get copies of it, and a template
can change only what it made itself, as with `set`.
"""

from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from apps.sensitivity import Sensitive
from apps.templates.errors import FunctionError, TemplateError
from apps.templates.functions import FUNCTIONS, truth
from apps.templates.go_types import List, Map, Opaque
from apps.templates.tree import (
    Call,
    Chain,
    Expression,
    Field,
    Literal,
    Pipeline,
    Position,
    Variable,
)

MAX_STEPS = 500_000
"""Nodes and calls: this many take seconds, and no config needs as many."""
_MADE_IN_A_STEP = 64
"""Characters or items."""


class Values:
    """The values of expressions, from the data and the variables."""

    def __init__(self, data: Mapping[str, object]) -> None:
        self._variables: list[tuple[str, object]] = [("", data)]
        self._data = data
        self._steps = 0
        self.sensitive = False
        """Whether anything that was read so far is sensitive."""
        self._marks_read = 0

    def value(self, expression: Expression, dot: object) -> object:
        """The value of an expression; values inside of it may still have marks."""
        match expression:
            case Field():
                return self._walk(dot, expression.path, "", expression.position)
            case Literal():
                return expression.value
            case Call():
                return self._call(expression, dot, ())
            case Variable():
                start, name = self._variable(expression.name), f"${expression.name}"
                return self._walk(start, expression.path, name, expression.position)
            case Chain():
                start, at = self.value(expression.of, dot), f"({expression.of})"
                return self._walk(start, expression.path, at, expression.position)
            case Pipeline():
                value = self.value(expression.first, dot)
                for stage in expression.stages:
                    value = self._call(stage, dot, (value,))
                return value

    def plain(self, value: object) -> object:
        """The value in the types of JSON, without marks at any depth."""
        if isinstance(value, Sensitive):
            return self.plain(self._top(value))
        if isinstance(value, Mapping):
            return {key: self.plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(item) for item in value]
        return value

    def _call(self, call: Call, dot: object, piped: tuple[object, ...]) -> object:
        self._step(call.position)
        if call.function in _SHORT_CIRCUIT:
            return self._first_that(call, dot, piped)
        given = [*(self.value(argument, dot) for argument in call.arguments), *piped]
        walk = _WALKS.get(call.function)
        try:
            if walk is not None:
                return walk(self, [self._top(value) for value in given])
            result = FUNCTIONS[call.function].call(*(self._own(value) for value in given))
            self._spend(result, call.position)
            return result
        except FunctionError as error:
            # The function's own message may quote what was read.
            reason = "it cannot take its arguments" if self.sensitive else str(error)
            fail(f"`{call.function}`: {reason}", call.position)

    def _first_that(self, call: Call, dot: object, piped: tuple[object, ...]) -> object:
        """`and` and `or`, which evaluate only as many arguments as they need."""
        ends_at = call.function == "or"
        value: object = None
        for argument in call.arguments:
            value = self._top(self.value(argument, dot))
            if truth(value) is ends_at:
                return value
        return self._top(piped[0]) if piped else value

    def index(self, given: list[object]) -> object:
        """Go's `index`, which reads only what is on its path."""
        value, *keys = given
        for key in keys:
            value = self._top(FUNCTIONS["index"].call(value, key))
        return value

    def dig(self, given: list[object]) -> object:
        """Sprig's `dig "a" "b" default map`, which reads only what is on its path."""
        *keys, default, value = given
        for key in keys:
            if not isinstance(value, Mapping):
                raise FunctionError(f"takes maps; what holds `{key}` is {kind_of(value)}")
            if not isinstance(key, str):
                raise FunctionError(f"takes names of keys; one is {kind_of(key)}")
            if key not in value:
                return default
            value = self._top(value[key])
        return value

    def _variable(self, name: str) -> object:
        return next(value for known, value in reversed(self._variables) if known == name)

    def _assign(self, pipeline: Pipeline, name: str, value: object) -> None:
        if not pipeline.assigns:
            self._variables.append((name, value))
            return
        for index in range(len(self._variables) - 1, -1, -1):
            if self._variables[index][0] == name:
                self._variables[index] = (name, value)
                return

    def _walk(
        self, start: object, path: tuple[str, ...], prefix: str, position: Position
    ) -> object:
        value = start if type(start) is not Sensitive else self._top(start)
        for index, name in enumerate(path):
            if isinstance(value, Opaque):
                value = _method(value, name, position)
                continue
            if not isinstance(value, Mapping):
                before = _dotted(path[:index], prefix) or "."
                _fail_at(path, prefix, f"`{before}` is {kind_of(value)}, not a map", position)
            if name not in value:
                is_data = value is self._data
                parent = "the data" if is_data else f"`{_dotted(path[:index], prefix) or '.'}`"
                _fail_at(path, prefix, f"{parent} has no `{name}`", position)
            value = value[name]
            if type(value) is Sensitive:
                value = self._top(value)
        return value

    def _top(self, value: object) -> object:
        """The value without its own mark; values inside of it keep theirs."""
        while isinstance(value, Sensitive):
            self.sensitive = True
            self._marks_read += 1
            value = value.value
        return value

    def _marked_since(self, marks_read: int, value: object) -> object:
        """The value, marked if anything sensitive was read to make it."""
        return Sensitive(value) if self._marks_read > marks_read else value

    def _own(self, value: object) -> object:
        """The value without marks at any depth; a copy, unless the template made it itself."""
        if isinstance(value, Sensitive):
            return self._own(self._top(value))
        if type(value) is dict:
            return Map({key: self._own(item) for key, item in value.items()})
        if type(value) is list or isinstance(value, tuple):
            return List(self._own(item) for item in value)
        return value

    def _spend(self, result: object, position: Position) -> None:
        """Counts what was made as steps as well, since many large values also take long."""
        if isinstance(result, str | Mapping | list):
            self._step(position, len(result) // _MADE_IN_A_STEP)

    def _step(self, position: Position, more: int = 0) -> None:
        self._steps += 1 + more
        if self._steps > MAX_STEPS:
            fail(f"it does not end within {MAX_STEPS} steps", position)


_SHORT_CIRCUIT: Final = frozenset(("and", "or"))

_Walk = Callable[[Values, list[object]], object]


def _shallow(name: str) -> _Walk:
    return lambda _, given: FUNCTIONS[name].call(*given)


_WALKS: Final[Mapping[str, _Walk]] = {
    "index": Values.index,
    "dig": Values.dig,
    **{name: _shallow(name) for name in ("get", "hasKey", "len", "keys")},
}
"""Functions that do not look at everything below their arguments."""


def _method(value: Opaque, name: str, position: Position) -> object:
    try:
        return value.field(name)
    except FunctionError as error:
        fail(str(error), position)


def fail(message: str, position: Position) -> NoReturn:
    """Raises a TemplateError at the position."""
    raise TemplateError(message, position.line, position.column)


def _fail_at(path: tuple[str, ...], prefix: str, reason: str, position: Position) -> NoReturn:
    fail(f"`{_dotted(path, prefix)}` leads to nothing: {reason}", position)


def _dotted(path: tuple[str, ...], prefix: str) -> str:
    return prefix + "".join(f".{name}" for name in path)


def kind_of(value: object) -> str:  # noqa: PLR0911 - a table of cases
    """The type of a value in words: messages never show the value itself."""
    match value:
        case None:
            return "null"
        case bool():
            return "a bool"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "a list"
        case Mapping():
            return "a map"
        case _:
            return f"a {type(value).__name__}"
