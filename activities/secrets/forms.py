"""The forms in which tools print a value: as JSON, HCL, URLs, shells, Python and HTML escape it."""

import html
import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, quote_plus

from activities.secrets.search import without_halves
from activities.secrets.words import says_nothing

_LONGEST = 1024
"""Characters. What is longer is looked for line by line, and long lines in pieces of this size: the
text around a page of a log that must be read would grow with it otherwise."""

_UNCHANGED: Final = re.compile(r"[A-Za-z0-9_.-]*")
_ONLY_IN_URLS: Final = re.compile(r"[A-Za-z0-9_.~:;,/?@#!()*=+ -]*")
"""What nothing else escapes."""

_JSON_LEVELS = 3
_JSON_HEX: Final = re.compile(r"\\u([0-9a-f]{4})")
_HEX: Final = re.compile(r"%[0-9A-F]{2}")

_NOT_ASCII: Final = re.compile(r"[^\0-\x7f]")
_MARKUP: Final = re.compile(r"[^\0-\x7f]|[<>&\"']")

_GO_JSON: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""What Go's JSON, so Terraform's `jsonencode`, escapes besides what everybody does."""


def forms(text: str) -> Iterable[str]:
    """The ways in which tools print a value. Base64 is decoded elsewhere."""
    text = without_halves(text)
    for piece in _pieces(text):
        yield piece
        if not _UNCHANGED.fullmatch(piece):
            for same in _composed(piece):
                yield same
                yield from _of_piece(same)


def _composed(text: str) -> set[str]:
    """With an ä of one character and of two: file systems and databases change one to the other."""
    if text.isascii():
        return {text}
    return {text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)}


def _pieces(text: str) -> Iterable[str]:
    if len(text) <= _LONGEST:
        yield text
        if "\n" in text:
            yield from _lines(text)
        return
    for stripped in _lines(text):
        starts = range(0, max(1, len(stripped) - _LONGEST + 1), _LONGEST)
        for start in [*starts, max(0, len(stripped) - _LONGEST)]:
            yield stripped[start : start + _LONGEST]


def _lines(text: str) -> Iterable[str]:
    lines = (line.strip() for line in text.splitlines())
    return (line for line in lines if not says_nothing(line))


def _of_piece(text: str) -> Iterable[str]:
    yield text.strip()
    yield from _in_urls(text)
    if not text.isascii():
        # As bytes that were decoded from base64 are looked at.
        yield text.encode().decode("latin-1")
    if _ONLY_IN_URLS.fullmatch(text):
        return
    yield from _in_programs(text)
    escaped = {text}
    # JSON within JSON: a policy document in an attribute, which Terraform escapes once more.
    for _ in range(_JSON_LEVELS):
        escaped = {again for one in escaped for again in _escaped(one)}
        yield from escaped


def _escaped(text: str) -> Iterable[str]:
    """As JSON and HCL escape it."""
    readable = json.dumps(text, ensure_ascii=False)[1:-1]
    yield readable
    ascii_only = json.dumps(text)[1:-1]
    yield ascii_only
    yield _JSON_HEX.sub(lambda found: f"\\u{found[1].upper()}", ascii_only)
    yield readable.translate(_GO_JSON)
    yield readable.replace("${", "$${").replace("%{", "%%{")


def _in_urls(text: str) -> Iterable[str]:
    for once in _percent(text):
        for encoded in (once, _HEX.sub(lambda found: found.group().lower(), once)):
            yield encoded
            # A URL within another.
            yield encoded.replace("%", "%25")
            yield encoded.replace("%", "%25").replace("+", "%2B")


def _percent(text: str) -> Iterable[str]:
    yield quote(text)
    yield quote(text, safe="")
    yield quote_plus(text)
    # JavaScript's.
    yield quote(text, safe="!'()*")
    # What Go leaves as it is in a path, and in a user's name and password.
    yield quote(text, safe="$&+=:@")
    yield quote(text, safe="$&+,;=")


def _in_programs(text: str) -> Iterable[str]:
    """As shells trace it (`set -x`), and as Python and markup show it."""
    yield text.replace("'", "'\\''")
    yield text.replace("'", "'\"'\"'")
    yield repr(text)[1:-1]
    marked_up = html.escape(text, quote=False)
    for double in ('"', "&quot;", "&#34;"):
        for single in ("'", "&#x27;", "&#39;", "&apos;"):
            yield marked_up.replace('"', double).replace("'", single)
    if _MARKUP.search(text):
        yield _MARKUP.sub(lambda found: f"&#{ord(found[0])};", text)
        yield _MARKUP.sub(lambda found: f"&#x{ord(found[0]):x};", text)
        yield _MARKUP.sub(lambda found: f"&#x{ord(found[0]):X};", text)
    if not text.isascii():
        yield from (_with_entities(one) for one in (text, marked_up, html.escape(text)))


def _with_entities(text: str) -> str:
    """With names like `&auml;` where there are some, and numbers otherwise."""
    return _NOT_ASCII.sub(lambda found: _entity(found[0]), text)


def _entity(character: str) -> str:
    # Not at the top: it is a long table.
    from html.entities import codepoint2name  # noqa: PLC0415

    name = codepoint2name.get(ord(character))
    return f"&{name};" if name else f"&#{ord(character)};"
