"""Renders a template from data, and notes whether anything that it read was sensitive."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache

from apps.templates.evaluation import Evaluation
from apps.templates.parser import parse_text
from apps.templates.reads import Read, reads
from apps.templates.tree import Action, Field, Nodes, Pipeline, template_text

_REMEMBERED_TEXT = 4096
"""Longer templates are parsed each time, so that the cache stays small."""


@dataclass(frozen=True)
class Rendered:
    """A rendered template."""

    value: object = field(repr=False)
    """Text, or the native value if the template is only a path; without marks of sensitivity."""
    sensitive: bool
    """Whether anything that was read is sensitive."""
    taken: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """The parts of a text that were made of something sensitive: what is secret in it."""


@dataclass(frozen=True)
class Template:
    """A parsed template. `str()` of it is template text that renders the same."""

    nodes: Nodes
    definitions: dict[str, Nodes] = field(default_factory=dict)

    def reads(self) -> tuple[Read, ...]:
        """The paths of the data that it may read, each once, as far as known beforehand."""
        return reads(self.nodes, self.definitions)

    def references(self) -> frozenset[tuple[str, ...]]:
        """The paths that it may read, each beginning with the root `nuon` (also for `exclave`)."""
        return frozenset(read.path for read in self.reads())

    def render(self, data: Mapping[str, object]) -> Rendered:
        """The template with its paths replaced by the values of `data`.

        A template that is only a path keeps the value's type; any other becomes text.

        Raises:
            TemplateError: a path leads to nothing, a function cannot take its arguments, or there
                would be too much text or too many steps.
        """
        evaluation = Evaluation(data, self.definitions)
        lone = self._lone_field()
        if lone is not None:
            value = evaluation.plain(evaluation.value(lone, data))
            return Rendered(value, evaluation.sensitive)
        text = evaluation.text(self.nodes)
        return Rendered(text, evaluation.sensitive, self._without_own_words(evaluation.taken))

    def _without_own_words(self, taken: Set[str]) -> frozenset[str]:
        """A default, or what else the template says itself, is no secret."""
        own = str(self) if taken else ""
        return frozenset(one for one in taken if one not in own)

    def _lone_field(self) -> Field | None:
        match self.nodes:
            case (Action(Pipeline(Field() as lone, (), names=())),):
                return lone
        return None

    def __str__(self) -> str:
        return template_text(self.nodes, self.definitions)


def parse(text: str) -> Template:
    """The template in a string; without `.nuon` and `.exclave` it is just text.

    Raises:
        TemplateError: the template is wrong, too large, or calls what may not be called.
    """
    return _remembered(text) if len(text) <= _REMEMBERED_TEXT else _parsed(text)


def _parsed(text: str) -> Template:
    found = parse_text(text)
    return Template(found.nodes, found.definitions)


_remembered = lru_cache(maxsize=1024)(_parsed)


def render_value(value: object, data: Mapping[str, object]) -> Rendered:
    """A TOML or JSON value with every string in it, at any depth, rendered; keys stay as they are.

    Raises:
        TemplateError: as for `parse` and `Template.render`.
    """
    if isinstance(value, str):
        return parse(value).render(data)
    if isinstance(value, Mapping):
        pairs = {key: render_value(item, data) for key, item in value.items()}
        return Rendered(
            {key: item.value for key, item in pairs.items()},
            any(item.sensitive for item in pairs.values()),
            frozenset().union(*(item.taken for item in pairs.values())),
        )
    if isinstance(value, list | tuple):
        items = [render_value(item, data) for item in value]
        return Rendered(
            [item.value for item in items],
            any(item.sensitive for item in items),
            frozenset().union(*(item.taken for item in items)),
        )
    return Rendered(value, False)
