"""Evaluates the nodes of a template to text, as Go's text/template does, within limits."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from apps.sensitivity import Sensitive
from apps.templates.errors import FunctionError, TemplateError
from apps.templates.functions import truth
from apps.templates.printing import go_text
from apps.templates.tree import (
    Action,
    Branch,
    If,
    Invoke,
    Leave,
    Node,
    Nodes,
    Pipeline,
    Position,
    Range,
    Text,
    With,
)
from apps.templates.values import Values, fail, kind_of

MAX_RENDERED_CHARACTERS = 16 * 1024 * 1024
MAX_INVOCATIONS = 50
"""How deep templates may invoke templates."""

_NOT_UTF8: Final = re.compile("[\ud800-\udfff]")
"""How strings represent bytes that are not text; see `apps.templates.go_types`."""


class Evaluation(Values):
    """One rendering of one template."""

    def __init__(self, data: Mapping[str, object], definitions: Mapping[str, Nodes]) -> None:
        super().__init__(data)
        self._definitions = definitions
        self._parts: list[str] = []
        self._length = 0
        self._invoked = 0
        self.taken: set[str] = set()
        """What was printed that was made of something sensitive."""

    def text(self, nodes: Nodes) -> str:
        """What the nodes print.

        Raises:
            TemplateError: they cannot be evaluated, or take too many steps or too much text.
        """
        self._nodes(nodes, self._data)
        text = "".join(self._parts)
        if not text.isascii() and _NOT_UTF8.search(text):
            raise TemplateError("the rendered text is not valid UTF-8", 1, 1)
        return text

    def _nodes(self, nodes: Nodes, dot: object) -> Leave | None:
        """Evaluates the nodes; returns the `break` or `continue` that ended them, if any."""
        for node in nodes:
            if isinstance(node, Text):
                self._print(node.text)
            elif isinstance(node, Action):
                self._action(node, dot)
            else:
                left = self._control(node, dot)
                if left is not None:
                    return left
        return None

    def _action(self, node: Action, dot: object) -> None:
        pipeline = node.pipeline
        self._step(pipeline.position)
        before = self._marks_read
        value = self.value(pipeline, dot)
        if pipeline.names:
            self._assign(pipeline, pipeline.names[0], self._marked_since(before, value))
            return
        text = value if type(value) is str else self._printed(value, pipeline.position)
        if self._marks_read > before:
            self.taken.add(text)
        self._print(text)

    def _control(self, node: Node, dot: object) -> Leave | None:
        scope = len(self._variables)
        try:
            match node:
                case If() | With():
                    return self._branches(node, dot)
                case Range():
                    return self._range(node, dot)
                case Invoke():
                    self._invoke(node, dot)
                    return None
                case Leave():
                    return node
                case _:
                    raise AssertionError(f"not a control structure: {type(node).__name__}")
        finally:
            del self._variables[scope:]

    def _branches(self, node: If | With, dot: object) -> Leave | None:
        for branch in node.branches:
            before = self._marks_read
            value = self._condition(branch, dot)
            if truth(value):
                marked = self._marked_since(before, value)
                return self._nodes(branch.body, marked if isinstance(node, With) else dot)
        return self._nodes(node.otherwise or (), dot)

    def _condition(self, branch: Branch, dot: object) -> object:
        condition = branch.condition
        self._step(condition.position)
        before = self._marks_read
        value = self._top(self.value(condition, dot))
        if condition.names:
            self._assign(condition, condition.names[0], self._marked_since(before, value))
        return value

    def _range(self, node: Range, dot: object) -> Leave | None:
        over = node.over
        self._step(over.position)
        before = self._marks_read
        pairs = self._pairs(self._top(self.value(over, dot)), over)
        if self._marks_read > before:
            pairs = ((Sensitive(key), Sensitive(element)) for key, element in pairs)
        scope, is_empty = len(self._variables), True
        for key, element in pairs:
            is_empty = False
            self._step(over.position)
            if len(over.names) == 2:
                self._assign(over, over.names[0], key)
            if over.names:
                self._assign(over, over.names[-1], element)
            left = self._nodes(node.body, element)
            del self._variables[scope:]
            if left is not None and left.ends:
                break
        return self._nodes(node.otherwise or (), dot) if is_empty else None

    def _pairs(self, value: object, over: Pipeline) -> Iterable[tuple[object, object]]:
        match value:
            case None:
                return ()
            case bool() | str() | float():
                fail(f"`range` cannot go through {kind_of(value)}", over.position)
            case int() if len(over.names) == 2:
                fail("`range` over a number takes one variable", over.position)
            case int():
                return ((index, index) for index in range(value))
            case Mapping():
                return [(key, value[key]) for key in sorted(value)]
            case list() | tuple():
                return enumerate(value)
            case _:
                fail(f"`range` cannot go through {kind_of(value)}", over.position)

    def _invoke(self, node: Invoke, dot: object) -> None:
        self._step(node.position)
        body = self._definitions.get(node.name)
        if body is None:
            fail(f"there is no template `{node.name}`; `define` it", node.position)
        if self._invoked >= MAX_INVOCATIONS:
            fail(f"templates invoke each other more than {MAX_INVOCATIONS} deep", node.position)
        before = self._marks_read
        argument = self.value(node.argument, dot) if node.argument is not None else None
        argument = self._marked_since(before, argument)
        outer, self._variables = self._variables, [("", argument)]
        self._invoked += 1
        self._nodes(body, argument)
        self._invoked -= 1
        self._variables = outer

    def _printed(self, value: object, position: Position) -> str:
        try:
            return go_text(self._own(value))
        except FunctionError as error:
            fail(f"it cannot be printed: {error}", position)

    def _print(self, text: str) -> None:
        self._length += len(text)
        if self._length > MAX_RENDERED_CHARACTERS:
            message = f"the rendered text is longer than {MAX_RENDERED_CHARACTERS} characters"
            raise TemplateError(message, 1, 1)
        self._parts.append(text)
