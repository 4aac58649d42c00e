"""The schedules of an install's actions, as Temporal's server keeps them."""

from typing import Any

import pytest
from temporalio.client import (
    Client,
    ScheduleActionExecutionStartWorkflow,
    ScheduleDescription,
    ScheduleOverlapPolicy,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.testing import ActivityEnvironment

from activities.installs.schedules import CATCH_UP, ScheduleActivities
from apps.config.actions import Action, ActionStep, ActionTrigger
from apps.config.app import AppConfig
from apps.config.metadata import Metadata
from contracts.schedules import MOST_SCHEDULES, CronAction, SchedulesSet, SetSchedules
from tests.workflows.workflow_site import RELEASE, Site, until

pytestmark = pytest.mark.asyncio(loop_scope="session")

OFTEN, RARELY = "*/5 * * * *", "0 3 * * 1"


async def have(site: Site, *actions: tuple[str, str], known: list[str] | None = None) -> list[str]:
    """Have exactly these; returns their ids."""
    wanted = [CronAction(action=action, cron=cron) for action, cron in actions]
    return await set_schedules(
        site, SetSchedules(install=site.install, app=site.app, actions=wanted, known=known or [])
    )


async def set_schedules(site: Site, input: SetSchedules, *crons: str) -> list[str]:
    """As the control worker does, where releases have an action `health` at these times."""
    triggers = [ActionTrigger(type="cron", cron_schedule=cron) for cron in crons]
    manual = ActionTrigger(type="manual")
    health = Action(
        name="health", triggers=[*triggers, manual], steps=[ActionStep(name="one", command="true")]
    )
    config = AppConfig(metadata=Metadata(version="v2"), actions=[health])
    asked: list[tuple[str, str]] = []

    def read(app: str, release: str) -> AppConfig:
        asked.append((app, release))
        return config

    activities = ScheduleActivities(site.client, read)
    made: SchedulesSet = await ActivityEnvironment().run(activities.set_schedules, input)
    assert asked == ([(input.app, input.release)] if input.release else [])
    return made.schedules


async def described(client: Client, schedule: str) -> ScheduleDescription | None:
    try:
        return await client.get_schedule_handle(schedule).describe()
    except RPCError:
        return None


async def there(client: Client, schedule: str) -> ScheduleDescription:
    found = await described(client, schedule)
    assert found is not None
    return found


async def test_a_schedule_starts_its_action(site: Site) -> None:
    [schedule] = await have(site, ("health", RARELY))
    assert schedule == f"{site.install}/health/0"
    found = (await there(site.client, schedule)).schedule
    assert found.policy.overlap == ScheduleOverlapPolicy.SKIP
    assert found.policy.catchup_window == CATCH_UP
    await site.client.get_schedule_handle(schedule).trigger()

    async def ran() -> str | None:
        recent = (await there(site.client, schedule)).info.recent_actions
        actions = [one.action for one in recent]
        return next(
            (
                one.workflow_id
                for one in actions
                if isinstance(one, ScheduleActionExecutionStartWorkflow)
            ),
            None,
        )

    run = site.client.get_workflow_handle(await until(ran))
    assert run.id.startswith(f"action/{site.install}/health/cron-")
    result: Any = await run.result()
    assert [step["step"] for step in result["steps"]] == ["step 0", "step 1"]
    assert "health by cron" in site.worker.begun
    told = await run.describe()
    shown = {p.key.name: p.value for p in told.typed_search_attributes}
    assert shown["ExclaveInstall"] == site.install
    assert shown["ExclaveComponent"] == "health"
    assert await told.static_summary() == f"health on {site.install}: cron {RARELY}"
    await have(site)


async def test_what_is_as_it_should_be_is_left_alone(site: Site) -> None:
    [schedule] = await have(site, ("health", OFTEN))
    before = await there(site.client, schedule)
    assert await have(site, ("health", OFTEN)) == [schedule]
    after = await there(site.client, schedule)
    assert after.info.last_updated_at == before.info.last_updated_at is None
    await have(site)


async def test_another_time_takes_effect_and_a_pause_stays(site: Site) -> None:
    [schedule] = await have(site, ("health", OFTEN))
    await site.client.get_schedule_handle(schedule).pause(note="on holiday")
    assert await have(site, ("health", RARELY)) == [schedule]
    found = await there(site.client, schedule)
    assert found.schedule.state.paused
    assert found.schedule.state.note == "on holiday"
    assert found.info.last_updated_at is not None
    [next_time, *_] = found.info.next_action_times
    assert (next_time.hour, next_time.minute, next_time.isoweekday()) == (3, 0, 1)
    await have(site)


async def test_an_action_may_have_several_times(site: Site) -> None:
    made = await have(site, ("health", OFTEN), ("health", RARELY), ("backup", RARELY))
    assert made == [f"{site.install}/{name}" for name in ("backup/0", "health/0", "health/1")]
    assert await have(site, ("health", RARELY), known=made) == [f"{site.install}/health/0"]
    assert await described(site.client, f"{site.install}/health/1") is None
    assert await described(site.client, f"{site.install}/backup/0") is None
    await have(site)


async def test_those_that_only_the_server_knows_of_are_deleted_too(site: Site) -> None:
    [schedule] = await have(site, ("health", OFTEN))
    other = Site(site.client, f"{site.install}-2")
    [others] = await have(other, ("health", OFTEN))

    async def gone() -> bool:
        # The server's list lags behind.
        await have(site)
        return await described(site.client, schedule) is None

    await until(gone)
    assert await described(site.client, others) is not None
    await have(other, known=[others])
    assert await described(site.client, others) is None


async def test_the_release_says_what_runs_by_the_clock_and_not_the_customers_worker(
    site: Site,
) -> None:
    invented = [CronAction(action=f"a{number}", cron="@every 1s") for number in range(150)]
    input = SetSchedules(
        install=site.install, app=site.app, actions=invented, known=[], release=RELEASE
    )
    made = await set_schedules(site, input, OFTEN, RARELY)
    assert made == [f"{site.install}/health/0", f"{site.install}/health/1"]
    assert OFTEN in str((await there(site.client, made[0])).schedule.state.note)
    assert await set_schedules(site, input.model_copy(update={"known": made})) == []
    assert await described(site.client, made[0]) is None


@pytest.mark.parametrize(
    "cron", ["every day", "@every 1s", "@every 90s", "* * * * * *", "* " * 300]
)
async def test_a_time_that_cannot_be_read_or_comes_too_often_is_told(site: Site, cron: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        await have(site, ("backup", RARELY), ("health", cron))
    assert caught.value.type == "BadConfig"
    assert f"for {site.install}, action health, `cron_schedule`" in caught.value.message
    assert len(caught.value.message) < 1000
    assert await described(site.client, f"{site.install}/backup/0") is None


@pytest.mark.parametrize("of_release", [False, True])
async def test_an_install_has_only_so_many_schedules(site: Site, of_release: bool) -> None:
    crons = [f"{number} 4 * * *" for number in range(MOST_SCHEDULES + 1)]
    input = SetSchedules(
        install=site.install,
        app=site.app,
        actions=[CronAction(action="health", cron=cron) for cron in crons],
        release=RELEASE if of_release else None,
    )
    with pytest.raises(ApplicationError) as caught:
        await set_schedules(site, input, *crons)
    assert caught.value.type == "BadConfig"
    assert f"more than the {MOST_SCHEDULES}" in caught.value.message
    assert await described(site.client, f"{site.install}/health/0") is None
