"""An entity ends by nobody's error but its person's, and no id is longer than a database keeps."""

from datetime import timedelta

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus

from contracts.deploys import TriggeredAction
from contracts.errors import Bug, CredentialsRefused, EngineFailed, NotThere
from contracts.names import ID_LIMIT
from tests.workflows.workflow_site import (
    RELEASE,
    FakeControl,
    Handle,
    Site,
    approve,
    decision,
    ended,
    failure,
    outcomes,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("error", [Bug, CredentialsRefused, EngineFailed])
async def test_an_install_begins_in_spite_of_errors(
    site: Site,
    releases: FakeControl,
    monkeypatch: pytest.MonkeyPatch,
    error: type[Bug] | type[CredentialsRefused] | type[EngineFailed],
) -> None:
    """Errors that Temporal does not try again: of the registry, and of what renders the stack."""
    monkeypatch.setattr("workflows.calls._AGAIN", timedelta(milliseconds=50))
    releases.broken[site.app] = [error("the registry"), error("the registry, again")]
    releases.broken[f"stack of {site.install}"] = [error("the stack")]
    entity = await site.begin(release=RELEASE)
    await site.knows_its_inputs()
    assert (await entity.describe()).status == WorkflowExecutionStatus.RUNNING
    assert releases.broken[site.app] == releases.broken[f"stack of {site.install}"] == []


async def test_an_install_of_what_is_not_there_fails_at_once(
    site: Site, releases: FakeControl
) -> None:
    releases.broken[site.app] = [NotThere("no such release")]
    assert (await failure(await site.begin(release=RELEASE))).type == "NotThere"


async def test_one_that_is_cancelled_meanwhile_ends(
    site: Site, releases: FakeControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflows.calls._AGAIN", timedelta(days=1))
    releases.broken[site.app] = [Bug("the registry")]
    entity = await site.begin(release=RELEASE)
    async for event in entity.fetch_history_events(wait_new_event=True):
        if event.event_type == EventType.EVENT_TYPE_TIMER_STARTED:
            break
    await entity.cancel()
    assert await ended(entity) == WorkflowExecutionStatus.CANCELED


async def started_by(run: Handle) -> list[str]:
    """The ids of the workflows that a run has started."""
    return [
        event.child_workflow_execution_started_event_attributes.workflow_execution.workflow_id
        async for event in run.fetch_history_events()
        if event.event_type == EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED
    ]


async def test_the_longest_names_together_make_no_id_that_is_too_long(site: Site) -> None:
    component, action = "n" * 128, "h" * 128
    site.worker.decisions = [decision(component)]
    site.worker.actions = [
        TriggeredAction(action=action, trigger=f"{when}-deploy-component", component=component)
        for when in ("pre", "post")
    ]
    await site.begin()
    longest = "x" * (ID_LIMIT - len(f"deploy/{site.install}/"))
    run = await site.deploy_directly(longest)
    await approve(run, component)
    assert await outcomes(run) == {component: "applied"}
    ids = await started_by(run)
    assert len(ids) == len(set(ids)) == 2
    for one in ids:
        assert len(one) <= ID_LIMIT
        assert one.startswith(f"action/{site.install}/{action}/")


@pytest.mark.parametrize("kind", ["Deploy", "Deprovision", "Provision", "Action", "Build"])
async def test_an_id_that_is_too_long_is_refused_at_once(site: Site, kind: str) -> None:
    input = {"install": site.install, "release": RELEASE}
    match kind:
        case "Deprovision":
            del input["release"]
        case "Action":
            input = {"install": site.install, "action": "health"}
        case "Build":
            input = {"app": site.install, "source": RELEASE}
    start = f"{kind.lower()}/{site.install}/"
    run = await site.start(kind, start + "x" * (ID_LIMIT - len(start) + 1), input)
    refused = await failure(run)
    assert refused.type == "BadInput"
    assert f"at most {ID_LIMIT} characters in all" in refused.message
