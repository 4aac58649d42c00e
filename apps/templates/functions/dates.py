"""sprig's dates, as far as they depend only on their arguments; `Local` is UTC everywhere."""

import re
from collections.abc import Mapping
from datetime import UTC, tzinfo

from apps.templates.errors import FunctionError
from apps.templates.functions.function import ANY, STRING, Function, Parameter, typed
from apps.templates.functions.time_parsing import parsed
from apps.templates.functions.times import Time, at_unix, formatted
from apps.templates.go_types import Int64, Uint64

_TIME = Parameter("a time.Time", lambda value: isinstance(value, Time))
_HTML = "2006-01-02"

_UNITS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9,
    "h": 3600 * 10**9,
}  # fmt: skip
_PIECE = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^.0-9]+)")
_LONGEST = 2**63


def _in_zone(layout: str, date: object, zone: str) -> str:
    return formatted(_time(date).within(_zone(zone)), layout)


def _time(date: object) -> Time:
    if isinstance(date, Time):
        return date
    if isinstance(date, int) and not isinstance(date, bool | Uint64):
        return at_unix(int(date))
    raise FunctionError(
        "the date must be a time, as `toDate` makes, or whole seconds since 1970; for anything "
        "else sprig reads the clock, and a plan must give the same each time"
    )


def _zone(name: str) -> tzinfo:
    """A zone by its name. One that does not exist is UTC, as in sprig."""
    if name in ("", "UTC", "Local"):
        return UTC
    import zoneinfo  # noqa: PLC0415 - few templates need it

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        if not zoneinfo.available_timezones():
            raise FunctionError(
                "this machine has no time zones; install its package tzdata"
            ) from None
        return UTC


def parsed_duration(text: str) -> int:
    """The nanoseconds of a duration, such as `1h15m30.5s`.

    Raises:
        FunctionError: it is not a duration.
    """
    wrong = FunctionError("the text is not a duration, such as `1h15m30.5s`")
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    total = at = 0
    while at < len(rest) or not rest:
        found = _PIECE.match(rest, at)
        if found is None or not (found[1] or found[2]) or found[3] not in _UNITS:
            raise wrong
        unit = _UNITS[found[3]]
        if len(found[1]) > 20:
            raise wrong
        total += int(found[1] or 0) * unit + _fraction(found[2] or "", unit)
        at = found.end()
    if total > _LONGEST or (sign > 0 and total == _LONGEST):
        raise wrong
    return sign * total


def _fraction(digits: str, unit: int) -> int:
    """A fraction of a unit, by floats as Go has it: beyond 63 bits digits are overlooked."""
    value, scale = 0, 1.0
    for digit in digits[:400]:
        if value > (_LONGEST - 1) // 10 or value * 10 + int(digit) > _LONGEST:
            break
        value, scale = value * 10 + int(digit), scale * 10
    return int(float(value) * (unit / scale))


def _duration_text(nanoseconds: int) -> str:
    """As Go prints a duration: `1h0m5.25s`, `1.5ms`."""
    if nanoseconds == 0:
        return "0s"
    sign, left = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    for unit, size in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
        if left < size * 1000:
            return f"{sign}{_decimal(left, size)}{unit}"
    minutes, rest = divmod(left, 60 * 10**9)
    text = f"{_decimal(rest, 10**9)}s"
    if minutes:
        text = f"{minutes % 60}m{text}"
    if minutes >= 60:
        text = f"{minutes // 60}h{text}"
    return sign + text


def _decimal(value: int, size: int) -> str:
    whole, rest = divmod(value, size)
    fraction = f"{rest:0{len(str(size)) - 1}}".rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)


def _duration(seconds: object) -> str:
    """Seconds, as a string or an int64; sprig reads anything else as 0, even an int."""
    count = 0
    if isinstance(seconds, Int64):
        count = int(seconds)
    elif isinstance(seconds, str) and re.fullmatch(r"[+-]?[0-9]{1,100}", seconds):
        count = max(-_LONGEST, min(_LONGEST - 1, int(seconds)))
    nanoseconds = (count * 10**9 + _LONGEST) % (2 * _LONGEST) - _LONGEST
    return _duration_text(nanoseconds)


def _duration_round(duration: object) -> str:
    """The largest unit of a duration; an int counts as 0, as above."""
    if isinstance(duration, Time):
        raise FunctionError("of a time it reads the clock, and a plan must give the same each time")
    length = 0
    if isinstance(duration, str):
        length = _duration_or_none(duration) or 0
    elif isinstance(duration, Int64):
        length = int(duration)
    hour = 3600 * 10**9
    for unit, size in (
        ("y", 365 * 24 * hour), ("mo", 30 * 24 * hour), ("d", 24 * hour), ("h", hour),
        ("m", 60 * 10**9), ("s", 10**9),
    ):  # fmt: skip
        if abs(length) > size:
            return f"{abs(length) // size}{unit}"
    return "0s"


def _duration_or_none(text: str) -> int | None:
    try:
        return parsed_duration(text)
    except FunctionError:
        return None


def _modify(duration: str, time: Time) -> Time:
    length = _duration_or_none(duration)
    return time if length is None else time.later(length)


def _must_modify(duration: str, time: Time) -> Time:
    return time.later(parsed_duration(duration))


_MODIFY = typed(_modify, STRING, _TIME)
_MUST_MODIFY = typed(_must_modify, STRING, _TIME)
_IN_ZONE = typed(_in_zone, STRING, ANY, STRING)

FUNCTIONS: Mapping[str, Function] = {
    "date": typed(lambda layout, date: _in_zone(layout, date, "UTC"), STRING, ANY),
    "dateInZone": _IN_ZONE,
    "date_in_zone": _IN_ZONE,
    "htmlDate": typed(lambda date: _in_zone(_HTML, date, "UTC"), ANY),
    "htmlDateInZone": typed(lambda date, zone: _in_zone(_HTML, date, zone), ANY, STRING),
    # sprig gives year 1 for a text that does not follow the layout, which nobody means.
    "toDate": typed(parsed, STRING, STRING),
    "mustToDate": typed(parsed, STRING, STRING),
    "dateModify": _MODIFY,
    "date_modify": _MODIFY,
    "mustDateModify": _MUST_MODIFY,
    "must_date_modify": _MUST_MODIFY,
    "unixEpoch": typed(lambda time: str(time.unix()), _TIME),
    "duration": typed(_duration, ANY),
    "durationRound": typed(_duration_round, ANY),
}
