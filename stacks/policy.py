"""The worker's policy: what the customer allows. A file of theirs, which the vendor never writes.

It lies beside the enrolment file as `policy.toml`, and the worker reads it anew at each operation.
No message of the contract carries any of it: what the vendor sends can tighten or loosen nothing.
"""

import hashlib
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

POLICY: Final = "policy.toml"
"""Its name, beside the enrolment file."""

Operation = Literal["provision", "deploy", "teardown", "deprovision", "action"]
OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: Final[tuple[Day, ...]] = get_args(Day)

Approver = Literal["vendor", "customer", "both"]

_LOOK_AHEAD_DAYS: Final = 9


class PolicyError(ValueError):
    """A policy cannot be used; the message has one line for each problem."""


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            f"{name!r} is no time zone that this machine knows; write for example Europe/Berlin"
        ) from error
    return name


def _clock_time(value: object) -> object:
    """A time of day as people write it; TOML has one of its own (`22:00:00`), which is taken too.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, time) and value.tzinfo is None:
        return value
    if isinstance(value, str):
        with suppress(ValueError):
            return datetime.strptime(value, "%H:%M").time()
    raise ValueError(f"{value!r} is no time of day; write for example 22:00")


ClockTime = Annotated[time, BeforeValidator(_clock_time)]


class Window(BaseModel):
    """Hours of some days of the week; over midnight where `to` is not after `from`."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    days: Annotated[list[Day], Field(min_length=1)] = list(DAYS)
    from_: Annotated[ClockTime, Field(alias="from")] = time(0)
    to: ClockTime = time(0)
    zone: Annotated[str, AfterValidator(_zone)] = "UTC"

    def is_open(self, now: datetime) -> bool:
        """Whether the time lies in it."""
        return any(begin <= now < end for begin, end in self._around(now))

    def opens(self, now: datetime) -> datetime:
        """When it opens next, in its own time zone."""
        return min(begin for begin, _ in self._around(now) if begin > now)

    def _around(self, now: datetime) -> Iterator[tuple[datetime, datetime]]:
        """The times that it is open, from the day before on."""
        today = now.astimezone(ZoneInfo(self.zone)).date()
        for ahead in range(-1, _LOOK_AHEAD_DAYS):
            day = today + timedelta(days=ahead)
            if DAYS[day.weekday()] in self.days:
                until = day if self.to > self.from_ else day + timedelta(days=1)
                yield self._at(day, self.from_), self._at(until, self.to)

    def _at(self, day: date, clock: time) -> datetime:
        # By way of UTC: times of one zone are compared by the clock, which is wrong twice a year.
        local = datetime.combine(day, clock, ZoneInfo(self.zone))
        return local.astimezone(UTC).astimezone(ZoneInfo(self.zone))


class Policy(BaseModel):
    """What the customer allows; without a file, what is written here."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    operations: list[Operation] = list(OPERATIONS)
    """What the worker may be told to do, besides what only reads."""
    actions: list[Annotated[str, Field(min_length=1)]] = ["*"]
    """Names of actions that may run; `*` stands for any characters."""
    ad_hoc_scripts: bool = False
    """Whether scripts may run that are not of a release which was brought to this install."""
    hours: list[Window] = []
    """When an apply may begin; at any time where there is none. Plans are made at any time."""
    approval: Approver = "vendor"
    """Whose approval an apply needs. The vendor's side asks for its own in any case."""
    traces: bool = True
    """Whether the worker tells the vendor's gateway what ran, how long, and how it ended."""
    digest: Annotated[str, Field(exclude=True)] = ""
    """SHA-256 of the file; empty where there is none."""

    @staticmethod
    def read(path: Path, *, required: bool = False) -> "Policy":
        """Read a policy file; one that is not there allows the defaults.

        Args:
            path: The file.
            required: Whether it must be there.

        Raises:
            PolicyError: the file cannot be read, is no TOML, or does not fit.
        """
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            if required:
                raise PolicyError(f"{path} is not there") from error
            return Policy()
        except OSError as error:
            raise PolicyError(f"{path} cannot be read: {error.strerror}") from error
        try:
            values = tomllib.loads(data.decode())
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise PolicyError(f"{path} is no TOML: {error}") from error
        if "digest" in values:
            raise PolicyError(_unknown(f"{path}: digest"))
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        try:
            return Policy.model_validate(values | {"digest": digest})
        except ValidationError as error:
            raise PolicyError(
                "\n".join(_problem(str(path), found) for found in error.errors())
            ) from error

    def allows_action(self, name: str) -> bool:
        """Whether an action of that name may run."""
        return any(fnmatchcase(name, pattern) for pattern in self.actions)

    def is_open(self, now: datetime) -> bool:
        """Whether an apply may begin at that time."""
        return not self.hours or any(window.is_open(now) for window in self.hours)

    def opens(self, now: datetime) -> datetime:
        """When applies may begin next; to be asked where there are hours, and none is open."""
        return min(window.opens(now) for window in self.hours)

    @property
    def asks_customer(self) -> bool:
        """Whether an apply needs the approval of somebody on the customer's side."""
        return self.approval != "vendor"

    def rules(self) -> list[str]:
        """The keys that are set to something else than the default, by name."""
        default = Policy()
        keys = [name for name in Policy.model_fields if name != "digest"]
        return [name for name in keys if getattr(self, name) != getattr(default, name)]


def _unknown(where: str) -> str:
    known = ", ".join(name for name in Policy.model_fields if name != "digest")
    return f"{where}: there is no such key; the keys are {known}"


def _problem(where: str, found: Any) -> str:
    location = [str(part) for part in found["loc"]]
    at = f"{where}: {'.'.join(location)}"
    match found["type"]:
        case "extra_forbidden" if len(location) == 1:
            return _unknown(at)
        case "extra_forbidden":
            return f"{at}: there is no such key; the keys are days, from, to, zone"
        case "value_error":
            return f"{at}: {found['ctx']['error']}"
        case _:
            return f"{at}: {found['msg']}, not {found['input']!r}"


DEFAULT_POLICY: Final = """\
# What the install worker may do here. It is yours: nothing that the vendor sends can change it. The
# worker reads it anew at each operation; while it cannot be read, or has a wrong key, nothing is
# changed. Each line that is commented out tells what holds without it.

# What the worker may be told to do, besides what only reads. The end of an install (deprovision)
# tears components down, so it needs "teardown", too.
#operations = ["provision", "deploy", "teardown", "deprovision", "action"]

# Which of the release's actions may run: names, where * stands for any characters.
#actions = ["*"]

# Whether scripts may run that are not of a release which was brought to this install.
#ad_hoc_scripts = false

# Whose approval an apply needs: "vendor", "customer" or "both". With the latter two it waits until
# somebody here has approved exactly that plan: exclave worker plans, exclave worker approve.
#approval = "vendor"

# Whether the worker sends traces to the vendor's gateway: which activity and which tool ran, when,
# how long and how it ended, by names, ids and digests; no values, no messages, no output.
#traces = true

# When an apply may begin; at any time where nothing is said. It waits until then; plans are made
# at any time, and actions run at any time.
#[[hours]]
#days = ["mon", "tue", "wed", "thu"]
#from = "22:00"
#to = "05:00"
#zone = "Europe/Berlin"
"""
