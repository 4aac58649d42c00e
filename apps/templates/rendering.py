"""Renders a template from data, and knows whether what it read was sensitive."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.sensitivity import Sensitive, reveal
from apps.templates.errors import TemplateError
from apps.templates.functions import FUNCTIONS
from apps.templates.parser import parse_nodes
from apps.templates.printing import go_text
from apps.templates.tree import (
    Action,
    Call,
    Chain,
    Expression,
    Field,
    Literal,
    Node,
    Pipeline,
    Position,
    Text,
    fields,
)

MAX_RENDERED_CHARACTERS = 16 * 1024 * 1024

_ALIASES = {"exclave": "nuon"}


@dataclass(frozen=True)
class Rendered:
    """What a template became."""

    value: object = field(repr=False)
    """Without marks of sensitivity. Text, or the native value of a lone path."""
    sensitive: bool
    """Whether anything that was read is sensitive."""


@dataclass(frozen=True)
class Template:
    """A parsed template. `str()` of it is template text that renders the same."""

    nodes: tuple[Node, ...]

    def references(self) -> frozenset[tuple[str, ...]]:
        """The paths that it reads, each beginning with the root `nuon` (also for `exclave`)."""
        found = (
            path
            for node in self.nodes
            if isinstance(node, Action)
            for path in (read.path for read in fields(node.pipeline))
        )
        return frozenset((_ALIASES.get(path[0], path[0]), *path[1:]) for path in found)

    def render(self, data: Mapping[str, object]) -> Rendered:
        """The template with its paths replaced by the values of `data`.

        A template that is one path and nothing else keeps the value's type; else it is text.

        Raises:
            TemplateError: a path leads to nothing, or the text would be too large.
        """
        evaluation = _Evaluation(data)
        lone = self._lone_field()
        if lone is not None:
            value = evaluation.revealed(evaluation.value(lone))
            return Rendered(value, evaluation.sensitive)
        return Rendered(evaluation.text(self.nodes), evaluation.sensitive)

    def _lone_field(self) -> Field | None:
        match self.nodes:
            case (Action(Pipeline(Field() as lone, ())),):
                return lone
        return None

    def __str__(self) -> str:
        parts: list[str] = []
        for node in self.nodes:
            joins = parts and isinstance(node, Action) and parts[-1].endswith("{")
            # `{` right before an action would be read as the action's beginning.
            parts.append(f" {{{{- {node.pipeline} }}}}" if joins else str(node))  # type: ignore[union-attr]
        return "".join(parts)


def parse(text: str) -> Template:
    """The template that a string is; without `.nuon` and `.exclave` it stands for itself.

    Raises:
        TemplateError: the template is wrong, too large, or uses what is not supported yet.
    """
    return Template(parse_nodes(text))


def render_value(value: object, data: Mapping[str, object]) -> Rendered:
    """A TOML or JSON value with every string in it, at any depth, rendered; keys stay as they are.

    Raises:
        TemplateError: as `parse` and `Template.render`.
    """
    if isinstance(value, str):
        return parse(value).render(data)
    if isinstance(value, Mapping):
        pairs = {key: render_value(item, data) for key, item in value.items()}
        return Rendered(
            {key: item.value for key, item in pairs.items()},
            any(item.sensitive for item in pairs.values()),
        )
    if isinstance(value, list | tuple):
        items = [render_value(item, data) for item in value]
        return Rendered([item.value for item in items], any(item.sensitive for item in items))
    return Rendered(value, False)


class _Evaluation:
    def __init__(self, data: Mapping[str, object]) -> None:
        self._data = data
        self.sensitive = False

    def text(self, nodes: tuple[Node, ...]) -> str:
        parts: list[str] = []
        length = 0
        for node in nodes:
            part = node.text if isinstance(node, Text) else self._printed(node)
            length += len(part)
            if length > MAX_RENDERED_CHARACTERS:
                raise TemplateError(
                    f"the rendered text is longer than {MAX_RENDERED_CHARACTERS} characters", 1, 1
                )
            parts.append(part)
        return "".join(parts)

    def value(self, expression: Expression) -> object:
        """The value of an expression, in which marks may be left below the top."""
        match expression:
            case Literal():
                return expression.value
            case Field():
                return self._walk(self._data, expression.path, "", expression.position)
            case Chain():
                start = self.value(expression.of)
                at = f"({expression.of})"
                return self._walk(start, expression.path, at, expression.position)
            case Call():
                return self._call(expression, ())
            case Pipeline():
                value = self.value(expression.first)
                for stage in expression.stages:
                    value = self._call(stage, (value,))
                return value

    def revealed(self, value: object) -> object:
        plain, sensitive = reveal(value)
        self.sensitive |= sensitive
        return plain

    def _printed(self, node: Action) -> str:
        return go_text(self.revealed(self.value(node.pipeline)))

    def _call(self, call: Call, piped: tuple[object, ...]) -> object:
        given = [*(self.value(argument) for argument in call.arguments), *piped]
        return FUNCTIONS[call.function].call(*(self.revealed(value) for value in given))

    def _walk(
        self, start: object, path: tuple[str, ...], prefix: str, position: Position
    ) -> object:
        value = start
        for index, name in enumerate(path):
            if not isinstance(value, Mapping):
                reason = f"`{_dotted(path[:index], prefix)}` is {_kind(value)}, not a map"
                raise _missing(path, prefix, reason, position)
            if name not in value:
                parent = f"`{_dotted(path[:index], prefix)}`" if index or prefix else "the data"
                raise _missing(path, prefix, f"{parent} has no `{name}`", position)
            value = value[name]
            if isinstance(value, Sensitive):
                value = self.revealed_top(value)
        return value

    def revealed_top(self, value: Sensitive) -> object:
        self.sensitive = True
        inner: object = value
        while isinstance(inner, Sensitive):
            inner = inner.value
        return inner


def _missing(path: tuple[str, ...], prefix: str, reason: str, position: Position) -> TemplateError:
    message = f"`{_dotted(path, prefix)}` leads to nothing: {reason}"
    return TemplateError(message, position.line, position.column)


def _dotted(path: tuple[str, ...], prefix: str) -> str:
    return prefix + "".join(f".{name}" for name in path)


def _kind(value: object) -> str:
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
        case _:
            return f"a {type(value).__name__}"
