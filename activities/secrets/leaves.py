"""The texts within a value that is secret: what is masked of it wherever it appears.

A text that is JSON or YAML holds secrets of its own, which a template or a module takes out of it.
Not all of what it holds is secret: `enabled: true` must not hide every `true`.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Mapping

from activities.secrets.documents import documents
from activities.secrets.words import is_common, is_name, is_word

_SHORTEST_PART = 4
"""Characters of what is masked for being part of a secret."""

_SHORTEST_ENCODED = 8

_DEEPEST = 4
"""Texts that are JSON, in texts that are JSON."""


def leaves(value: object) -> Iterable[str]:
    """What is to be masked of a value; the same text may come several times."""
    for text in _texts(value):
        if text and not is_word(text):
            yield text
            yield from _parts(text, 1)


def _texts(value: object) -> Iterable[str]:
    """Every string and number at any depth, and keys that are no names."""
    # Not recursive: a secret may be nested as deeply as its parser takes.
    values = [value]
    while values:
        one = values.pop()
        if isinstance(one, Mapping):
            values += one.values()
            yield from (key for key in map(str, one) if _is_secret_key(key))
        elif isinstance(one, list | tuple):
            values += one
        elif one is not None and not isinstance(one, bool):
            yield str(one)


def _is_secret_key(key: str) -> bool:
    return len(key) >= _SHORTEST_PART and not is_name(key)


def _parts(text: str, depth: int) -> Iterable[str]:
    for decoded in (*_documents(text), *_of_base64(text)):
        for part in _texts(decoded):
            if len(part) >= _SHORTEST_PART and not is_common(part):
                yield part
                if depth < _DEEPEST:
                    yield from _parts(part, depth + 1)


def _documents(text: str) -> list[object]:
    if text.lstrip()[:1] in ("{", "["):
        try:
            return [json.loads(text)]
        except (ValueError, RecursionError):
            return documents(text)
    return documents(text) if ": " in text or ":\n" in text or "- " in text else []


def _of_base64(text: str) -> list[object]:
    if len(text) < _SHORTEST_ENCODED:
        return []
    try:
        decoded = base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, ValueError):
        return []
    return [decoded] if decoded.replace("\n", "").isprintable() else []
