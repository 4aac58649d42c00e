"""Go's `time.Time`: its layouts, in which a certain date stands for the parts of any other."""

import calendar
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from apps.templates.errors import FunctionError
from apps.templates.go_types import Opaque

_TOKEN = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2|_2006|_2|__2|3|4|5|PM|pm"
    r"|-070000|-07:00:00|-0700|-07:00|-07|Z070000|Z07:00:00|Z0700|Z07:00|Z07"
    r"|[.,](?:0+|9+)(?![0-9])"
)
# Python's own names follow the machine's locale.
_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September",
           "October", "November", "December"]  # fmt: skip
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

_RFC3339 = "2006-01-02T15:04:05.999999999Z07:00"


@dataclass(frozen=True)
class Time(Opaque):
    """A `time.Time`, from year 1 to 9999."""

    type_name = "time.Time"
    kind = "struct"

    moment: datetime
    nanoseconds: int = 0
    """Within the second: a datetime has none."""
    zone: str | None = None
    """The zone's name, if it is not the one that the datetime knows."""

    def __str__(self) -> str:
        return formatted(self, "2006-01-02 15:04:05.999999999 -0700 MST")

    def json_text(self) -> str:
        """As RFC 3339 has it."""
        return formatted(self, _RFC3339)

    def unix(self) -> int:
        """Seconds since 1970."""
        return (self.moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)

    def within(self, zone: tzinfo) -> "Time":
        """The same moment elsewhere."""
        return Time(_moment(lambda: self.moment.astimezone(zone)), self.nanoseconds)

    def later(self, nanoseconds: int) -> "Time":
        """The moment that is so much later."""
        seconds, rest = divmod(self.nanoseconds + nanoseconds, 10**9)
        # Within a zone, Python counts by the clock on the wall.
        moved = _moment(lambda: self.moment.astimezone(UTC) + timedelta(seconds=seconds))
        return Time(_moment(lambda: moved.astimezone(self.moment.tzinfo)), rest, self.zone)

    def field(self, name: str) -> object:
        """A part of the time, such as `.Year`."""
        moment = self.moment
        known: dict[str, object] = {
            "Year": moment.year, "Day": moment.day, "YearDay": moment.timetuple().tm_yday,
            "Hour": moment.hour, "Minute": moment.minute, "Second": moment.second,
            "Nanosecond": self.nanoseconds, "String": str(self),
        }  # fmt: skip
        if name not in known:
            raise FunctionError(
                f"`.{name}` of a time is not supported; format it with `date`, or use one of "
                f"{', '.join(known)}"
            )
        return known[name]


def _moment(make: Callable[[], datetime]) -> datetime:
    try:
        return make()
    except OverflowError:
        raise FunctionError("the time is before year 1 or after year 9999") from None


def at_unix(seconds: int) -> Time:
    """The moment so many seconds after 1970.

    Raises:
        FunctionError: it is too far away.
    """
    return Time(_moment(lambda: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)))


def formatted(time: Time, layout: str) -> str:
    """The text of a time in a layout."""
    made: list[str] = []
    at = 0
    for found in _TOKEN.finditer(layout):
        made.append(layout[at : found.start()])
        made.append(_part(time, found[0]))
        at = found.end()
    return "".join([*made, layout[at:]])


def _part(time: Time, token: str) -> str:
    moment = time.moment
    write = _PARTS.get(token)
    if write is not None:
        return write(moment)
    if token[0] in "-Z":
        return _offset(moment, token)
    if token == "MST":  # noqa: S105 - no password
        return _zone_name(time)
    return _fraction(time.nanoseconds, token)


def _hour12(moment: datetime) -> int:
    return moment.hour % 12 or 12


_PARTS: Mapping[str, Callable[[datetime], str]] = {
    "January": lambda at: _MONTHS[at.month - 1],
    "Jan": lambda at: _MONTHS[at.month - 1][:3],
    "Monday": lambda at: _DAYS[at.weekday()],
    "Mon": lambda at: _DAYS[at.weekday()][:3],
    "01": lambda at: f"{at.month:02}",
    "02": lambda at: f"{at.day:02}",
    "03": lambda at: f"{_hour12(at):02}",
    "04": lambda at: f"{at.minute:02}",
    "05": lambda at: f"{at.second:02}",
    "06": lambda at: f"{at.year % 100:02}",
    "002": lambda at: f"{at.timetuple().tm_yday:03}",
    "15": lambda at: f"{at.hour:02}",
    "1": lambda at: str(at.month),
    "2006": lambda at: f"{at.year:04}",
    "_2006": lambda at: f"_{at.year:04}",
    "2": lambda at: str(at.day),
    "_2": lambda at: f"{at.day:2}",
    "__2": lambda at: f"{at.timetuple().tm_yday:3}",
    "3": lambda at: str(_hour12(at)),
    "4": lambda at: str(at.minute),
    "5": lambda at: str(at.second),
    "PM": lambda at: "PM" if at.hour >= 12 else "AM",
    "pm": lambda at: "pm" if at.hour >= 12 else "am",
}


def _offset_seconds(moment: datetime) -> int:
    offset = moment.utcoffset() or timedelta()
    return offset.days * 86400 + offset.seconds


def _offset(moment: datetime, token: str) -> str:
    seconds = _offset_seconds(moment)
    if token[0] == "Z" and seconds == 0:
        return "Z"
    colon = ":" if ":" in token else ""
    minutes, rest = divmod(abs(seconds), 60)
    text = f"{'-' if seconds <= -60 else '+'}{minutes // 60:02}"
    if len(token) > 3:
        text += f"{colon}{minutes % 60:02}"
    if len(token) > 6:
        text += f"{colon}{rest:02}"
    return text


def _zone_name(time: Time) -> str:
    name = time.moment.tzname() if time.zone is None else time.zone
    return name or _offset(time.moment, "-0700")


def _fraction(nanoseconds: int, token: str) -> str:
    digits = f"{nanoseconds:09}"[: len(token) - 1].ljust(len(token) - 1, "0")
    if token[1] == "0":
        return token[0] + digits
    digits = digits.rstrip("0")
    return token[0] + digits if digits else ""


def parsed(layout: str, text: str) -> Time:
    """The time that a text names in a layout; without a zone it is in UTC.

    Raises:
        FunctionError: the text does not follow the layout, or there is no such time.
    """
    reader = _Reader(text)
    at = 0
    for found in _TOKEN.finditer(layout):
        reader.skip(layout[at : found.start()])
        reader.read(found[0], fraction_next=bool(re.match(r"[.,][09]", layout[found.end() :])))
        at = found.end()
    reader.skip(layout[at:])
    return reader.time()


class _Reader:
    """Reads a text by the parts of a layout."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[str, int] = {}
        self._half: str | None = None
        self._offset: int | None = None
        self._zone: str | None = None

    def skip(self, prefix: str) -> None:
        """Text that the layout has as it is; spaces match any number of spaces."""
        for piece in re.findall(r" +|[^ ]+", prefix):
            if piece[0] == " ":
                if self._text and self._text[0] != " ":
                    raise self._wrong(piece)
                self._text = self._text.lstrip(" ")
            elif self._text.startswith(piece):
                self._text = self._text[len(piece) :]
            else:
                raise self._wrong(piece)

    def read(self, token: str, *, fraction_next: bool) -> None:
        if token in ("_2", "__2"):
            self._text = re.sub(rf"\A {{0,{len(token) - 1}}}", "", self._text)
        if token[0] == "_" and len(token) > 4:
            self.skip("_")
            token = token[1:]
        if token in _NUMBERS:
            name, pattern, least, most = _NUMBERS[token]
            self._number(token, name, pattern, least, most)
            if name == "second" and not fraction_next:
                # A fraction may follow, though the layout has none.
                self._read_fraction(token, r"[.,]([0-9]+)", needed=False)
        elif token in ("January", "Jan"):
            self._found["month"] = self._name(token, _MONTHS, len(token) == 3) + 1
        elif token in ("Monday", "Mon"):
            self._name(token, _DAYS, len(token) == 3)
        elif token in ("PM", "pm"):
            self._half = self._take(token, "(AM|PM)" if token == "PM" else "(am|pm)")[1].upper()  # noqa: S105 - no password
        elif token[0] in "-Z":
            self._read_offset(token)
        elif token == "MST":  # noqa: S105 - no password
            self._read_zone(token)
        elif token[1] == "0":
            self._read_fraction(token, rf"[.,]([0-9]{{{len(token) - 1}}})", needed=True)
        else:
            self._read_fraction(token, r"[.,]([0-9]+)", needed=False)

    def _wrong(self, part: str) -> FunctionError:
        # The layout is the vendor's; the text may be data.
        return FunctionError(f"the time does not follow its layout at `{part}`")

    def _take(self, token: str, pattern: str) -> re.Match[str]:
        found = re.match(pattern, self._text)
        if found is None:
            raise self._wrong(token)
        self._text = self._text[found.end() :]
        return found

    def _number(self, token: str, name: str, pattern: str, least: int, most: int) -> None:
        number = int(self._take(token, pattern)[0])
        if not least <= number <= most:
            raise FunctionError(f"the {name} of the time is out of range")
        if token == "06":  # noqa: S105 - no password
            number += 1900 if number >= 69 else 2000
        self._found[name] = number

    def _name(self, token: str, names: list[str], short: bool) -> int:
        for index, name in enumerate(names):
            known = name[:3] if short else name
            if self._text[: len(known)].lower() == known.lower():
                self._text = self._text[len(known) :]
                return index
        raise self._wrong(token)

    def _read_fraction(self, token: str, pattern: str, *, needed: bool) -> None:
        if needed or re.match(r"[.,][0-9]", self._text):
            digits = self._take(token, pattern)[1]
            self._found["nanosecond"] = int(digits[:9].ljust(9, "0"))

    def _read_offset(self, token: str) -> None:
        if token[0] == "Z" and self._text.startswith("Z"):
            self._text = self._text[1:]
            self._offset, self._zone = 0, "UTC"
            return
        colon = ":" if ":" in token else ""
        parts = (len(token.replace(":", "")) - 1) // 2
        found = self._take(token, r"([+-])([0-9]{2})" + f"{colon}([0-9]{{2}})" * (parts - 1))
        hours, minutes, seconds = (*(int(part) for part in found.groups()[1:]), 0, 0)[:3]
        if hours > 24 or minutes > 60 or seconds > 60:
            raise FunctionError("the zone of the time is out of range")
        offset = (hours * 60 + minutes) * 60 + seconds
        self._offset = -offset if found[1] == "-" else offset

    def _read_zone(self, token: str) -> None:
        if self._text.startswith("UTC"):
            self._take(token, "UTC")
            self._offset, self._zone = 0, "UTC"
            return
        found = self._take(
            token,
            r"ChST|MeST|GMT(?:[+-](?:2[0-3]|[01]?[0-9])(?![0-9]))?|[+-](?:2[0-3]|[01]?[0-9])(?![0-9])"
            r"|[A-Z]{4}T(?![A-Z])|(?:[A-Z]{3}T|WITA)(?![A-Z])|[A-Z]{3}(?![A-Z])",
        )
        self._zone = found[0]

    def time(self) -> Time:
        if self._text:
            raise FunctionError("the time has more text than its layout")
        found = self._found
        hour = found.get("hour", 0)
        if self._half == "PM" and hour < 12:
            hour += 12
        elif self._half == "AM" and hour == 12:
            hour = 0
        year, (month, day) = found.get("year", 0), self._date()
        if year == 0:
            raise FunctionError("a time without a year, or of year 0, is not supported")
        offset = self._offset
        if offset is None and self._zone is not None and self._zone.startswith("GMT"):
            offset = int(self._zone[3:] or 0) * 3600
        zone = timezone(timedelta(seconds=offset)) if offset else UTC
        name = self._zone
        if name is None and offset:
            name = ""
        wall = (hour, found.get("minute", 0), found.get("second", 0))
        # An abbreviation says what the zone is called, not where the clock on the wall hangs.
        at = datetime(year, month, day, *wall, tzinfo=UTC if self._offset is None else zone)
        moment = _moment(lambda: at.astimezone(zone))
        return Time(moment, found.get("nanosecond", 0), None if name == "UTC" else name)

    def _date(self) -> tuple[int, int]:
        found = self._found
        year, month, day = found.get("year", 0), found.get("month"), found.get("day")
        if "yearday" in found:
            first = datetime(max(year, 1), 1, 1)
            date = first + timedelta(days=found["yearday"] - 1)
            if date.year != first.year or month not in (None, date.month):
                raise FunctionError("the day of the year is out of range, or of another month")
            if day not in (None, date.day):
                raise FunctionError("the day of the year is not that day of the month")
            return date.month, date.day
        month, day = month or 1, 1 if day is None else day
        if not 1 <= day <= calendar.monthrange(max(year, 1), month)[1]:
            raise FunctionError("the day of the time is out of range")
        return month, day


_ONE_OR_TWO, _TWO = r"[0-9]{1,2}", r"[0-9]{2}"

_NUMBERS: Mapping[str, tuple[str, str, int, int]] = {
    "2006": ("year", r"[0-9]{4}", 0, 9999), "06": ("year", _TWO, 0, 99),
    "01": ("month", _TWO, 1, 12), "1": ("month", _ONE_OR_TWO, 1, 12),
    "02": ("day", _TWO, 0, 99), "2": ("day", _ONE_OR_TWO, 0, 99),
    "_2": ("day", _ONE_OR_TWO, 0, 99),
    "002": ("yearday", r"[0-9]{3}", 1, 366), "__2": ("yearday", r"[0-9]{1,3}", 1, 366),
    "15": ("hour", _ONE_OR_TWO, 0, 23), "03": ("hour", _TWO, 0, 12),
    "3": ("hour", _ONE_OR_TWO, 0, 12),
    "04": ("minute", _TWO, 0, 59), "4": ("minute", _ONE_OR_TWO, 0, 59),
    "05": ("second", _TWO, 0, 59), "5": ("second", _ONE_OR_TWO, 0, 59),
}  # fmt: skip
