"""Finds the line of every key in a TOML file.

`tomllib` gives values without their places, and no well-kept library gives both; but `tomllib` has
already proven that the text is TOML. So this only has to find its way from key to key: it decodes
no values, and reads a file only if there is something to report in it.
"""

import re
import tomllib
from bisect import bisect_left
from contextlib import suppress
from dataclasses import dataclass

from apps.keys import below, parent

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_SCALAR = re.compile(r"[^,\]}#\r\n]*")
_STRINGS = {
    '"""': re.compile(r'\\.|"""(?!")', re.DOTALL),
    "'''": re.compile(r"'''(?!')"),
    '"': re.compile(r'\\.|"'),
    "'": re.compile(r"'"),
}
"""For each way in which a string begins: what ends it, or escapes the next character."""


@dataclass(frozen=True)
class Place:
    """Where a key is."""

    line: int
    """Counted from 1."""
    content_line: int | None = None
    """The line where its value begins, if the value's lines are also lines of the file."""


class Positions:
    """The places of all keys in a text that is valid TOML."""

    def __init__(self, text: str) -> None:
        scanner = _Scanner(text)
        # The places found so far are right.
        with suppress(RecursionError, _Lost, tomllib.TOMLDecodeError):
            scanner.document()
        self.places = scanner.places

    def line(self, path: str) -> int:
        """The line of a key, or else of the table that it would be in."""
        while path and path not in self.places:
            path = parent(path)
        return self.places[path].line if path else 1

    def line_within(self, path: str, line: int) -> int:
        """The line of the file that has the given line of a key's string, if that is known."""
        place = self.places.get(path)
        if place is None or place.content_line is None:
            return self.line(path)
        return place.content_line + line - 1


class _Lost(Exception):
    """The text is not TOML."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.places: dict[str, Place] = {}
        self._text = text
        self._at = 0
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self._tables: dict[str, int] = {}
        """How many tables each list of tables has so far."""

    def document(self) -> None:
        table = ""
        while self._skip(_SPACE) < len(self._text):
            if self._takes("[["):
                table = self._header(is_list=True)
            elif self._takes("["):
                table = self._header(is_list=False)
            else:
                self._pair(table)

    def _header(self, *, is_list: bool) -> str:
        line = self._line()
        self._skip(_BLANK)
        names = self._names()
        table = ""
        for name in names[:-1]:
            table = below(table, name)
            if table in self._tables:
                table = below(table, self._tables[table] - 1)
            self._note(table, line)
        table = below(table, names[-1])
        self._note(table, line)
        if is_list:
            self._tables[table] = self._tables.get(table, 0) + 1
        if table in self._tables:
            table = below(table, self._tables[table] - 1)
            self._note(table, line)
        self._skip(_BLANK)
        self._expect("]]" if is_list else "]")
        return table

    def _pair(self, table: str) -> None:
        line = self._line()
        path = table
        for name in self._names():
            path = below(path, name)
            self._note(path, line)
        self._skip(_BLANK)
        self._expect("=")
        self._skip(_BLANK)
        self._value(path)

    def _value(self, path: str) -> None:
        if self._takes("["):
            self._list(path)
        elif self._takes("{"):
            self._inline_table(path)
        else:
            quote = next((one for one in _STRINGS if self._text.startswith(one, self._at)), None)
            if quote:
                self._string(path, quote)
            else:
                self._scalar()

    def _scalar(self) -> None:
        begin = self._at
        # A list would ask for its next item at the same place for ever.
        if self._skip(_SCALAR) == begin:
            raise _Lost

    def _list(self, path: str) -> None:
        index = 0
        while self._skip(_SPACE) < len(self._text) and not self._takes("]"):
            item = below(path, index)
            self._note(item, self._line())
            self._value(item)
            self._skip(_SPACE)
            self._takes(",")
            index += 1

    def _inline_table(self, path: str) -> None:
        while self._skip(_SPACE) < len(self._text) and not self._takes("}"):
            self._pair(path)
            self._skip(_SPACE)
            self._takes(",")

    def _string(self, path: str, quote: str) -> None:
        start = self._at + len(quote)
        found = (m for m in _STRINGS[quote].finditer(self._text, start) if m[0][0] != "\\")
        end = next(found, None)
        if end is None:
            raise _Lost
        self._at = end.end()
        content = self._text[start : end.start()]
        if len(quote) == 3 and not (quote[0] == '"' and "\\" in content):
            # A newline right after the quotes is not part of the string.
            first = start + (2 if content.startswith("\r\n") else content.startswith("\n"))
            self.places[path] = Place(self.places[path].line, self._line(first))

    def _names(self) -> list[str]:
        names = [self._name()]
        while self._text.startswith(".", _end(_BLANK, self._text, self._at)):
            self._skip(_DOT)
            names.append(self._name())
        return names

    def _name(self) -> str:
        match = _KEY.match(self._text, self._at)
        if not match:
            raise _Lost
        self._at = match.end()
        return _unquoted(match[0])

    def _note(self, path: str, line: int) -> None:
        self.places.setdefault(path, Place(line))

    def _line(self, at: int | None = None) -> int:
        return bisect_left(self._ends, self._at if at is None else at) + 1

    def _skip(self, pattern: re.Pattern[str]) -> int:
        self._at = _end(pattern, self._text, self._at)
        return self._at

    def _takes(self, word: str) -> bool:
        is_there = self._text.startswith(word, self._at)
        self._at += len(word) * is_there
        return is_there

    def _expect(self, word: str) -> None:
        if not self._takes(word):
            raise _Lost


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _unquoted(key: str) -> str:
    if key[0] == "'":
        return key[1:-1]
    if key[0] != '"':
        return key
    if "\\" not in key:
        return key[1:-1]
    return next(iter(tomllib.loads(f"{key} = 0")))
