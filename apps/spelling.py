"""Finds the name that somebody probably meant."""

import difflib
import re
from collections.abc import Collection

_MOST_NAMES = 300
_LONGEST = 64
"""With more or longer names nothing is suggested: a config of any size and content must be checked
within seconds."""

_MOST_LISTED = 40


def nearest(word: str, known: Collection[str]) -> str | None:
    """The known name that `word` most likely stands for, or None if none is close."""
    names = _within_reason(word, known)
    parts = _parts(word)
    same_words = [name for name in names if _parts(name) == parts]
    if same_words:
        return same_words[0]
    close = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.6)
    return close[0] if close else None


def did_you_mean(word: str, known: Collection[str]) -> str:
    """`; did you mean …?` if a known name is close, otherwise a list of the known names."""
    names = _within_reason(word, known)
    close = nearest(word, names)
    if close is not None:
        return f"; did you mean `{close}`?"
    if not names:
        return "" if known else "; there is none"
    listed = ", ".join(f"`{name}`" for name in names[:_MOST_LISTED])
    return f"; there is {listed}{', …' if len(names) > _MOST_LISTED else ''}"


def _within_reason(word: str, known: Collection[str]) -> list[str]:
    if len(word) > _LONGEST or len(known) > _MOST_NAMES:
        return []
    return sorted(name for name in known if len(name) <= _LONGEST)


def _parts(name: str) -> list[str]:
    return sorted(part for part in re.split(r"[-_. ]", name.lower()) if part)
