"""Splits Terraform's language into blocks and attributes, without understanding expressions.

It knows strings, templates, heredocs, comments and brackets, which is enough to see what a module
declares even where the parser does not know a form that Terraform does.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Final

_SPACE: Final = re.compile(r"(?:\s|#[^\n]*|//[^\n]*|/\*(?s:.*?)\*/|\ufeff)+")
_BLANKS: Final = re.compile(r"(?:[ \t\r]|/\*(?s:.*?)\*/)+")
_NAME: Final = re.compile(r"[^\W\d][\w-]*")
_LABEL: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|[^\W\d][\w-]*')
_HEREDOC: Final = re.compile(r"<<-?([^\W\d][\w-]*)\r?\n")
_COMMENT: Final = re.compile(r"#[^\n]*|//[^\n]*|/\*(?s:.*?)\*/")
_CODE: Final = re.compile(r"[^\"<#/(){}\[\]\n]+|(?s:.)")
_TEXT: Final = re.compile(r'[^"\\$%\n]+|\\.|\$\$\{|%%\{|\$(?!\{)|%(?!\{)')
_CLOSES: Final = {'"': '"', "(": ")", "[": "]", "{": "}"}


class NotBlocks(Exception):
    """The text has no blocks and attributes, or they do not end."""


def declarations(text: str) -> dict[str, Any]:
    """The blocks of a file, in the form in which the parser returns them.

    Values are the text of their expressions.

    Raises:
        NotBlocks: the text cannot be divided.
    """
    return _Scanner(unicodedata.normalize("NFC", text)).body(is_file=True)


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def body(self, *, is_file: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while True:
            self._takes(_SPACE)
            if self._at == len(self._text) and is_file:
                return found
            if not is_file and self._is_next("}"):
                self._at += 1
                return found
            name = self._takes(_NAME)
            if not name:
                raise NotBlocks
            self._takes(_BLANKS)
            if self._is_next("="):
                self._at += 1
                found[name] = "".join(self._expression()).strip()
            else:
                found.setdefault(name, []).append(self._block())

    def _block(self) -> dict[str, Any]:
        labels = []
        while label := self._takes(_LABEL):
            labels.append(label)
            self._takes(_BLANKS)
        if not self._is_next("{"):
            raise NotBlocks
        self._at += 1
        block = self.body()
        for label in reversed(labels):
            block = {label: block}
        return block

    def _expression(self) -> Iterator[str]:
        """The expression's text, without comments, up to the end of its line or its block."""
        open_: list[str] = []
        while self._at < len(self._text):
            if open_ and open_[-1] == '"':
                yield self._in_string(open_)
                continue
            if self._takes(_COMMENT):
                continue
            if heredoc := _HEREDOC.match(self._text, self._at):
                yield self._heredoc(heredoc)
                continue
            if not open_ and self._text[self._at] in "\n}":
                return
            piece = self._takes(_CODE)
            if piece in _CLOSES:
                open_.append(piece)
            elif (piece == "/" and self._is_next("*")) or (
                piece in ")]}" and (not open_ or _CLOSES[open_.pop()] != piece)
            ):
                raise NotBlocks
            yield piece
        if open_:
            raise NotBlocks

    def _in_string(self, open_: list[str]) -> str:
        if piece := self._takes(_TEXT):
            return piece
        if self._is_next('"'):
            self._at += 1
            open_.pop()
            return '"'
        if self._is_next("\n"):
            raise NotBlocks
        # A template, whose inside is code.
        self._at += 2
        open_.append("{")
        return self._text[self._at - 2 : self._at]

    def _heredoc(self, begin: re.Match[str]) -> str:
        """A whole heredoc, up to the line that has its mark alone."""
        mark = re.compile(rf"^[ \t]*{re.escape(begin[1])}[ \t\r]*$", re.MULTILINE)
        end = mark.search(self._text, begin.end())
        if end is None:
            raise NotBlocks
        self._at = end.end()
        return self._text[begin.start() : self._at]

    def _is_next(self, sign: str) -> bool:
        return self._text.startswith(sign, self._at)

    def _takes(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            return ""
        self._at = match.end()
        return match[0]
