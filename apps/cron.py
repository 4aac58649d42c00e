"""Checks cron expressions: five fields, or a name such as `@daily`, as schedules take them.

An expression is refused if it never comes due, or if cron and Temporal's schedules read it
differently: that a schedule runs at other times than its author meant would be noticed too late.
"""

import re
from dataclasses import dataclass

NAMED_TIMES = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)

_PART = re.compile(r"(\*|[a-z0-9]{1,3})(?:-([a-z0-9]{1,3}))?(?:/(\d{1,4}))?", re.ASCII)
_DAYS_OF_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


@dataclass(frozen=True)
class _Field:
    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()
    """Names of its values, from the lowest on."""


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 7, _DAYS),
)


def cron_problem(text: str) -> str | None:
    """Why the expression is not valid, and what to write instead; None if it is valid."""
    if text in NAMED_TIMES:
        return None
    parts = text.split()
    if len(parts) != len(_FIELDS):
        return (
            f"{text!r} is not a cron expression: write five fields (minute, hour, day of month, "
            "month, day of week; in UTC), as in `30 4 * * *`, or a name such as `@daily`"
        )
    values: list[set[int]] = []
    for field, part in zip(_FIELDS, parts, strict=True):
        try:
            values.append(_values(field, part.lower()))
        except ValueError as error:
            return f"the {field.name} `{part}` {error}"
    if "*" not in {parts[2][:1], parts[4][:1]}:
        return (
            f"`{text}` names days of the month and of the week: cron would run at either, and a "
            "schedule only where both fit; write two triggers, each with one of them"
        )
    if min(values[2]) > max(_DAYS_OF_MONTH[month - 1] for month in values[3]):
        return f"`{text}` never comes: no month in it has a day {min(values[2])}"
    return None


def _values(field: _Field, text: str) -> set[int]:
    """The values that a field stands for.

    Raises:
        ValueError: it stands for none.
    """
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if not match or (match[1] == "*" and match[2]):
            raise ValueError("cannot be read; write as in `*`, `5`, `1-5`, `*/15` or `1,15`")
        step = int(match[3] or 1)
        if not 0 < step <= field.high - field.low:
            raise ValueError(f"has the step {step}; it must be from 1 to {field.high - field.low}")
        low = field.low if match[1] == "*" else _value(field, match[1])
        # A lone value with a step goes up to the highest value.
        open_ended = match[1] == "*" or (match[3] and not match[2])
        high = _value(field, match[2]) if match[2] else field.high if open_ended else low
        if high < low:
            raise ValueError("is a range that ends before it begins")
        found.update(range(low, high + 1, step))
    return found


def _value(field: _Field, text: str) -> int:
    if text in field.words:
        return field.words.index(text) + field.low
    if not text.isdigit() or not field.low <= int(text) <= field.high:
        raise ValueError(f"has the value {text}; it must be from {field.low} to {field.high}")
    return int(text)
