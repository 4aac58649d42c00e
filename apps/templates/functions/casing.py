"""sprig's camelcase, snakecase and kebabcase: the words of a name, joined in another way."""

import unicodedata
from collections.abc import Callable, Mapping
from enum import Enum

from apps.templates.functions.function import WALKED, Function, typed
from apps.templates.functions.strings import SPACE, lower_char, upper_char


class _Word(Enum):
    NONE = "none"
    NUMBER = "number"
    UPPER = "upper"
    LETTERS = "letters"
    CONNECTOR = "connector"
    PUNCTUATION = "punctuation"
    OTHER = "other"


def _is_connector(char: str) -> bool:
    return char in "-_" or char in SPACE


def _is_upper(char: str) -> bool:
    return unicodedata.category(char) == "Lu"


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char).startswith("P")


def _is_number(char: str) -> bool:
    return unicodedata.category(char).startswith("N")


def _is_letter(char: str) -> bool:
    # Chinese, Japanese and Korean characters do not count as letters here.
    return unicodedata.category(char).startswith("L") and not (
        "\u4e00" <= char <= "\u9fcc"
        or "\u3400" <= char <= "\u4d85"
        or "\U00020000" <= char <= "\U0002b81d"
    )


def _camel_case(text: str) -> str:
    """Words joined, each with a capital first letter."""
    start = next((at for at, char in enumerate(text) if not _is_connector(char)), len(text))
    made = list(text[:start])
    rest = text[start:]
    if not rest:
        return text + text[-1:]
    first_upper = _is_upper(rest[0])
    current = upper_char(rest[0])
    for char in rest[1:]:
        before, current = current, char
        if _is_connector(before):
            if _is_connector(current):
                made.append(before)
            else:
                first_upper = _is_upper(current)
                current = upper_char(current)
            continue
        if first_upper:
            if _is_upper(current):
                current = lower_char(current)
            else:
                first_upper = False
        made.append(before)
    return "".join([*made, current])


def _joined_lower(text: str, connector: str) -> str:
    """Words in lower case, joined by the connector."""
    made: list[str] = []
    kind, word, at = _next_word(text, 0)
    while at < len(text):
        if kind is not _Word.CONNECTOR:
            made.append(_lowered(kind, word, connector))
        previous, last = kind, word
        kind, word, at = _next_word(text, at)
        if previous is _Word.CONNECTOR:
            made.append(_lowered(previous, last, connector))
        elif previous is _Word.NUMBER:
            kind, word, at = _with_number(text, (kind, word, at), made, connector)
        elif previous is not _Word.PUNCTUATION:
            kind, word, at = _after_letters(text, (kind, word, at), made, connector)
    made.append(_lowered(kind, word, connector))
    return "".join(made)


_Found = tuple[_Word, str, int]


def _with_number(text: str, found: _Found, made: list[str], connector: str) -> _Found:
    """Letters and digits right after a number belong to it; a connector stands behind them."""
    kind, word, at = found
    while kind in (_Word.LETTERS, _Word.NUMBER):
        made.append(_lowered(kind, word, connector))
        kind, word, at = _next_word(text, at)
    if kind not in (_Word.NONE, _Word.PUNCTUATION, _Word.CONNECTOR):
        made.append(connector)
    return kind, word, at


def _after_letters(text: str, found: _Found, made: list[str], connector: str) -> _Found:
    kind, word, at = found
    if kind is not _Word.NUMBER:
        if kind not in (_Word.CONNECTOR, _Word.PUNCTUATION):
            made.append(connector)
        return found
    if at >= len(text):
        return found
    number = word
    kind, word, at = _next_word(text, at)
    if kind is not _Word.LETTERS:
        made.append(number)
        if kind not in (_Word.CONNECTOR, _Word.PUNCTUATION):
            made.append(connector)
        return kind, word, at
    made.extend((connector, number))
    return _with_number(text, (kind, word, at), made, connector)


def _lowered(kind: _Word, word: str, connector: str) -> str:
    if kind not in (_Word.UPPER, _Word.CONNECTOR):
        return word
    return "".join(
        connector if _is_connector(char) else lower_char(char) if _is_upper(char) else char
        for char in word
    )


def _next_word(text: str, at: int) -> _Found:
    """The kind of the word that begins here, the word, and where the next one begins."""
    if at >= len(text):
        return _Word.NONE, "", at
    first = text[at]
    if _is_connector(first):
        kind, end = _Word.CONNECTOR, _while(text, at + 1, _is_connector)
    elif _is_punctuation(first):
        kind, end = _Word.PUNCTUATION, _while(text, at + 1, _is_punctuation)
    elif _is_upper(first):
        kind, end = _Word.UPPER, _end_of_capitals(text, at + 1)
    elif _is_letter(first):
        kind, end = _Word.LETTERS, _while(text, at + 1, _is_small)
    elif _is_number(first):
        kind, end = _Word.NUMBER, _while(text, at + 1, _is_number)
    else:
        kind, end = _Word.OTHER, _while(text, at + 1, _is_other)
    return kind, text[at:end], end


def _end_of_capitals(text: str, at: int) -> int:
    if at >= len(text):
        return at
    if _is_upper(text[at]):
        end = _while(text, at + 1, _is_upper)
        # The last capital of `HTTPStatus` begins the next word.
        return end - 1 if end < len(text) and _is_letter(text[end]) else end
    return _while(text, at, _is_small)


def _is_small(char: str) -> bool:
    return _is_letter(char) and not _is_upper(char)


def _is_other(char: str) -> bool:
    return not (
        _is_connector(char) or _is_letter(char) or _is_number(char) or _is_punctuation(char)
    )


def _while(text: str, at: int, holds: Callable[[str], bool]) -> int:
    return next((end for end in range(at, len(text)) if not holds(text[end])), len(text))


FUNCTIONS: Mapping[str, Function] = {
    "camelcase": typed(_camel_case, WALKED),
    "snakecase": typed(lambda text: _joined_lower(text, "_"), WALKED),
    "kebabcase": typed(lambda text: _joined_lower(text, "-"), WALKED),
}
