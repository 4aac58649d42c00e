"""What the app config takes as a cron expression, the server takes as a schedule that comes."""

import pytest
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleSpec,
    ScheduleState,
)

from apps.cron import NAMED_TIMES, cron_problem

pytestmark = pytest.mark.asyncio(loop_scope="session")

TIMES = [
    *sorted(NAMED_TIMES),
    *("* * * * *", "*/5 * * * *", "5/10 * * * *", "0 4,16 * * *", "30 2 1-15/2 * *"),
    *("0 0 * * mon-FRI", "0 0 * * 5-7", "0 0 29 feb *", "0 0 31 1,2 *", "*/59 */23 */30 */11 */7"),
]


async def test_every_time_that_passes_the_check_comes(client: Client, install: str) -> None:
    for number, time in enumerate(TIMES):
        assert cron_problem(time) is None
        schedule = Schedule(
            action=ScheduleActionStartWorkflow("None", id=install, task_queue="nobody"),
            spec=ScheduleSpec(cron_expressions=[time]),
            state=ScheduleState(paused=True),
        )
        handle = await client.create_schedule(f"{install}/{number}", schedule)
        assert (await handle.describe()).info.next_action_times, time
        await handle.delete()
