"""Renders a page for people as far as possible: what cannot be rendered stays as it is written.

The page shows nothing sensitive: what was read from a sensitive value is hidden.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apps.sensitivity import Sensitive
from apps.templates.errors import TemplateError
from apps.templates.evaluation import Evaluation
from apps.templates.rendering import parse
from apps.templates.tree import Action, Branch, Leave, Node, Nodes, template_text

HIDDEN: Final = "(sensitive)"


@dataclass(frozen=True)
class Page:
    """A rendered page."""

    text: str
    problems: list[str]
    """Why parts of it stay as they are written, each reason once."""


def render_page(text: str, data: Mapping[str, object]) -> Page:
    """The page with each path replaced by its value, where there is one.

    Raises:
        TemplateError: it becomes too much text.
    """
    try:
        template = parse(text)
    except TemplateError as error:
        return Page(text, [str(error)])
    evaluation = _Degrading(data, template.definitions)
    rendered = evaluation.text(template.nodes)
    return Page(rendered, list(evaluation.problems))


class _Degrading(Evaluation):
    def __init__(self, data: Mapping[str, object], definitions: Mapping[str, Nodes]) -> None:
        super().__init__(data, definitions)
        self.problems: dict[str, None] = {}

    def _action(self, node: Action, dot: object) -> None:
        pipeline = node.pipeline
        self.sensitive = False
        try:
            self._step(pipeline.position)
            value = self.value(pipeline, dot)
            text = "" if pipeline.names else self._printed(self.plain(value), pipeline.position)
        except TemplateError as error:
            self.problems[str(error)] = None
            if pipeline.names:
                self._assign(pipeline, pipeline.names[0], None)
            else:
                self._print(template_text((node,), {}))
            return
        if pipeline.names:
            kept = Sensitive(value) if self.sensitive else value
            self._assign(pipeline, pipeline.names[0], kept)
        else:
            self._print(HIDDEN if self.sensitive else text)

    def _condition(self, branch: Branch, dot: object) -> object:
        try:
            return super()._condition(branch, dot)
        except TemplateError as error:
            self.problems[str(error)] = None
            if branch.condition.names:
                self._assign(branch.condition, branch.condition.names[0], None)
            return None

    def _control(self, node: Node, dot: object) -> Leave | None:
        parts, length = len(self._parts), self._length
        try:
            return super()._control(node, dot)
        except TemplateError as error:
            self.problems[str(error)] = None
            del self._parts[parts:]
            self._length = length
            self._print(template_text((node,), {}))
            return None
