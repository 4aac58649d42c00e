"""Shows people text that somebody else chose, so that it cannot pretend to be something else.

Values, names, ids, reasons, errors and the output of tools come from parties that need not trust
each other, and people decide by what they see. Control characters, and characters that reverse the
reading direction or end a line in some programs only, can make a screen lie. So every invisible
character is shown as its number, as JSON writes it, and only a line feed ends a line. Colours are
hidden, too: nothing may control the terminal.

Invisible are all of Unicode's category C (controls, formats, surrogates, private use, and what this
Python's tables do not assign, since nobody knows how it will look), the line and paragraph
separators, and what Unicode lets a font leave out: fillers and variation selectors.
"""

import re
import unicodedata
from typing import Final

_PLAIN: Final = re.compile(r"[^ -~]")
"""Only these characters are examined, since printable ASCII is always visible."""

_LINE_SEPARATORS: Final = frozenset({"Zl", "Zp"})
_INVISIBLE: Final = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0}
    | {*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
)
"""Unicode's Default_Ignorable_Code_Point, without those of category C."""

_SEQUENCE: Final = re.compile(r"\x1b\[[0-9:;<=>?]*[ -/]*[@-~]")
"""Control sequences of ECMA-48, which colour text and move the cursor."""

_MARKDOWN: Final = re.compile(r"[\\`*_\[\]<>&~|#!]")
_NEW_LINE: Final = "⏎"


def is_hidden(character: str) -> bool:
    """Whether a character is invisible, or ends a line."""
    category = unicodedata.category(character)
    return category[0] == "C" or category in _LINE_SEPARATORS or ord(character) in _INVISIBLE


def shown(text: str) -> str:
    """A text within one line; what is hidden is shown as `\\u202e`, line feeds too.

    Text that was shown before stays as it is. JSON that is shown is the same document.
    """
    return _PLAIN.sub(_escaped, text)


def lines_of(text: str) -> list[str]:
    """The lines of a text, split at line feeds only; the lines are not escaped yet.

    Tabs become four spaces, and a carriage return before a line feed is dropped with it.
    """
    return text.replace("\r\n", "\n").replace("\t", "    ").split("\n")


def shown_lines(text: str) -> str:
    """A text of several lines, split by `lines_of`, each escaped by `shown`."""
    return "\n".join(shown(line) for line in lines_of(text))


def shown_output(text: str) -> str:
    """The output of a tool, escaped by `shown_lines`, without its colours and cursor movements."""
    return shown_lines(_SEQUENCE.sub("", text))


def shown_markdown(text: str) -> str:
    """A text on one line of Markdown, with its markup escaped; a sign stands for each line feed."""
    lines = (_MARKDOWN.sub(r"\\\g<0>", shown(line)) for line in text.strip("\n").split("\n"))
    return f" {_NEW_LINE} ".join(lines)


def _escaped(found: re.Match[str]) -> str:
    character = found.group()
    if not is_hidden(character):
        return character
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
