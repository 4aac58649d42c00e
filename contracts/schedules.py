"""Schedules: the actions of an install that a clock starts, each as one of Temporal's schedules."""

from datetime import timedelta

from pydantic import Field

from contracts.activities import Activity
from contracts.messages import Message
from contracts.names import ComponentName, Digest, Name

MOST_SCHEDULES = 50
"""Of one install. Together they start an action at most so many times a minute, since no time that
a schedule takes comes more often than that."""


class CronAction(Message):
    """An action, and when it is to run."""

    action: ComponentName
    cron: str
    """Five fields, or a name such as `@daily`; in UTC."""


class SetSchedules(Message):
    """The input of `install.set_schedules`."""

    install: Name
    app: Name
    actions: list[CronAction]
    """All that shall run; any other schedule of the install is deleted. Where `release` is named,
    what the install's worker says of it, which decides nothing."""
    known: list[str] = Field(default_factory=list)
    """Ids of schedules that the caller knows of: the server's list of them lags behind."""
    release: Digest | None = None
    """Whose actions they are: it is read which ones, and when. A customer's worker is not asked how
    often the vendor's control plane starts something."""


class SchedulesSet(Message):
    """The schedules that the install has now."""

    schedules: list[str]
    """Their ids."""


def schedule_id(install: str, action: str, number: int) -> str:
    """The id of a schedule: an action may have several times, counted from 0."""
    return f"{install}/{action}/{number}"


SET_SCHEDULES = Activity("install.set_schedules", SetSchedules, SchedulesSet, timedelta(minutes=2))
