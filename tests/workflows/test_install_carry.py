"""Install continues as new, and nobody notices."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from temporalio.client import Client

from contracts.deploys import Inputs, ScopeInput
from contracts.releases import DeclaredInput
from tests.workflows.workflow_plane import control_plane
from tests.workflows.workflow_site import RELEASE, FakeControl, Site, approve, asked, outcomes

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def short_history(releases: FakeControl) -> AsyncIterator[Client]:
    """A server that suggests to continue as new after a few events."""
    limit = {"limit.historyCount.suggestContinueAsNew": "60"}
    async with control_plane(releases, limit) as client:
        yield client


async def test_queue_holder_and_inputs_are_carried(
    short_history: Client, releases: FakeControl
) -> None:
    site = Site(short_history, "carried")
    releases.inputs[site.app] = [DeclaredInput(name="n", type="number")]
    async with site.serving():
        await site.begin(release=RELEASE)
        await site.knows_its_inputs()
        runs = [await site.deploy() for _ in range(3)]
        await asked(runs[0], "net")
        await site.queue(*runs[1:])
        first_run = (await site.entity.describe()).run_id
        before = await site.status()
        inputs = await _until_continued(site, first_run)
        after = await site.status()
        assert (after.holder, after.queue) == (before.holder, before.queue)
        assert after.inputs == inputs
        assert after.worker == before.worker is not None
        for run in runs:
            await approve(run, "net")
            assert await outcomes(run) == {"net": "applied"}
        await site.holder(None)
        fourth = await site.deploy()
        assert fourth.id == "deploy/carried/4", "names go on"
        await approve(fourth, "net")
        assert await outcomes(fourth) == {"net": "applied"}
        numbers = [one.turn.number for one in site.worker.told(ScopeInput)]
        assert numbers == sorted(set(numbers))
        assert site.worker.told(ScopeInput)[-1].inputs == inputs
        assert (await site.status()).release == RELEASE
        assert site.worker.begun.count("describe") == 1


async def _until_continued(site: Site, first_run: str) -> Inputs:
    """Set inputs until Install has continued as new twice; not one may be lost."""
    runs = {first_run}
    newest = Inputs()
    for number in range(200):
        newest = await site.set_inputs({"n": str(number)}) or newest
        assert (await site.status()).inputs == newest
        runs.add((await site.entity.describe()).run_id)
        if len(runs) > 2:
            return newest
    raise AssertionError("Install never continued as new")
