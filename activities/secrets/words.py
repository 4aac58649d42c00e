"""What is no secret by itself, though it may stand in one."""

import re
from typing import Final

_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "none", "nil"})
_COMMON: Final = re.compile(
    "undefined|default|enabled?|disabled?|always|never|auto|latest|stable"
    "|info|debug|warn|warning|error|fatal|trace|localhost|https?|grpc|utf-8"
    "|name|value|data|type|kind|string|number|bool|boolean|list|object"
    "|production|prod|staging|stage|development|dev|testing|test|public|private|internal|external"
    "|admin|root|user|username|password|secret|token|postgres|postgresql|mysql|redis|mongodb"
)

_SHORT_NUMBER: Final = re.compile(r"[+-]?\d{1,3}")
_PLAIN_NUMBER: Final = re.compile(r"[+-]?\d{1,5}(?:\.\d{1,3})?")
_PART_OF_NAME: Final = r"[A-Za-z]{1,30}\d{0,3}"
_NAME: Final = re.compile(rf"[\W_]*{_PART_OF_NAME}(?:[\W_]+{_PART_OF_NAME})*[\W_]*")
_SETTING: Final = re.compile(
    r"""["']?([\w./-]+)["']?\s*[:=]\s*(?:[|>][+-]?|["']?([^"']*)["']?,?)"""
)


def is_word(text: str) -> bool:
    """Whether the text alone says nothing: to hide it would hide counts and switches everywhere."""
    word = text.strip().lower()
    return word in _WORDS or _SHORT_NUMBER.fullmatch(word) is not None


def is_common(part: str) -> bool:
    """Whether a part of a secret is a word or number that configurations are full of."""
    word = part.strip().lower()
    known = (_COMMON, _PLAIN_NUMBER)
    return not word or is_word(word) or any(pattern.fullmatch(word) for pattern in known)


def is_name(key: str) -> bool:
    """Whether a key of a map reads like a name, and not like a value."""
    return _NAME.fullmatch(key) is not None


def says_nothing(line: str) -> bool:
    """Whether a line of a secret holds no secret: a key alone, or one with a common value."""
    found = _SETTING.fullmatch(line)
    if found is None:
        return is_common(line)
    key, value = found.groups(default="")
    return is_name(key) and is_common(value)
