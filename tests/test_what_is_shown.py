"""All text for a person is written in one place, and only a line feed ends a line."""

import re

from tests.test_house import ROOMS, ROOT

WRITERS = {"exclave/screens/terminal.py", "exclave/output.py"}
"""These write text that `apps.display_text` has made harmless."""

FINDERS = {"activities/secrets/forms.py"}
"""It searches text that tools printed, with any kind of line ends."""


def sources(*rooms: str) -> dict[str, str]:
    files = [path for room in rooms for path in sorted((ROOT / room).rglob("*.py"))]
    return {str(path.relative_to(ROOT)): path.read_text() for path in files}


def test_no_text_is_split_where_unicode_has_a_line_end() -> None:
    """`str.splitlines` splits at ten characters, all of which may occur in somebody's value."""
    found = {name for name, text in sources(*ROOMS).items() if ".splitlines(" in text}
    assert found == FINDERS


def test_the_command_writes_through_one_door() -> None:
    writes = re.compile(r"typer\.(?:echo|secho)\(|(?<![\w.])print\(|std(?:out|err)\.write\(")
    found = {name for name, text in sources("exclave").items() if writes.search(text)}
    assert found == WRITERS


def test_a_log_line_goes_through_one_too() -> None:
    formats = {name for name, text in sources(*ROOMS).items() if "logging.Formatter" in text}
    assert formats == {"workers/log_lines.py"}
    configures = re.compile(r"basicConfig\((?!level=logging\.INFO, handlers=\[lines\]\))")
    assert not [name for name, text in sources(*ROOMS).items() if configures.search(text)]
