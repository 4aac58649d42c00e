"""What the search attributes say of a run: one change for each that a person would see."""

from typing import Any

import pytest
from temporalio.client import Client

from contracts.errors import BadInput, EngineFailed
from tests.workflows.workflow_site import (
    NO_CHANGES,
    RELEASE,
    FakeControl,
    Handle,
    Site,
    approve,
    asked,
    decision,
    ended,
    failure,
    outcomes,
    plan_of,
    refusal,
    until,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def attributes(run: Handle) -> dict[str, str]:
    found = (await run.describe()).typed_search_attributes
    return {pair.key.name.removeprefix("Exclave"): str(pair.value) for pair in found}


async def shown(run: Handle, **expected: str) -> None:
    async def look() -> bool:
        found = await attributes(run)
        return expected.items() <= {key.lower(): value for key, value in found.items()}.items()

    await until(look)


async def statuses(run: Handle) -> list[str]:
    """Every status and component that it ever had, in order."""
    said = []
    async for event in run.fetch_history_events():
        started = event.workflow_execution_started_event_attributes.search_attributes
        changed = event.upsert_workflow_search_attributes_event_attributes.search_attributes
        fields = started.indexed_fields or changed.indexed_fields
        if set(fields) - {"TemporalChangeVersion"}:
            told: dict[str, Any] = {
                name: payload.data.decode().strip('"') for name, payload in fields.items()
            }
            component = told.get("ExclaveComponent", "")
            said.append(told["ExclaveStatus"] + (f" {component}" if component else ""))
    return said


async def test_a_deploy_says_what_it_waits_for(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [decision("net"), decision("api", "net")]
    run = await site.deploy()
    await asked(run, "net")
    await shown(run, status="waits for approval", component="net", install=site.install)
    await approve(run, "net", "api")
    await outcomes(run)
    assert "Component" not in await attributes(run)
    assert await statuses(run) == [
        "deploying",
        "waits for approval net",
        "deploying",
        "waits for approval api",
        "deploying",
        "deployed",
    ]


async def test_what_nobody_would_see_changes_nothing(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [decision("net"), decision("db")]
    site.worker.answers |= {"plan net": [NO_CHANGES], "plan db": [NO_CHANGES]}
    run = await site.deploy()
    await outcomes(run)
    assert await statuses(run) == ["deploying", "deployed"]


async def test_a_failed_deploy_says_so(site: Site) -> None:
    await site.begin()
    site.worker.answers["plan net"] = [EngineFailed("no")]
    run = await site.deploy()
    await failure(run)
    assert await statuses(run) == ["deploying", "failed"]


async def test_a_cancelled_deploy_says_so(site: Site) -> None:
    await site.begin()
    site.worker.gate("plan net")
    run = await site.deploy()
    await site.worker.wait_for("plan net")
    await run.cancel()
    await ended(run)
    assert await statuses(run) == ["deploying", "cancelling", "cancelled"]


async def test_an_action_says_which_and_how_it_ended(site: Site) -> None:
    site.worker.answers["step 1"] = [EngineFailed("no")]
    input = {"install": site.install, "action": "health"}
    run = await site.start("Action", f"action/{site.install}/health/1", input)
    await failure(run)
    await shown(run, status="failed", component="health", install=site.install, app=site.app)
    run = await site.start("Action", f"action/{site.install}/health/2", input)
    site.worker.gate("step 0", "step 1")
    # At once: beside the answer of its scope, such a cancel can be lost.
    await run.cancel()
    await ended(run)
    await shown(run, status="cancelled", component="health")


async def test_a_cancelled_build_says_so(client: Client) -> None:
    input = {"app": "nobody", "source": RELEASE}
    run = await client.start_workflow("Build", input, id="build/nobody/1", task_queue="control")
    await shown(run, status="checking")
    await run.cancel()
    await ended(run)
    await shown(run, status="cancelled")


async def test_a_cancelled_install_says_so(site: Site) -> None:
    run = await site.begin()
    await shown(run, status="connected")
    await run.cancel()
    await ended(run)
    await shown(run, status="cancelled")


async def test_an_install_whose_release_is_not_the_apps_fails_with_its_type(
    client: Client, releases: FakeControl, install: str
) -> None:
    run = await Site(client, install).begin(release=RELEASE)
    error = await failure(run)
    assert (error.type, error.message) == ("NotThere", f"there is no app {install}")
    await shown(run, status="failed")


async def test_inputs_that_do_not_fit_fail_the_deploy_with_their_type(site: Site) -> None:
    await site.begin()
    site.worker.answers["scope"] = [BadInput("zone is required")]
    run = await site.deploy()
    error = await failure(run)
    assert (error.type, error.message) == ("BadInput", "zone is required")
    await site.holder(None)


async def test_a_view_while_the_worker_is_away_says_since_when(
    client: Client, releases: FakeControl, install: str
) -> None:
    site = Site(client, install)
    releases.inputs[site.app] = []
    site.worker.answers["plan net"] = [plan_of("one")]
    async with site.serving():
        await site.begin()
        run = await site.deploy()
        plan = await asked(run, "net")
    error = await refusal(run, "view", {"digest": plan.digest})
    assert error.type == "Unreachable"
    assert f"The install worker of {install} is away" in error.message
    assert "last heard of at 20" in error.message
    async with site.serving():
        await approve(run, "net")
        assert await outcomes(run) == {"net": "applied"}
