"""sprig's regular expressions: RE2, whose syntax Go's are, and whose time is bounded."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from apps.templates.errors import FunctionError
from apps.templates.functions.function import INT, STRING, Function, typed
from apps.templates.go_types import NilStrings, Strings, decoded, encoded
from apps.templates.limits import check_text

MAX_SEARCHED = 256 * 1024
"""Bytes: what a match costs grows with the text behind it."""
MAX_MATCHES = 20_000


@lru_cache(maxsize=16)
def _compiled(pattern: str) -> Any:
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415 - few templates need it

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(encoded(pattern), options)
    except re2.error as error:
        raise FunctionError(f"the regular expression is wrong: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return decoded(reason) if isinstance(reason, bytes) else str(reason)


def _searched(text: str) -> bytes:
    data = encoded(text)
    if len(data) > MAX_SEARCHED:
        raise FunctionError(
            f"the text is longer than the {MAX_SEARCHED} bytes in which expressions are searched"
        )
    return data


def _width(data: bytes, at: int) -> int:
    """The bytes of the character that stands here; 0 at the end."""
    if at >= len(data):
        return 0
    end = at + 1
    while end < len(data) and end < at + 4 and data[end] & 0xC0 == 0x80:
        end += 1
    return end - at


def _matches(pattern: str, data: bytes, most: int) -> Iterator[Any]:
    """All matches as Go finds them: no empty match right after another match."""
    compiled = _compiled(pattern)
    at, count, before = 0, 0, -1
    while at <= len(data) and (most < 0 or count < most):
        match = compiled.search(data, at)
        if match is None:
            return
        start, end = match.span()
        is_new = True
        if end == at:
            is_new = start != before
            at += _width(data, at) or 1
        else:
            at = end
        before = end
        if is_new:
            count += 1
            if count > MAX_MATCHES:
                raise FunctionError(f"there are more than {MAX_MATCHES} matches")
            yield match


def _match(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(_searched(text)) is not None


def _lenient_match(pattern: str, text: str) -> bool:
    try:
        _compiled(pattern)
    except FunctionError:
        return False
    return _match(pattern, text)


def _find(pattern: str, text: str) -> str:
    match = _compiled(pattern).search(_searched(text))
    return "" if match is None else decoded(match.group())


def _find_all(pattern: str, text: str, most: int) -> Strings:
    found = [decoded(match.group()) for match in _matches(pattern, _searched(text), most)]
    return Strings(found) if found else NilStrings()


def _split(pattern: str, text: str, most: int) -> Strings:
    compiled, data = _compiled(pattern), _searched(text)
    if most == 0:
        return NilStrings()
    if compiled.pattern and not data:
        return Strings([""])
    parts: list[bytes] = []
    begin = end = 0
    for match in _matches(pattern, data, most):
        if 0 < most <= len(parts) + 1:
            break
        end = match.start()
        if match.end() != 0:
            parts.append(data[begin:end])
        begin = match.end()
    if end != len(data):
        parts.append(data[begin:])
    return Strings(map(decoded, parts))


def _replace(pattern: str, text: str, replacement: str) -> str:
    data = _searched(text)
    pieces = _template(replacement)
    return _replaced(pattern, data, pieces)


def _replace_literally(pattern: str, text: str, replacement: str) -> str:
    return _replaced(pattern, _searched(text), [encoded(replacement)])


_Piece = bytes | int | str
"""Text, or a group by its number or name."""


def _replaced(pattern: str, data: bytes, pieces: list[_Piece]) -> str:
    made: list[bytes] = []
    size = copied = 0
    for match in _matches(pattern, data, -1):
        before = data[copied : match.start()]
        filled = _filled(pieces, match)
        size += len(before) + len(filled)
        check_text(size)
        made.extend((before, filled))
        copied = match.end()
    made.append(data[copied:])
    return decoded(b"".join(made))


def _filled(pieces: list[_Piece], match: Any) -> bytes:
    # The names are bytes, as the expression is.
    groups = match.re.groupindex
    filled: list[bytes] = []
    for piece in pieces:
        if isinstance(piece, bytes):
            filled.append(piece)
            continue
        number = groups.get(encoded(piece)) if isinstance(piece, str) else piece
        if number is not None and number <= match.re.groups:
            filled.append(match.group(number) or b"")
    return b"".join(filled)


def _template(replacement: str) -> list[_Piece]:
    """`$1`, `${1}`, `$name`, `${name}` and `$$`; any other `$` is text."""
    pieces: list[_Piece] = []
    rest = replacement
    while True:
        before, dollar, rest = rest.partition("$")
        pieces.append(encoded(before))
        if not dollar:
            return pieces
        if rest.startswith("$"):
            pieces.append(b"$")
            rest = rest[1:]
            continue
        name, rest_after = _group_name(rest)
        if not name:
            pieces.append(b"$")
            continue
        rest = rest_after
        is_number = name.isascii() and name.isdigit() and len(name) < 9
        leading_zero = name[0] == "0" and len(name) > 1
        pieces.append(int(name) if is_number and not leading_zero else name)


def _group_name(text: str) -> tuple[str, str]:
    braced = text.startswith("{")
    inner = text[1:] if braced else text
    end = next(
        (
            at
            for at, char in enumerate(inner)
            if not (char.isalpha() or char.isdecimal() or char == "_")
        ),
        len(inner),
    )
    if end == 0 or (braced and inner[end : end + 1] != "}"):
        return "", text
    return inner[:end], inner[end + 1 if braced else end :]


def _quoted(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\.+*?()|[]{}^$" else char for char in text)


_FAILING: Mapping[str, Function] = {
    "Match": typed(_match, STRING, STRING),
    "Find": typed(_find, STRING, STRING),
    "FindAll": typed(_find_all, STRING, STRING, INT),
    "Split": typed(_split, STRING, STRING, INT),
    "ReplaceAll": typed(_replace, STRING, STRING, STRING),
    "ReplaceAllLiteral": typed(_replace_literally, STRING, STRING, STRING),
}

FUNCTIONS: Mapping[str, Function] = {
    **{f"mustRegex{name}": function for name, function in _FAILING.items()},
    # Also these fail for a wrong expression, but for the first.
    **{f"regex{name}": function for name, function in _FAILING.items()},
    "regexMatch": typed(_lenient_match, STRING, STRING),
    "regexQuoteMeta": typed(_quoted, STRING),
}
