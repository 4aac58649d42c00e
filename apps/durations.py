"""Reads durations as Go writes them: `30s`, `1m30s`, `1.5h`."""

import re
from datetime import timedelta

_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(ms|us|µs|ns|h|m|s)", re.ASCII)


def parse_duration(text: str) -> timedelta:
    """The duration that `text` says.

    Raises:
        ValueError: it is not a sequence of numbers with units (h, m, s, ms, us, ns).
    """
    total, position = 0.0, 0
    while match := _PART.match(text, position):
        total += float(match[1]) * _SECONDS[match[2]]
        position = match.end()
    if not text or position != len(text):
        raise ValueError(f"{text!r} is not a duration; write it as in 30s, 5m or 1m30s")
    return timedelta(seconds=total)
