"""How text that somebody else chose is shown to a person: as what it is, and on its own line.

Values, names, ids, reasons, errors and what tools print come from parties that need not trust each
other, and a person decides by what they see. A control character, one that turns the direction of
reading or that ends a line somewhere only, can make a screen say what is not so. So every character
that shows nothing of itself is shown by its number, as JSON writes it, and a line ends at a line
feed and nowhere else. Colours are no exception: nothing steers the terminal.

What is hidden: all of Unicode's category C (controls, formats, surrogates, private use, and what is
unassigned in this Python's tables, since nobody knows how it will look), the separators of lines
and paragraphs, and what Unicode lets a font leave out: fillers and variation selectors.
"""

import re
import unicodedata
from typing import Final

_PLAIN: Final = re.compile(r"[^ -~]")
"""All that is looked at: printable ASCII shows itself."""

_LINE_SEPARATORS: Final = frozenset({"Zl", "Zp"})
_INVISIBLE: Final = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0}
    | {*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
)
"""Unicode's Default_Ignorable_Code_Point, as far as it is not of category C."""

_SEQUENCE: Final = re.compile(r"\x1b\[[0-9:;<=>?]*[ -/]*[@-~]")
"""What colours text and moves the cursor (ECMA-48's control sequences)."""

_MARKDOWN: Final = re.compile(r"[\\`*_\[\]<>&~|#!]")
_NEW_LINE: Final = "⏎"


def is_hidden(character: str) -> bool:
    """Whether a character does not show itself, or ends a line."""
    category = unicodedata.category(character)
    return category[0] == "C" or category in _LINE_SEPARATORS or ord(character) in _INVISIBLE


def shown(text: str) -> str:
    """A text within one line; what is hidden is shown as `\\u202e`, line feeds too.

    Text that was shown before stays as it is. JSON that is shown is the same document.
    """
    return _PLAIN.sub(_escaped, text)


def lines_of(text: str) -> list[str]:
    """The lines of a text, which end at line feeds alone; what is in them is not shown yet.

    A tab is four spaces, and the carriage return before a line feed is a part of it.
    """
    return text.replace("\r\n", "\n").replace("\t", "    ").split("\n")


def shown_lines(text: str) -> str:
    """A text of several lines, as `lines_of` has them, each as `shown` has it."""
    return "\n".join(shown(line) for line in lines_of(text))


def shown_output(text: str) -> str:
    """What a tool printed, as `shown_lines` has it, without its colours and moves of the cursor:
    they are no part of what it says."""
    return shown_lines(_SEQUENCE.sub("", text))


def shown_markdown(text: str) -> str:
    """A text within one line of Markdown, where it is no markup; a new line is told by a sign."""
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
