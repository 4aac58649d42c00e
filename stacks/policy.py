"""The worker's policy: what the customer allows.

It is the customer's own file, `policy.toml` beside the enrolment file, and the worker reads it
again for each operation. The vendor never writes it, and no message of the contract contains any of
it, so the vendor can neither tighten nor loosen it.
"""

import hashlib
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from wire.setting_problems import Place, problems

POLICY: Final = "policy.toml"
"""The name of the file, beside the enrolment file."""

OperationKind = Literal["provision", "deploy", "teardown", "deprovision", "action"]
OPERATIONS: Final[tuple[OperationKind, ...]] = get_args(OperationKind)

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: Final[tuple[Day, ...]] = get_args(Day)

Approver = Literal["vendor", "customer", "both"]

_LOOK_AHEAD_DAYS: Final = 9


class PolicyError(ValueError):
    """A policy is unusable; the message has one line for each problem."""


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            f"{name!r} is not a time zone that this machine knows; write for example Europe/Berlin"
        ) from error
    return name


def _clock_time(value: object) -> object:
    """A time of day, as the string `22:00` or as TOML's own type (`22:00:00`).

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, time) and value.tzinfo is None:
        return value
    if isinstance(value, str):
        with suppress(ValueError):
            return datetime.strptime(value, "%H:%M").time()
    raise ValueError(f"{value!r} is not a time of day; write for example 22:00")


ClockTime = Annotated[time, BeforeValidator(_clock_time)]


class Window(BaseModel):
    """Hours on some days of the week, past midnight if `to` is not after `from`."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    days: Annotated[list[Day], Field(min_length=1)] = list(DAYS)
    from_: Annotated[ClockTime, Field(alias="from")] = time(0)
    to: ClockTime = time(0)
    zone: Annotated[str, AfterValidator(_zone)] = "UTC"

    def is_open(self, now: datetime) -> bool:
        """Whether the window is open at that time."""
        return any(begin <= now < end for begin, end in self._around(now))

    def opens(self, now: datetime) -> datetime:
        """The next time that it opens, in its own time zone."""
        return min(begin for begin, _ in self._around(now) if begin > now)

    def _around(self, now: datetime) -> Iterator[tuple[datetime, datetime]]:
        """The spans in which it is open, beginning with the previous day."""
        today = now.astimezone(ZoneInfo(self.zone)).date()
        for ahead in range(-1, _LOOK_AHEAD_DAYS):
            day = today + timedelta(days=ahead)
            if DAYS[day.weekday()] in self.days:
                until = day if self.to > self.from_ else day + timedelta(days=1)
                yield self._at(day, self.from_), self._at(until, self.to)

    def _at(self, day: date, clock: time) -> datetime:
        # Normalized via UTC: Python compares times of the same zone by their wall-clock values,
        # which is wrong when clocks change.
        local = datetime.combine(day, clock, ZoneInfo(self.zone))
        return local.astimezone(UTC).astimezone(ZoneInfo(self.zone))


class Policy(BaseModel):
    """What the customer allows; without a file, what is written here."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    operations: list[OperationKind] = list(OPERATIONS)
    """Operations that the worker may be asked for; those that only read are always allowed."""
    actions: list[Annotated[str, Field(min_length=1)]] = ["*"]
    """Names of actions that may run; `*` stands for any characters."""
    ad_hoc_scripts: bool = False
    """Whether scripts may run that do not belong to a release deployed to this install."""
    hours: list[Window] = []
    """When an apply may begin; if empty, at any time. Plans are made at any time."""
    approval: Approver = "vendor"
    """Whose approval an apply needs. The vendor's side always asks for its own."""
    traces: bool = True
    """Whether the worker reports to the vendor's gateway what ran, how long, and how it ended."""
    digest: Annotated[str, Field(exclude=True)] = ""
    """SHA-256 of the file; empty if there is none."""

    @staticmethod
    def read(path: Path, *, required: bool = False) -> "Policy":
        """Read a policy file; if it does not exist, the defaults hold.

        Args:
            path: The file.
            required: Whether it must exist.

        Raises:
            PolicyError: the file cannot be read, is not TOML, or has wrong keys or values.
        """
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            if required:
                raise PolicyError(f"{path} does not exist") from error
            return Policy()
        except OSError as error:
            raise PolicyError(f"{path} cannot be read: {error.strerror}") from error
        try:
            values = tomllib.loads(data.decode())
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise PolicyError(f"{path} is not TOML: {error}") from error
        if "digest" in values:
            raise PolicyError(f"{path}: digest: there is no such key{_known_keys(('digest',))}")
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        try:
            return Policy.model_validate(values | {"digest": digest})
        except ValidationError as error:
            raise PolicyError(problems(error, path, _known_keys)) from error

    def allows_action(self, name: str) -> bool:
        """Whether an action of that name may run."""
        return any(fnmatchcase(name, pattern) for pattern in self.actions)

    def is_open(self, now: datetime) -> bool:
        """Whether an apply may begin at that time."""
        return not self.hours or any(window.is_open(now) for window in self.hours)

    def opens(self, now: datetime) -> datetime:
        """When applies may begin next; call it only if there are hours and none is open."""
        return min(window.opens(now) for window in self.hours)

    @property
    def asks_customer(self) -> bool:
        """Whether an apply needs the customer's approval."""
        return self.approval != "vendor"

    def rules(self) -> list[str]:
        """The names of the keys that differ from the default."""
        default = Policy()
        keys = [name for name in Policy.model_fields if name != "digest"]
        return [name for name in keys if getattr(self, name) != getattr(default, name)]


def _known_keys(place: Place) -> str:
    if len(place) > 1:
        return "; the keys are days, from, to, zone"
    return f"; the keys are {', '.join(name for name in Policy.model_fields if name != 'digest')}"


DEFAULT_POLICY: Final = """\
# What the install worker may do here. This file is yours: nothing that the vendor sends can change
# it. The worker reads it again for each operation; while it cannot be read, or has a wrong key, the
# worker changes nothing. Each line that is commented out shows the default.

# The operations that the worker may be asked for; those that only read are always allowed. The end
# of an install (deprovision) tears components down, so it needs "teardown", too.
#operations = ["provision", "deploy", "teardown", "deprovision", "action"]

# Which of the release's actions may run: names, where * stands for any characters.
#actions = ["*"]

# Whether scripts may run that do not belong to a release deployed to this install.
#ad_hoc_scripts = false

# Whose approval an apply needs: "vendor", "customer" or "both". With "customer" or "both" it waits
# until somebody here has approved exactly that plan: exclave worker plans, exclave worker approve.
#approval = "vendor"

# Whether the worker sends traces to the vendor's gateway: which activity and which tool ran, when,
# how long and how it ended. They contain names, ids and digests; no values, messages or output.
#traces = true

# When an apply may begin; without hours, at any time. Outside of them an apply waits; plans are
# made and actions run at any time.
#[[hours]]
#days = ["mon", "tue", "wed", "thu"]
#from = "22:00"
#to = "05:00"
#zone = "Europe/Berlin"
"""
