"""The paths of the state document that templates read, each beginning with `nuon`."""

from collections.abc import Callable
from dataclasses import replace

from apps.templates import Read, TemplateError, parse

Path = tuple[str, ...]

ReadsOf = Callable[[str], tuple[Read, ...]]
"""What the template that a string is may read.

Raises:
    TemplateError: the template cannot be parsed.
"""

_MIRRORED = frozenset(
    {"org", "app", "components", "actions", "secrets", "install_stack", "cloud_account", "runner"}
)
_ALWAYS_THERE = frozenset(
    {
        ("nuon",), ("nuon", "org"), ("nuon", "app"), ("nuon", "install"), ("nuon", "components"),
        ("nuon", "actions"), ("nuon", "actions", "workflows"), ("nuon", "inputs"),
        ("nuon", "inputs", "inputs"), ("nuon", "install", "inputs"),
    }
)  # fmt: skip
"""Maps that are never empty, so that a test such as `{{ with .nuon.inputs }}` reads nothing."""


def reads_of(text: str) -> tuple[Read, ...]:
    """What the template that a string is may read.

    `.nuon.install` is an older mirror of the rest: reads there are reported as what they mirror.

    Raises:
        TemplateError: the template cannot be parsed.
    """
    found = (_mirrored(read) for read in parse(text).reads())
    return tuple(read for read in found if read.whole or read.path not in _ALWAYS_THERE)


def _mirrored(read: Read) -> Read:
    match read.path:
        case ("nuon", "install", root, *rest) if root in _MIRRORED:
            return replace(read, path=("nuon", root, *rest))
    return read


class Parsed:
    """A `reads_of` that parses each text once; lives as long as one config is checked."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Read, ...] | TemplateError] = {}

    def __call__(self, text: str) -> tuple[Read, ...]:
        """What the template may read.

        Raises:
            TemplateError: the template cannot be parsed.
        """
        if text not in self._found:
            try:
                self._found[text] = reads_of(text)
            except TemplateError as error:
                self._found[text] = error
        found = self._found[text]
        if isinstance(found, TemplateError):
            raise found
        return found
