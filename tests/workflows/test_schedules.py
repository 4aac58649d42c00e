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
from contracts.schedules import CronAction, SchedulesSet, SetSchedules
from tests.workflows.workflow_site import Site, until

pytestmark = pytest.mark.asyncio(loop_scope="session")

OFTEN, RARELY = "*/5 * * * *", "0 3 * * 1"


async def have(site: Site, *actions: tuple[str, str], known: list[str] | None = None) -> list[str]:
    """Have exactly these; returns their ids."""
    wanted = [CronAction(action=action, cron=cron) for action, cron in actions]
    input = SetSchedules(install=site.install, app=site.app, actions=wanted, known=known or [])
    set_schedules = ScheduleActivities(site.client).set_schedules
    made: SchedulesSet = await ActivityEnvironment().run(set_schedules, input)
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


async def test_a_time_that_cannot_be_read_is_told(site: Site) -> None:
    with pytest.raises(ApplicationError) as caught:
        await have(site, ("health", "every day"))
    assert caught.value.type == "BadConfig"
    assert f"{site.install}/health/0" in caught.value.message
