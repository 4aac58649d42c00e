"""Paths of keys within a TOML file, as they are shown: `steps[0].env_vars.URL`."""

import json
import re
from functools import lru_cache

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LAST = re.compile(r"""(?:^|\.)(?:"(?:[^"\\]|\\.)*"|[A-Za-z0-9_-]+)$|\[\d+\]$""")


def below(at: str, *parts: str | int) -> str:
    """The path of something below `at` (empty for the whole file): keys, and indexes of lists.

    A key that TOML requires in quotes is shown in quotes.
    """
    for part in parts:
        if isinstance(part, int):
            at += f"[{part}]"
        else:
            at += f".{_shown(part)}" if at else _shown(part)
    return at


@lru_cache(maxsize=1024)
def _shown(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def joined(at: str, path: str) -> str:
    """The path that follows `path` from `at` on."""
    separator = "." if at and path and not path.startswith("[") else ""
    return f"{at}{separator}{path}"


def parent(path: str) -> str:
    """The path directly above `path`; empty for the whole file."""
    return _LAST.sub("", path) if path else ""
