"""Schedules: an install's actions that run at set times, each as a schedule of Temporal."""

from datetime import timedelta

from pydantic import Field

from contracts.activities import Activity
from contracts.messages import Message
from contracts.names import ComponentName, Digest, Name

MOST_SCHEDULES = 50
"""The most that one install may have. It also bounds how many actions start per minute, since a
schedule fires once a minute at most."""


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
    """All that shall run; any other schedule of the install is deleted. If `release` is set, this
    is only what the install's worker reported, and is not used."""
    known: list[str] = Field(default_factory=list)
    """Ids of schedules that the caller knows of, since the server's list lags behind."""
    release: Digest | None = None
    """The release from which the actions and their times are read: a customer's worker must not
    decide how often the vendor's control plane starts something."""


class SchedulesSet(Message):
    """The schedules that the install has now."""

    schedules: list[str]
    """Their ids."""


def schedule_id(install: str, action: str, number: int) -> str:
    """The id of a schedule: an action may have several times, counted from 0."""
    return f"{install}/{action}/{number}"


SET_SCHEDULES = Activity("install.set_schedules", SetSchedules, SchedulesSet, timedelta(minutes=2))
