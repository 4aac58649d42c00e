"""Reads a text as a `time.Time`, by a layout of Go's."""

import calendar
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone

from apps.templates.errors import FunctionError
from apps.templates.functions.times import DAYS, MONTHS, TOKEN, Time, moment_of


def parsed(layout: str, text: str) -> Time:
    """The time that a text names in a layout; without a zone it is in UTC.

    Raises:
        FunctionError: the text does not follow the layout, or there is no such time.
    """
    reader = _Reader(text)
    at = 0
    for found in TOKEN.finditer(layout):
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
        """Skips literal text of the layout; spaces match any number of spaces."""
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
                # A fraction may follow even if the layout has none.
                self._read_fraction(token, r"[.,]([0-9]+)", needed=False)
        elif token in ("January", "Jan"):
            self._found["month"] = self._name(token, MONTHS, len(token) == 3) + 1
        elif token in ("Monday", "Mon"):
            self._name(token, DAYS, len(token) == 3)
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
        # An abbreviation names the zone, but does not say what its offset is.
        at = datetime(year, month, day, *wall, tzinfo=UTC if self._offset is None else zone)
        moment = moment_of(lambda: at.astimezone(zone))
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
