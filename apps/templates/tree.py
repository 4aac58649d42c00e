"""The syntax tree of a template. `str()` of a node is template text that parses to the same tree.

There are two families: a template is a list of `Node`s, and the pipelines of its actions are made
of `Expression`s.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple


class Position(NamedTuple):
    """A place in a template's text, counted from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Field:
    """`.a.b`: a value below the dot, by its path; `.` is the dot itself."""

    path: tuple[str, ...]
    position: Position = field(compare=False)

    def __str__(self) -> str:
        return _dotted(self.path) or "."


@dataclass(frozen=True)
class Variable:
    """`$name.a.b`: a value below a variable, by its path; `$` is the data as a whole."""

    name: str
    path: tuple[str, ...]
    position: Position = field(compare=False)

    def __str__(self) -> str:
        return f"${self.name}{_dotted(self.path)}"


@dataclass(frozen=True)
class Literal:
    """A string, number, bool or `nil` that is written in the template."""

    value: str | int | float | bool | None
    position: Position = field(compare=False)

    def __str__(self) -> str:
        match self.value:
            case None:
                return "nil"
            case bool():
                return "true" if self.value else "false"
            case float():
                text = format(Decimal(repr(self.value)), "f")
                return text if "." in text else f"{text}.0"
            case str():
                return _quoted(self.value)
            case _:
                return str(self.value)

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and True are equal in Python, but print differently.
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
        return f"({self.of}){_dotted(self.path)}"


@dataclass(frozen=True)
class Pipeline:
    """`first | function | …`: each stage's value is the last argument of the next."""

    first: "Expression"
    stages: tuple[Call, ...]
    position: Position = field(compare=False)
    names: tuple[str, ...] = ()
    """The variables that get its value; a `range` may have two, for its key and its element."""
    assigns: bool = False
    """The variables exist already."""

    def __str__(self) -> str:
        # A first stage that is itself a pipeline was in parentheses.
        first = f"({self.first})" if isinstance(self.first, Pipeline) else str(self.first)
        text = " | ".join([first, *(str(stage) for stage in self.stages)])
        if not self.names:
            return text
        names = ", ".join(f"${name}" for name in self.names)
        return f"{names} {'=' if self.assigns else ':='} {text}"


Expression = Field | Variable | Literal | Call | Chain | Pipeline


@dataclass(frozen=True)
class Text:
    """Text that is kept as it is."""

    text: str


@dataclass(frozen=True)
class Action:
    """`{{ … }}`: a pipeline whose value is printed, unless variables take it."""

    pipeline: Pipeline


@dataclass(frozen=True)
class Branch:
    """A condition and what is below it."""

    condition: Pipeline
    body: tuple["Node", ...]


@dataclass(frozen=True)
class If:
    """`{{ if }} … {{ else if }} … {{ else }} … {{ end }}`."""

    branches: tuple[Branch, ...]
    otherwise: tuple["Node", ...] | None


@dataclass(frozen=True)
class With:
    """`{{ with }} … {{ else with }} … {{ end }}`: the dot becomes the condition's value."""

    branches: tuple[Branch, ...]
    otherwise: tuple["Node", ...] | None


@dataclass(frozen=True)
class Range:
    """`{{ range }} … {{ else }} … {{ end }}`: the dot becomes each element."""

    over: Pipeline
    body: tuple["Node", ...]
    otherwise: tuple["Node", ...] | None


@dataclass(frozen=True)
class Leave:
    """`{{ break }}`, or `{{ continue }}`."""

    ends: bool


@dataclass(frozen=True)
class Invoke:
    """`{{ template "name" pipeline }}`."""

    name: str
    argument: Pipeline | None
    position: Position = field(compare=False)


Node = Text | Action | If | With | Range | Leave | Invoke
Nodes = tuple[Node, ...]


def template_text(nodes: Nodes, definitions: dict[str, Nodes]) -> str:
    """Text that parses to these nodes and definitions."""
    parts: list[str] = []
    pieces = list(_pieces(nodes))
    for name, body in definitions.items():
        pieces += [f"{{{{ define {_quoted(name)} }}}}", *_pieces(body), "{{ end }}"]
    for piece in pieces:
        # `{` right before an action would be parsed as the action's beginning.
        joins = parts and parts[-1].endswith("{") and piece.startswith("{{")
        parts.append(f" {{{{- {piece[2:].lstrip()}" if joins else piece)
    return "".join(parts)


def _pieces(nodes: Nodes) -> Iterator[str]:
    for node in nodes:
        match node:
            case Text():
                # `{{` can only be written as a literal within an action.
                yield '{{"{{"}}'.join(node.text.split("{{"))
            case Action():
                yield f"{{{{ {node.pipeline} }}}}"
            case If():
                yield from _branches("if", node.branches, node.otherwise)
            case With():
                yield from _branches("with", node.branches, node.otherwise)
            case Range():
                yield f"{{{{ range {node.over} }}}}"
                yield from _pieces(node.body)
                yield from _ending(node.otherwise)
            case Leave():
                yield "{{ break }}" if node.ends else "{{ continue }}"
            case Invoke():
                argument = f" {node.argument}" if node.argument else ""
                yield f"{{{{ template {_quoted(node.name)}{argument} }}}}"


def _branches(word: str, branches: tuple[Branch, ...], otherwise: Nodes | None) -> Iterator[str]:
    for index, branch in enumerate(branches):
        yield f"{{{{ {'else ' if index else ''}{word} {branch.condition} }}}}"
        yield from _pieces(branch.body)
    yield from _ending(otherwise)


def _ending(otherwise: Nodes | None) -> Iterator[str]:
    if otherwise is not None:
        yield "{{ else }}"
        yield from _pieces(otherwise)
    yield "{{ end }}"


def _argument(expression: Expression) -> str:
    if isinstance(expression, Pipeline | Call):
        return f"({expression})"
    return str(expression)


def _dotted(path: tuple[str, ...]) -> str:
    return "".join(f".{name}" for name in path)


def _quoted(text: str) -> str:
    # JSON's escapes are Go's, once `\/` and surrogate pairs are not written.
    return json.dumps(text, ensure_ascii=False)
