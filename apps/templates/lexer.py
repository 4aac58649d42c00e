"""Cuts a template into text and the tokens of its actions, as Go's text/template does."""

import re
from bisect import bisect_right
from collections.abc import Generator, Iterator
from enum import Enum
from typing import NamedTuple

from apps.templates.errors import TemplateError
from apps.templates.tree import Position

_SPACE = " \t\r\n"
_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+(?!-\}\}))
  | (?P<number>[+-]?(?:0[xXoObB][0-9a-fA-F_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?[\d_]+)?))
  | (?P<field>\.[^\W\d]\w*)
  | (?P<dot>\.)
  | (?P<variable>\$\w*)
  | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
  | (?P<raw>`[^`]*`)
  | (?P<character>'(?:[^'\\\n]|\\[^\n])*')
  | (?P<word>[^\W\d]\w*)
  | (?P<declare>:=)
  | (?P<assign>=)
  | (?P<comma>,)
  | (?P<pipe>\|)
  | (?P<open>\()
  | (?P<close>\))
    """,
    re.VERBOSE,
)


class Kind(Enum):
    """What a token is."""

    TEXT = "text"
    BEGIN = "{{"
    END = "}}"
    SPACE = "space"
    FIELD = "field"
    DOT = "dot"
    VARIABLE = "variable"
    NUMBER = "number"
    STRING = "string"
    RAW = "raw"
    CHARACTER = "character"
    WORD = "word"
    DECLARE = "declare"
    ASSIGN = "assign"
    COMMA = "comma"
    PIPE = "pipe"
    OPEN = "open"
    CLOSE = "close"


_KINDS = {kind.value: kind for kind in Kind}
_NAMES = frozenset((Kind.FIELD, Kind.VARIABLE, Kind.WORD, Kind.NUMBER))
"""Tokens that only a delimiter may follow."""
_DELIMITERS = frozenset(" \t\r\n.,|:)(")


class Token(NamedTuple):
    """A piece of a template's text."""

    kind: Kind
    text: str
    position: Position


def error_at(message: str, token: Token) -> TemplateError:
    """An error at the position of a token."""
    return TemplateError(message, token.position.line, token.position.column)


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a template, in order; comments and trimmed space are gone.

    Raises:
        TemplateError: an action or a comment does not end, or contains something invalid.
    """
    return _Lexer(text).run()


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def run(self) -> Iterator[Token]:
        trim = False
        while True:
            begin = self._text.find("{{", self._at)
            text = self._text[self._at : len(self._text) if begin < 0 else begin]
            if trim:
                text = text.lstrip(_SPACE)
            if begin < 0:
                yield Token(Kind.TEXT, text, self._position(self._at))
                return
            trims_before = self._trims_before(begin)
            if trims_before:
                text = text.rstrip(_SPACE)
            yield Token(Kind.TEXT, text, self._position(self._at))
            inside = begin + (4 if trims_before else 2)
            if self._comment_begins(inside):
                trim = self._skip_comment(begin, inside)
                continue
            yield Token(Kind.BEGIN, "{{", self._position(begin))
            self._at = inside
            trim = yield from self._action(begin)

    def _trims_before(self, begin: int) -> bool:
        after = self._text[begin + 2 : begin + 4]
        return len(after) == 2 and after[0] == "-" and after[1] in _SPACE

    def _comment_begins(self, inside: int) -> bool:
        return self._text.startswith("/*", inside)

    def _skip_comment(self, begin: int, inside: int) -> bool:
        end = self._text.find("*/", inside + 2)
        if end < 0:
            raise self._error("the comment does not end; it needs `*/}}`", begin)
        self._at = end + 2
        closes = self._closing()
        if closes is None:
            raise self._error("a comment must be alone in its `{{ }}`: `{{/* … */}}`", end)
        length, trims = closes
        self._at += length
        return trims

    def _action(self, begin: int) -> Generator[Token, None, bool]:
        while True:
            closes = self._closing()
            if closes is not None:
                length, trims = closes
                yield Token(Kind.END, "}}", self._position(self._at))
                self._at += length
                return trims
            if self._at >= len(self._text):
                raise self._error("the action does not end; it needs `}}`", begin)
            yield self._token()

    def _closing(self) -> tuple[int, bool] | None:
        """If a right delimiter comes next: its length, and whether it trims."""
        if self._text.startswith("}}", self._at):
            return 2, False
        head = self._text[self._at : self._at + 4]
        if len(head) == 4 and head[0] in _SPACE and head[1:] == "-}}":
            return 4, True
        return None

    def _token(self) -> Token:
        match = _TOKEN.match(self._text, self._at)
        if match is None or match.lastgroup is None:
            raise self._error(_refusal(self._text, self._at), self._at)
        kind = _KINDS[match.lastgroup]
        token = Token(kind, match.group(), self._position(self._at))
        self._at = match.end()
        if kind in _NAMES and not self._at_delimiter():
            raise self._error(_unexpected(self._text[self._at]), self._at)
        return token

    def _at_delimiter(self) -> bool:
        following = self._text[self._at : self._at + 1]
        return not following or following in _DELIMITERS or self._text.startswith("}}", self._at)

    def _position(self, at: int) -> Position:
        line = bisect_right(self._lines, at)
        return Position(line, at - self._lines[line - 1] + 1)

    def _error(self, message: str, at: int) -> TemplateError:
        position = self._position(at)
        return TemplateError(message, position.line, position.column)


def _refusal(text: str, at: int) -> str:
    char = text[at]
    if char == '"':
        return 'the string does not end; it needs `"` on the same line'
    if char == "`":
        return "the raw string does not end; it needs a backquote"
    if char == "'":
        return "the character does not end; it needs `'` on the same line"
    if text.startswith("/*", at):
        return "a comment must be alone in its `{{ }}`: `{{/* … */}}`"
    return _unexpected(char)


def _unexpected(char: str) -> str:
    if char == "-":
        return (
            "unexpected `-`; a name with dashes cannot be reached by a dot: give the component a "
            '`var_name` without dashes, or write `index … "my-name"`'
        )
    return f"unexpected {char!r}"
