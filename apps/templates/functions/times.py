"""Go's `time.Time`: its layouts, in which a certain date stands for the parts of any other."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from apps.templates.errors import FunctionError
from apps.templates.go_types import Opaque

TOKEN = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2|_2006|_2|__2|3|4|5|PM|pm"
    r"|-070000|-07:00:00|-0700|-07:00|-07|Z070000|Z07:00:00|Z0700|Z07:00|Z07"
    r"|[.,](?:0+|9+)(?![0-9])"
)
# Python's own names follow the machine's locale.
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September",
           "October", "November", "December"]  # fmt: skip
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

_RFC3339 = "2006-01-02T15:04:05.999999999Z07:00"


@dataclass(frozen=True)
class Time(Opaque):
    """A `time.Time`, from year 1 to 9999."""

    type_name = "time.Time"
    kind = "struct"

    moment: datetime
    nanoseconds: int = 0
    """Within the second, since a datetime has no nanoseconds."""
    zone: str | None = None
    """The zone's name, if it differs from the datetime's."""

    def __str__(self) -> str:
        return formatted(self, "2006-01-02 15:04:05.999999999 -0700 MST")

    def json_text(self) -> str:
        """The time in the format of RFC 3339."""
        return formatted(self, _RFC3339)

    def unix(self) -> int:
        """Seconds since 1970."""
        return (self.moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)

    def within(self, zone: tzinfo) -> "Time":
        """The same moment in another zone."""
        return Time(moment_of(lambda: self.moment.astimezone(zone)), self.nanoseconds)

    def later(self, nanoseconds: int) -> "Time":
        """The moment that is that much later."""
        seconds, rest = divmod(self.nanoseconds + nanoseconds, 10**9)
        # Within a zone, Python adds in local clock time.
        moved = moment_of(lambda: self.moment.astimezone(UTC) + timedelta(seconds=seconds))
        return Time(moment_of(lambda: moved.astimezone(self.moment.tzinfo)), rest, self.zone)

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


def moment_of(make: Callable[[], datetime]) -> datetime:
    """What `make` returns.

    Raises:
        FunctionError: it is outside of what a datetime can hold.
    """
    try:
        return make()
    except OverflowError:
        raise FunctionError("the time is before year 1 or after year 9999") from None


def at_unix(seconds: int) -> Time:
    """The moment that many seconds after 1970.

    Raises:
        FunctionError: it is too far away.
    """
    return Time(moment_of(lambda: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)))


def formatted(time: Time, layout: str) -> str:
    """The text of a time in a layout."""
    made: list[str] = []
    at = 0
    for found in TOKEN.finditer(layout):
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
    "January": lambda at: MONTHS[at.month - 1],
    "Jan": lambda at: MONTHS[at.month - 1][:3],
    "Monday": lambda at: DAYS[at.weekday()],
    "Mon": lambda at: DAYS[at.weekday()][:3],
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
