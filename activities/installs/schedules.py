"""`install.set_schedules`: keeps a Temporal schedule for each action that runs at set times."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from temporalio import activity
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleHandle,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.service import RPCError, RPCStatusCode

from activities.heartbeats import heartbeating
from apps.config.app import AppConfig
from apps.cron import cron_problem
from apps.triggers import triggered_actions
from contracts import schedules as declared
from contracts.actions import ActionInput
from contracts.errors import BadConfig
from contracts.names import (
    ATTRIBUTE_APP,
    ATTRIBUTE_COMPONENT,
    ATTRIBUTE_INSTALL,
    ATTRIBUTE_STATUS,
    CONTROL_QUEUE,
)
from contracts.schedules import MOST_SCHEDULES, CronAction, SchedulesSet, SetSchedules, schedule_id

CATCH_UP = timedelta(minutes=10)
"""A start that was missed by more than this is not made up for, since yesterday's health check is
of no use. Temporal's own default is a year."""

ATTRIBUTE_KEYS = {
    name: SearchAttributeKey.for_keyword(name)
    for name in (ATTRIBUTE_APP, ATTRIBUTE_INSTALL, ATTRIBUTE_COMPONENT, ATTRIBUTE_STATUS)
}


class ScheduleActivities:
    """Runs on the control worker, which may change the namespace's schedules."""

    def __init__(self, client: Client, config: Callable[[str, str], AppConfig]) -> None:
        """Make schedules.

        Args:
            client: Connected to the org's namespace.
            config: Reads the config of an app's release; blocks, and raises the contract's errors.
        """
        self._client = client
        self._config = config

    @activity.defn(name=declared.SET_SCHEDULES.name)
    async def set_schedules(self, input: SetSchedules) -> SchedulesSet:
        """Create, change and delete schedules until exactly the wanted ones exist.

        A schedule that is right already is left alone, and one that somebody paused stays paused.

        Raises:
            BadConfig: a time cannot be read, or comes too often, or there are too many.
            NotThere, Unreachable: the release cannot be read.
        """
        async with heartbeating() as say:
            actions = await self._actions(input)
            _refuse_too_much(actions, input)
            wanted = dict(_numbered(input.install, actions))
            for name, action in wanted.items():
                say(f"sets {name}")
                await self._set(name, _schedule(input, action))
            for name in sorted(await self._known(input) - wanted.keys()):
                say(f"deletes {name}")
                await self._delete(name)
            return SchedulesSet(schedules=sorted(wanted))

    async def _actions(self, input: SetSchedules) -> Sequence[CronAction]:
        """The actions to schedule. Without a release there are none, or an older control worker
        has listed them in the input."""
        if input.release is None:
            return input.actions
        config = await asyncio.to_thread(self._config, input.app, input.release)
        return [
            CronAction(action=action.name, cron=trigger.cron_schedule)
            for action, trigger in triggered_actions(config)
            if trigger.type == "cron" and trigger.cron_schedule
        ]

    async def _set(self, id: str, schedule: Schedule) -> None:
        attributes = _attributes(schedule)
        try:
            await self._client.create_schedule(id, schedule, search_attributes=attributes)
        except ScheduleAlreadyRunningError:
            await self._change(self._client.get_schedule_handle(id), schedule)
        except RPCError as error:
            raise _typed(error, id) from error

    async def _change(self, handle: ScheduleHandle, wanted: Schedule) -> None:
        def changed(now: ScheduleUpdateInput) -> ScheduleUpdate | None:
            found = now.description.schedule
            # Whoever paused it wants it to stay paused.
            wanted.state.paused = found.state.paused
            wanted.state.note = found.state.note if found.state.paused else wanted.state.note
            return None if _same(now, wanted) else ScheduleUpdate(wanted)

        try:
            await handle.update(changed)
        except RPCError as error:
            raise _typed(error, handle.id) from error

    async def _delete(self, id: str) -> None:
        try:
            await self._client.get_schedule_handle(id).delete()
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise

    async def _known(self, input: SetSchedules) -> set[str]:
        """The schedules that the caller knows of and those that the server lists, since the
        server's list lags behind."""
        query = f"{ATTRIBUTE_INSTALL} = '{input.install}'"
        listed = await self._client.list_schedules(query)
        return {*input.known, *[one.id async for one in listed]}


def _refuse_too_much(actions: Sequence[CronAction], input: SetSchedules) -> None:
    """Raise BadConfig if there are too many times, or if one cannot be read or comes too often."""
    whose = f"The release of {input.app} for {input.install}"
    if len(actions) > MOST_SCHEDULES:
        raise BadConfig(
            f"{whose} has {len(actions)} times at which actions run, more than the "
            f"{MOST_SCHEDULES} that an install may have. Have one action do more, or write several "
            "minutes or hours into one `cron_schedule`, as in `0,30 4 * * *`."
        )
    for one in actions:
        problem = cron_problem(one.cron)
        if problem:
            raise BadConfig(f"{whose}, action {one.action}, `cron_schedule`: {problem[:500]}.")


def _numbered(install: str, actions: Sequence[CronAction]) -> list[tuple[str, CronAction]]:
    numbers: dict[str, int] = {}
    found = []
    for one in actions:
        number = numbers.get(one.action, 0)
        numbers[one.action] = number + 1
        found.append((schedule_id(install, one.action, number), one))
    return found


def _schedule(input: SetSchedules, action: CronAction) -> Schedule:
    start = ScheduleActionStartWorkflow(
        "Action",
        ActionInput(install=input.install, action=action.action, trigger="cron"),
        # Temporal appends the time.
        id=f"action/{input.install}/{action.action}/cron",
        task_queue=CONTROL_QUEUE,
        static_summary=f"{action.action} on {input.install}: cron {action.cron}",
        typed_search_attributes=_pairs(
            {
                ATTRIBUTE_APP: input.app,
                ATTRIBUTE_INSTALL: input.install,
                ATTRIBUTE_COMPONENT: action.action,
                ATTRIBUTE_STATUS: "running",
            }
        ),
    )
    schedule = Schedule(
        action=start,
        spec=ScheduleSpec(cron_expressions=[action.cron]),
        # If the action is still running, the next start would add nothing.
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=CATCH_UP),
    )
    schedule.state.note = f"{action.cron} (UTC), as the release of {input.app} has it"
    return schedule


def _attributes(schedule: Schedule) -> TypedSearchAttributes:
    """The schedule's own attributes, by which an install's schedules are listed."""
    action = schedule.action
    if not isinstance(action, ScheduleActionStartWorkflow):
        raise AssertionError("`_schedule` makes no other kind of action")
    install = action.typed_search_attributes[ATTRIBUTE_KEYS[ATTRIBUTE_INSTALL]]
    return _pairs({ATTRIBUTE_INSTALL: install})


def _pairs(values: dict[str, str]) -> TypedSearchAttributes:
    return TypedSearchAttributes(
        [SearchAttributePair(ATTRIBUTE_KEYS[name], value) for name, value in values.items()]
    )


def _same(now: ScheduleUpdateInput, wanted: Schedule) -> bool:
    """Whether it starts the same workflow at the same times. Our note holds the times and the
    app; but the note of a paused schedule is the person's who paused it, and proves nothing."""
    found, action = now.description.schedule, wanted.action
    return (
        not found.state.paused
        and found.state.note == wanted.state.note
        and found.policy == wanted.policy
        and isinstance(found.action, ScheduleActionStartWorkflow)
        and isinstance(action, ScheduleActionStartWorkflow)
        and (found.action.id, found.action.task_queue) == (action.id, action.task_queue)
    )


def _typed(error: RPCError, id: str) -> Exception:
    if error.status == RPCStatusCode.INVALID_ARGUMENT:
        return BadConfig(f"The schedule {id} cannot be made: {error.message}")
    return error
