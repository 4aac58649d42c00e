"""The paths that templates read, each beginning with `nuon`."""

from collections.abc import Callable

from apps.templates import TemplateError, parse

Path = tuple[str, ...]

PathsOf = Callable[[str], frozenset[Path]]
"""What the template that a string is reads.

Raises:
    TemplateError: the template cannot be parsed.
"""


_MIRRORED = frozenset(
    {"org", "app", "components", "actions", "secrets", "install_stack", "cloud_account", "runner"}
)


def paths_of(text: str) -> frozenset[Path]:
    """What the template that a string is reads.

    `.nuon.install` is an older mirror of the rest: what is read there is told as what it mirrors.

    Raises:
        TemplateError: the template cannot be parsed.
    """
    return frozenset(_mirrored(path) for path in parse(text).references())


def _mirrored(path: Path) -> Path:
    match path:
        case ("nuon", "install", root, *rest) if root in _MIRRORED:
            return ("nuon", root, *rest)
    return path


class Parsed:
    """`paths_of` that parses each text once; for as long as one config is looked at."""

    def __init__(self) -> None:
        self._found: dict[str, frozenset[Path] | TemplateError] = {}

    def __call__(self, text: str) -> frozenset[Path]:
        """What the template reads.

        Raises:
            TemplateError: the template cannot be parsed.
        """
        if text not in self._found:
            try:
                self._found[text] = paths_of(text)
            except TemplateError as error:
                self._found[text] = error
        found = self._found[text]
        if isinstance(found, TemplateError):
            raise found
        return found
