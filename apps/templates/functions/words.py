"""sprig's functions that change the case, the length and the lines of words."""

import unicodedata
from collections.abc import Mapping

from apps.templates.functions.function import INT, STRING, WALKED, Function, typed
from apps.templates.functions.strings import SPACE, lower_char, title_char, upper_char
from apps.templates.go_types import decoded, encoded
from apps.templates.limits import check_text


def _title(text: str) -> str:
    """Go's strings.Title: the first letter of each word in title case, the rest as it is."""
    before = " "
    made: list[str] = []
    for char in text:
        made.append(title_char(char) if _separates(before) else char)
        before = char
    return "".join(made)


def _separates(char: str) -> bool:
    if char.isascii():
        return not (char.isalnum() or char == "_")
    return char in SPACE


def _untitle(text: str) -> str:
    made: list[str] = []
    next_lower = True
    for char in text:
        if char in SPACE:
            next_lower = True
        elif next_lower:
            char = lower_char(char)  # noqa: PLW2901 - what is kept of it
            next_lower = False
        made.append(char)
    return "".join(made)


def _swap_case(text: str) -> str:
    made: list[str] = []
    after_space = True
    for char in text:
        category = unicodedata.category(char)
        if category in ("Lu", "Lt"):
            made.append(lower_char(char))
            after_space = False
        elif category == "Ll":
            made.append(title_char(char) if after_space else upper_char(char))
            after_space = False
        else:
            made.append(char)
            after_space = char in SPACE
    return "".join(made)


def _initials(text: str) -> str:
    # It reads bytes as if each were a character.
    made: list[str] = []
    gap = True
    for byte in encoded(text):
        char = chr(byte)
        if char in SPACE:
            gap = True
        elif gap:
            made.append(char)
            gap = False
    return "".join(made)


def _no_space(text: str) -> str:
    if text.isascii():
        return "".join(text.split())
    # It reads bytes as if each were a character, unless there is no space among them.
    chars = [chr(byte) for byte in encoded(text)]
    kept = [char for char in chars if char not in SPACE]
    return text if len(kept) == len(chars) else "".join(kept)


def _abbrev(width: int, text: str) -> str:
    return text if width < 4 else _abbreviated(text, 0, width)


def _abbrev_both(left: int, right: int, text: str) -> str:
    if right < 4 or (left > 0 and right < 7):
        return text
    return _abbreviated(text, left, right)


def _abbreviated(text: str, offset: int, width: int) -> str:
    data = encoded(text)
    if len(data) <= width:
        return text
    offset = min(offset, len(data))
    if len(data) - offset < width - 3:
        offset = len(data) - (width - 3)
    if offset <= 4:
        return decoded(data[: width - 3]) + "..."
    if width < 7:
        return ""
    if offset + width - 3 < len(data):
        return "..." + (_abbreviated(decoded(data[offset:]), 0, width - 3) if width >= 7 else "")
    return "..." + decoded(data[len(data) - (width - 3) :])


def _wrap(width: int, text: str) -> str:
    return _wrapped(text, width, "\n", cut_long=False)


def _wrap_with(width: int, separator: str, text: str) -> str:
    return _wrapped(text, width, separator or "\n", cut_long=True)


def _wrapped(text: str, width: int, separator: str, *, cut_long: bool) -> str:
    width = max(width, 1)
    data, line_end = encoded(text), encoded(separator)
    check_text(len(data) + (len(data) // width + 1) * len(line_end))
    lines: list[bytes] = []
    at = 0
    while len(data) - at > width:
        if data[at : at + 1] == b" ":
            at += 1
            continue
        end = data.rfind(b" ", at, at + width + 1)
        if end < 0 and cut_long:
            lines.append(data[at : at + width])
            at += width
            continue
        if end < 0:
            end = data.find(b" ", at + width)
            if end < 0:
                break
        lines.append(data[at:end])
        at = end + 1
    lines.append(data[at:])
    return decoded(line_end.join(lines))


FUNCTIONS: Mapping[str, Function] = {
    "title": typed(_title, WALKED),
    "untitle": typed(_untitle, WALKED),
    "swapcase": typed(_swap_case, WALKED),
    "initials": typed(_initials, WALKED),
    "nospace": typed(_no_space, WALKED),
    "abbrev": typed(_abbrev, INT, STRING),
    "abbrevboth": typed(_abbrev_both, INT, INT, STRING),
    "wrap": typed(_wrap, INT, WALKED),
    "wrapWith": typed(_wrap_with, INT, STRING, WALKED),
}
