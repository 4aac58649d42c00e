"""Reads the literals of a template, which are written as Go writes them."""

import re

from apps.templates.lexer import Kind, Token, error_at

_INT64 = range(-(2**63), 2**63)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL
)
_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\",
}  # fmt: skip


def literal(token: Token) -> str | int | float | bool:
    """The value of a string, number, character (which is a number) or bool.

    Raises:
        TemplateError: it has no value, or one that Go cannot hold.
    """
    match token.kind:
        case Kind.WORD:
            return token.text == "true"
        case Kind.RAW:
            return token.text[1:-1].replace("\r", "")
        case Kind.STRING:
            return _unquoted(token, '"')
        case Kind.CHARACTER:
            text = _unquoted(token, "'")
            if len(text) != 1:
                raise error_at(f'{token.text} is not one character; write strings in `"`', token)
            return ord(text)
        case _:
            return _number(token)


def _number(token: Token) -> int | float:
    text = token.text
    try:
        if re.fullmatch(r"[+-]?\d[\d_]*", text) and len(text) < 100:
            # A leading zero means octal in Go.
            digits = text.lstrip("+-")
            octal = len(digits) > 1 and digits[0] == "0"
            number: int | float = int(text, 8 if octal else 10)
        elif re.match(r"[+-]?0[xXoObB]", text):
            number = int(text, 0)
        else:
            number = float(text)
    except ValueError:
        raise error_at(f"`{text}` is not a number", token) from None
    if isinstance(number, int) and number not in _INT64:
        raise error_at(f"`{text}` does not fit into 64 bits", token)
    if number in (float("inf"), float("-inf")):
        raise error_at(f"`{text}` is too large", token)
    return number


def _unquoted(token: Token, quote: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        byte, short, long, octal, simple = match.groups()
        if simple is not None:
            if simple != quote and simple not in _SIMPLE:
                raise error_at(f"unknown escape `\\{simple}` in {token.text[:40]}", token)
            return _SIMPLE.get(simple, simple)
        if short or long:
            code = int(short or long, 16)
            if code > 0x10FFFF or 0xD800 <= code < 0xE000:
                raise error_at("an escape in a string is not a valid character", token)
            return chr(code)
        # Bytes are surrogates until the whole string is known to be UTF-8.
        code = int(byte, 16) if byte else int(octal, 8)
        if code > 0xFF:
            raise error_at("an escape in a string is not a byte", token)
        return chr(code) if code < 0x80 else chr(0xDC00 + code)

    text = _ESCAPE.sub(replaced, token.text[1:-1])
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        raise error_at("the string is not UTF-8", token) from None
