"""Finds the name that somebody probably meant."""

import difflib
import re
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that `word` most likely stands for, or None if none is close."""
    names = sorted(known)
    parts = _parts(word)
    same_words = [name for name in names if _parts(name) == parts]
    if same_words:
        return same_words[0]
    close = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.6)
    return close[0] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` for a name that is close, otherwise a list of what there is."""
    names = sorted(known)
    close = nearest(word, names)
    if close is not None:
        return f"; did you mean `{close}`?"
    return f"; there is {', '.join(f'`{name}`' for name in names)}" if names else "; there is none"


def _parts(name: str) -> list[str]:
    return sorted(part for part in re.split(r"[-_. ]", name.lower()) if part)
