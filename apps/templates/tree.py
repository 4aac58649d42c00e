"""The syntax tree of a template. `str()` of a node is template text that parses to the same tree.

There are two families: a template is a list of `Node`s, and an action's pipeline is made of
`Expression`s. Control structures will be further nodes that hold lists of nodes; variables will be
further expressions.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal


@dataclass(frozen=True)
class Position:
    """A place in a template's text, counted from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Field:
    """`.a.b`: a value of the data, by its path."""

    path: tuple[str, ...]
    position: Position = field(compare=False)

    def __str__(self) -> str:
        return "".join(f".{name}" for name in self.path)


@dataclass(frozen=True)
class Literal:
    """A string, number or bool that stands in the template itself."""

    value: str | int | float | bool
    position: Position = field(compare=False)

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        if isinstance(self.value, float):
            text = format(Decimal(repr(self.value)), "f")
            return text if "." in text else f"{text}.0"
        return _quoted(self.value) if isinstance(self.value, str) else str(self.value)

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and True are equal in Python, and print differently.
        return (
            isinstance(other, Literal)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True)
class Call:
    """`name argument …`: a function with its arguments."""

    function: str
    arguments: tuple["Expression", ...]
    position: Position = field(compare=False)

    def __str__(self) -> str:
        return " ".join([self.function, *(_argument(item) for item in self.arguments)])


@dataclass(frozen=True)
class Chain:
    """`(…).a.b`: a path within the value of a pipeline in parentheses."""

    of: "Pipeline"
    path: tuple[str, ...]
    position: Position = field(compare=False)

    def __str__(self) -> str:
        return f"({self.of})" + "".join(f".{name}" for name in self.path)


@dataclass(frozen=True)
class Pipeline:
    """`first | function | …`: each stage's value is the last argument of the next."""

    first: "Expression"
    stages: tuple[Call, ...]
    position: Position = field(compare=False)

    def __str__(self) -> str:
        # A first stage that is a pipeline itself was in parentheses.
        first = f"({self.first})" if isinstance(self.first, Pipeline) else str(self.first)
        return " | ".join([first, *(str(stage) for stage in self.stages)])


Expression = Field | Literal | Call | Chain | Pipeline


@dataclass(frozen=True)
class Text:
    """Text that is kept as it is."""

    text: str

    def __str__(self) -> str:
        # `{{` can only be written as a literal within an action.
        parts = self.text.split("{{")
        return '{{"{{"}}'.join(parts)


@dataclass(frozen=True)
class Action:
    """`{{ … }}`: a pipeline whose value is printed."""

    pipeline: Pipeline

    def __str__(self) -> str:
        return f"{{{{ {self.pipeline} }}}}"


Node = Text | Action


def fields(expression: Expression) -> Iterator[Field]:
    """Every path of the data that an expression reads, a chain's as far as it is known."""
    match expression:
        case Field():
            yield expression
        case Literal():
            return
        case Call():
            for argument in expression.arguments:
                yield from fields(argument)
        case Chain():
            inner = expression.of
            if isinstance(inner.first, Field) and not inner.stages:
                yield Field(inner.first.path + expression.path, expression.position)
            else:
                yield from fields(inner)
        case Pipeline():
            yield from fields(expression.first)
            for stage in expression.stages:
                yield from fields(stage)


def _argument(expression: Expression) -> str:
    if isinstance(expression, Pipeline | Call):
        return f"({expression})"
    return str(expression)


def _quoted(text: str) -> str:
    # JSON's escapes are Go's, once `\/` and surrogate pairs are not written.
    return json.dumps(text, ensure_ascii=False)
