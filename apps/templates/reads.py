"""Finds what a template may read from its data, also through variables, `with`, `range`, `index`,
`get` and `dig`.

It looks at every branch, so it finds what a template could read, not what it will. If the rest of a
path is known only when it is rendered, everything below the known part counts as read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from apps.templates.tree import (
    Action,
    Call,
    Chain,
    Expression,
    Field,
    If,
    Invoke,
    Literal,
    Nodes,
    Pipeline,
    Position,
    Range,
    Variable,
    With,
)

Path = tuple[str, ...]

_ALIASES: Final = {"exclave": "nuon"}
_MOST_ORIGINS = 32
"""A value that may come from more places than this counts as read at all of them."""


@dataclass(frozen=True)
class Read:
    """A path in the data that a template may read."""

    path: Path
    required: bool
    """It is an error if it leads to nothing."""
    whole: bool
    """Its whole value matters, not only whether it is empty or which keys it has."""
    position: Position = field(compare=False)
    """The first place at which it is read."""


@dataclass(frozen=True)
class _Place:
    """Where in the data a value may come from."""

    path: Path
    exact: bool = True
    """It is the value at the path; otherwise something below it."""
    required: bool = True


_Value = frozenset[_Place]
"""Where a value may come from; nowhere if it was made by the template."""
_NOWHERE: Final[_Value] = frozenset()


def reads(nodes: Nodes, definitions: Mapping[str, Nodes]) -> tuple[Read, ...]:
    """Each path that a template may read, once, in order of its path.

    Args:
        nodes: The tree of the template.
        definitions: The templates that it defines, by name.
    """
    analysis = _Analysis(definitions)
    data = frozenset({_Place(())})
    analysis.variables[""] = data
    analysis.nodes(nodes, data)
    return tuple(sorted(analysis.found.values(), key=lambda read: read.path))


class _Analysis:
    def __init__(self, definitions: Mapping[str, Nodes]) -> None:
        self._definitions = definitions
        self._invoked: set[tuple[str, _Value]] = set()
        self._entered: set[str] = set()
        self._probed: set[Path] = set()
        self.variables: dict[str, _Value] = {}
        self.found: dict[Path, Read] = {}

    def nodes(self, nodes: Nodes, dot: _Value) -> None:
        for node in nodes:
            match node:
                case Action():
                    self._action(node, dot)
                case If() | With():
                    self._branches(node, dot)
                case Range():
                    self._range(node, dot)
                case Invoke():
                    self._invoke(node, dot)

    def _action(self, node: Action, dot: _Value) -> None:
        value = self._value(node.pipeline, dot)
        if node.pipeline.names:
            self._assign(node.pipeline, value)
        else:
            self._read(value, node.pipeline.position)

    def _branches(self, node: If | With, dot: _Value) -> None:
        probed = set(self._probed)
        for branch in node.branches:
            value = self._value(branch.condition, dot)
            self._read(value, branch.condition.position, whole=_is_compared(branch.condition))
            self._assign(branch.condition, value)
            self.nodes(branch.body, value if isinstance(node, With) else dot)
        self.nodes(node.otherwise or (), dot)
        self._probed = probed

    def _range(self, node: Range, dot: _Value) -> None:
        over = self._value(node.over, dot)
        self._read(over, node.over.position)
        element = frozenset(_Place(place.path, False, place.required) for place in over)
        # The next iteration may read what this one assigns: repeat until nothing changes.
        before: dict[str, _Value] | None = None
        while before != self.variables:
            before = dict(self.variables)
            self._assign(node.over, element)
            self.nodes(node.body, element)
        self.nodes(node.otherwise or (), dot)

    def _invoke(self, node: Invoke, dot: _Value) -> None:
        argument = self._value(node.argument, dot) if node.argument is not None else _NOWHERE
        key = (node.name, argument)
        if key in self._invoked or node.name not in self._definitions:
            return
        self._invoked.add(key)
        if node.name in self._entered:
            # It invokes itself with something new each time, and all of that counts.
            self._read(argument, node.position)
            return
        self._entered.add(node.name)
        outer, self.variables = self.variables, {"": argument}
        self.nodes(self._definitions[node.name], argument)
        self.variables = outer
        self._entered.discard(node.name)

    def _assign(self, pipeline: Pipeline, value: _Value) -> None:
        for name in pipeline.names:
            # The branch or iteration may not run, so the value from before stays possible.
            before = self.variables.get(name, _NOWHERE) if pipeline.assigns else _NOWHERE
            self.variables[name] = self._bounded(before | value, pipeline.position)

    def _value(self, expression: Expression, dot: _Value) -> _Value:
        match expression:
            case Field():
                return self._below(dot, expression.path)
            case Variable():
                start = self.variables.get(expression.name, _NOWHERE)
                return self._below(start, expression.path)
            case Chain():
                return self._below(self._value(expression.of, dot), expression.path)
            case Call():
                return self._call(expression, dot, ())
            case Pipeline():
                value = self._value(expression.first, dot)
                last: Expression = expression.first
                for stage in expression.stages:
                    value = self._call(stage, dot, ((last, value),))
                    last = stage
                return value
            case Literal():
                return _NOWHERE

    def _call(
        self, call: Call, dot: _Value, piped: tuple[tuple[Expression, _Value], ...]
    ) -> _Value:
        arguments = [*((one, self._value(one, dot)) for one in call.arguments), *piped]
        values = [value for _, value in arguments]
        literals = [one.value if isinstance(one, Literal) else None for one, _ in arguments]
        match call.function:
            case "index" if values:
                return self._indexed(values, literals, call.position)
            case "get" | "hasKey" if len(values) == 2:
                return self._looked_up(call, values, literals)
            case "dig" if len(values) > 2:
                self._read(values[-2], call.position)
                return self._dug(values[-1], literals[:-2], call.position) | values[-2]
            case "len" | "keys" if values:
                self._read(frozenset().union(*values), call.position, whole=False)
                return _NOWHERE
            case "default" | "coalesce" | "ternary" | "and" | "or":
                # The result is one of them; it counts as read where it is used.
                for value in values:
                    self._read(value, call.position, whole=False)
                return self._bounded(frozenset().union(*values), call.position)
        for value in values:
            self._read(value, call.position)
        return _NOWHERE

    def _indexed(
        self, values: list[_Value], literals: Sequence[object], position: Position
    ) -> _Value:
        value = values[0]
        for key, literal in zip(values[1:], literals[1:], strict=True):
            self._read(key, position)
            value = self._step(value, literal, position)
        return value

    def _looked_up(self, call: Call, values: list[_Value], literals: Sequence[object]) -> _Value:
        self._read(values[1], call.position)
        value = self._step(_optional(values[0]), literals[1], call.position)
        if call.function == "hasKey":
            self._probed.update(place.path for place in value if place.exact)
            self._read(value, call.position, whole=False)
            return _NOWHERE
        return value

    def _dug(self, value: _Value, keys: Iterable[object], position: Position) -> _Value:
        value = _optional(value)
        for key in keys:
            value = self._step(value, key, position)
        return value

    def _step(self, value: _Value, key: object, position: Position) -> _Value:
        """The value below another one, by a key that may not be known."""
        if isinstance(key, str):
            return self._below(value, (key,))
        self._read(value, position)
        return frozenset(_Place(place.path, False, place.required) for place in value)

    def _below(self, value: _Value, path: Path) -> _Value:
        if not path:
            return value
        return frozenset(
            _Place((*place.path, *path), True, place.required) if place.exact else place
            for place in value
        )

    def _bounded(self, value: _Value, position: Position) -> _Value:
        if len(value) <= _MOST_ORIGINS:
            return value
        self._read(value, position)
        return _NOWHERE

    def _read(self, value: _Value, position: Position, whole: bool = True) -> None:
        for place in value:
            if not place.path:
                continue
            path = (_ALIASES.get(place.path[0], place.path[0]), *place.path[1:])
            required = place.required and not self._was_probed(place.path)
            before = self.found.get(path)
            if before is None:
                self.found[path] = Read(path, required, whole, position)
            elif (required, whole) != (before.required, before.whole):
                self.found[path] = Read(
                    path, required or before.required, whole or before.whole, before.position
                )

    def _was_probed(self, path: Path) -> bool:
        return bool(self._probed) and any(
            path[:length] in self._probed for length in range(1, len(path) + 1)
        )


def _optional(value: _Value) -> _Value:
    return frozenset(_Place(place.path, place.exact, False) for place in value)


def _is_compared(condition: Pipeline) -> bool:
    """Whether a condition depends on more than whether a value is empty."""
    lone = condition.first if not condition.stages else None
    return not isinstance(lone, Field | Variable)
