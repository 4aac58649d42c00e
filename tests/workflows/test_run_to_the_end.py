"""An engine without a plan: its one activity runs to the end, and nobody is asked."""

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from temporalio import activity

from contracts.activities import Activity
from contracts.deploys import Applied, RunInput
from contracts.engines import ENGINES, EngineSpec, RunToTheEnd, by_type
from contracts.errors import EngineFailed
from tests.workflows.workflow_plane import control_plane
from tests.workflows.workflow_site import (
    FakeControl,
    FakeWorker,
    Site,
    approve,
    decision,
    failure,
    outcomes,
)
from workflows.runs.install_run import InstallRun

RUN = Activity("job.run", RunInput, Applied, timedelta(days=1))
JOB = EngineSpec(name="job", types=("job",), feature="job/1", work=RunToTheEnd(RUN), tool_bytes=1)

pytestmark = pytest.mark.asyncio(loop_scope="module")


class JobWorker(FakeWorker):
    """With the engine."""

    @activity.defn(name=RUN.name)
    async def run(self, input: RunInput) -> Applied:
        return await self._answer(f"run {input.component}", input, Applied(state_revision=3))

    def activities(self) -> list[Callable[..., Any]]:
        return [*super().activities(), self.run]


@pytest_asyncio.fixture(loop_scope="module")
async def site(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    monkeypatch.setattr(InstallRun, "engines", by_type([*ENGINES, JOB]))
    releases = FakeControl()
    async with control_plane(releases) as client:
        made = Site(client, "acme")
        made.worker = JobWorker()
        releases.inputs[made.app] = []
        async with made.serving():
            await made.begin()
            yield made


async def test_it_runs_in_its_place_along_the_graph(site: Site) -> None:
    worker = site.worker
    worker.decisions = [
        decision("net"),
        decision("migrate", "net", type="job"),
        decision("old", "migrate", type="job", verb="teardown"),
    ]
    run = await site.deploy()
    await approve(run, "net")
    assert await outcomes(run) == {"net": "applied", "migrate": "applied", "old": "torn down"}
    assert worker.begun.index("run migrate") > worker.begun.index("apply net")
    by_part = {one.component: one for one in worker.told(RunInput)}
    assert (by_part["migrate"].teardown, by_part["old"].teardown) == (False, True)
    assert by_part["migrate"].requires == ["job/1"]
    assert by_part["migrate"].state_revision == 2, "that of what it depends on"
    first_run = (await run.describe()).raw_description.workflow_execution_info.first_run_id
    assert by_part["migrate"].key == f"{first_run}/migrate/run/1"


async def test_its_failure_is_the_components(site: Site) -> None:
    site.worker.decisions = [decision("migrate", type="job"), decision("api", "migrate")]
    site.worker.answers["run migrate"] = [EngineFailed("exit status 1")]
    error = await failure(await site.deploy())
    assert "migrate failed: EngineFailed: exit status 1" in error.message
    assert "api not attempted: migrate did not succeed" in error.message
