"""A customer's worker answers what no worker of ours does: its run fails, and nothing is wedged.

The vendor's workflows read these answers. What they say goes into histories, into what Install
carries from run to run, and into what is started.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from contracts.deploys import ChangeCounts, ComponentOutcome, Outputs, TriggeredAction
from contracts.installs import CarriedInstall, TurnEnd
from tests.workflows.workflow_site import (
    RELEASE,
    WORKER,
    Site,
    approve,
    decision,
    digest,
    failure,
    outcomes,
    plan_of,
    until,
)
from workflows.installs.pullable_releases import PullableReleases
from workflows.installs.standing import Standing

pytestmark = pytest.mark.asyncio(loop_scope="session")

HUGE = "x" * 1_500_000
PAYLOAD_BYTES = 2 * 1024 * 1024


async def goes_on(site: Site) -> None:
    """The turn is free again, and what is honest passes."""
    await site.holder(None)
    site.worker.answers = {}
    site.worker.decisions = [decision("net")]
    site.worker.actions = []
    run = await site.deploy()
    await approve(run, "net")
    assert await outcomes(run) == {"net": "applied"}


def scope(**changes: Any) -> dict[str, Any]:
    honest = {"decisions": [], "state_revision": 1, "worker": WORKER.model_dump(mode="json")}
    return honest | changes


def decided(*parts: Any) -> dict[str, Any]:
    return scope(decisions=[one.model_dump(mode="json") for one in parts])


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({}, "is no Scope"),
        ("a text", "is no Scope"),
        (None, "is no Scope"),
        (scope(decisions=[{"component": "../../x"}]), "is no Scope"),
        (decided(decision("a", "b"), decision("b", "a")), "a, b wait for each other"),
        (decided(decision("a", "a")), "a wait for each other"),
        (decided(decision("a", "gone")), "waits for 'gone'"),
        (decided(decision("a"), decision("a")), "the same part twice"),
        (decided(*(decision(f"p{n}", reason="") for n in range(1_001))), "more than 1000"),
        (decided(decision("a", reason="x" * 600_000)), "more than the 524288"),
        (scope(state_revision=10**30), "its state revision"),
        (scope(state_revision=-1), "its state revision"),
        (
            scope(actions=[{"action": f"a{n}", "trigger": "cron"} for n in range(501)]),
            "more than 500",
        ),
        (scope(worker=WORKER.model_dump() | {"host": HUGE}), "more than the 524288"),
    ],
)
async def test_a_scope_that_is_none(site: Site, answer: Any, why: str) -> None:
    await site.begin()
    site.worker.answers["scope"] = [answer]
    error = await failure(await site.deploy())
    assert error.type == "BadAnswer"
    assert error.message.startswith("The install's worker answered deploy.scope, and ")
    assert why in error.message
    assert len(error.message) < 2_000
    await goes_on(site)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({}, "is no Plan"),
        (plan_of("x", changes=ChangeCounts(create=-1)), "impossible count of changes"),
        (plan_of("x", state_revision=10**30), "its state revision"),
        (plan_of("x", outputs=Outputs(values={"a": "x" * 200_000})), "more than the 131072"),
    ],
)
async def test_a_plan_that_is_none_fails_its_part(site: Site, answer: Any, why: str) -> None:
    await site.begin()
    site.worker.decisions = [decision("bad"), decision("good")]
    site.worker.answers["plan bad"] = [answer]
    run = await site.deploy()
    await approve(run, "good")
    error = await failure(run)
    assert error.type == "DeployFailed"
    assert "bad failed: BadAnswer: The install's worker answered terraform.plan" in error.message
    assert why in error.message
    assert "apply good" in site.worker.ended
    await goes_on(site)


async def test_two_plans_with_one_digest_are_not_both_asked_for(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [decision("net"), decision("db")]
    site.worker.answers = {f"plan {name}": [plan_of("same")] for name in ("net", "db")}
    run = await site.deploy()
    await site.worker.wait_for("plan net", "plan db")

    async def one_failed() -> bool:
        progress = await run.query("progress")
        return "failed" in [part["state"] for part in progress["parts"]]

    await until(one_failed)
    await run.execute_update("approve", {"digest": digest("same")})
    error = await failure(run)
    assert "an approval could mean either" in error.message
    assert len([one for one in site.worker.begun if one.startswith("apply")]) == 1
    await goes_on(site)


async def test_errors_of_any_size_are_told_in_measure(site: Site) -> None:
    await site.begin()
    names = [f"p{number}" for number in range(10)]
    site.worker.decisions = [decision(name) for name in names]
    # The server takes a failure of 2 MiB, and cuts what is larger.
    said = ApplicationError("begin " + "x" * 150_000 + " end", type="E" * 100_000)
    site.worker.answers = {f"plan {name}": [_final(said)] for name in names}
    error = await failure(await site.deploy())
    assert error.type == "DeployFailed"
    assert all(f"{name} failed: EEEE" in error.message for name in names)
    assert error.message.count(" end") == len(names), "the end tells the most"
    assert len(error.message) < 250_000
    found = (await site.status()).failure
    assert found is not None
    assert len(found.message) <= 16_000
    site.worker.answers = {"scope": [_final(ApplicationError("z" * 1_000_000, type="BadInput"))]}
    error = await failure(await site.deploy())
    assert len(error.message) <= 16_100
    await goes_on(site)


def _final(error: ApplicationError) -> ApplicationError:
    return ApplicationError(error.message, type=error.type, non_retryable=True)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"steps": None}, "is no ActionScope"),
        ({"steps": ["x"] * 201}, "more than 200"),
        ({"steps": ["x" * 129]}, "a step's name is longer"),
        ({"timeout_seconds": 1e300}, "outside of what an action may have"),
        ({"timeout_seconds": -1.0}, "outside of what an action may have"),
        ({"app": "other"}, "belongs to the app other, but the install belongs to"),
    ],
)
async def test_steps_that_there_are_not(site: Site, changes: dict[str, Any], why: str) -> None:
    await site.begin()
    honest = {"app": site.app, "release": RELEASE, "steps": ["one"], "timeout_seconds": 60.0}
    site.worker.answers["action scope"] = [honest | changes]
    error = await failure(await site.run("act", {"action": "health"}))
    assert error.type == "BadAnswer"
    assert why in error.message
    assert not [one for one in site.worker.begun if one.startswith("step")]


async def test_what_an_action_leaves_is_bounded_in_all(site: Site) -> None:
    await site.begin()
    honest = {"app": site.app, "release": RELEASE, "steps": ["x"] * 20, "timeout_seconds": 60.0}
    site.worker.answers["action scope"] = [honest]
    left = {"step": "x", "outputs": {"values": {"a": "x" * 100_000}}}
    site.worker.answers |= {f"step {number}": [left] for number in range(20)}
    error = await failure(await site.run("act", {"action": "health"}))
    assert error.type == "BadAnswer"
    assert "exceed 524288 bytes" in error.message


async def test_a_long_name_is_no_summary_that_temporal_refuses(site: Site) -> None:
    await site.begin()
    honest = {"app": site.app, "release": RELEASE, "timeout_seconds": 60.0}
    site.worker.answers["action scope"] = [honest | {"steps": ["\N{GRINNING FACE}" * 128]}]
    run = await site.run("act", {"action": "health"})
    assert len((await run.result())["steps"]) == 1


@pytest.mark.parametrize(
    "answer", [{}, WORKER.model_dump() | {"host": HUGE}, [1]], ids=["empty", "huge", "list"]
)
async def test_a_description_that_is_none_leaves_install_as_it_is(site: Site, answer: Any) -> None:
    site.worker.answers["describe"] = [answer]
    await site.begin()
    await site.worker.wait_for("describe")
    assert (await site.status()).worker is None
    await goes_on(site)
    assert (await site.status()).worker is not None


async def test_only_what_the_release_names_is_told_of_schedules(site: Site) -> None:
    await site.begin()
    crons = [TriggeredAction(action=f"a{n}", trigger="cron", cron="@every 1s") for n in range(150)]
    site.worker.actions = crons
    run = await site.deploy()
    await approve(run, "net")
    await outcomes(run)
    history = await run.fetch_history()
    [asked_for] = [
        event.activity_task_scheduled_event_attributes
        for event in history.events
        if event.activity_task_scheduled_event_attributes.activity_type.name
        == "install.set_schedules"
    ]
    assert RELEASE.encode() in asked_for.input.payloads[0].data


async def test_what_install_carries_does_not_grow_with_invented_parts() -> None:
    standing, releases = Standing(CarriedInstall()), PullableReleases(CarriedInstall())
    for run in range(20):
        end = TurnEnd(
            workflow_id=f"deploy/acme/{run}",
            run_id="0" * 8 + "-0000-0000-0000-" + "0" * 12,
            turn=None,
            target=RELEASE,
            outcomes=[
                ComponentOutcome(component=f"p{run}-{n}", outcome="failed", reason="x" * 200)
                for n in range(1_000)
            ],
        )
        standing.learn(end, _at(run))
        releases.learn(end)
    assert {one.workflow_id for one in standing.parts} == {"deploy/acme/19"}
    carried = CarriedInstall(parts=standing.parts, made=releases.made)
    assert len(carried.model_dump_json()) < PAYLOAD_BYTES / 2
    assert len(releases.made) <= 1_000


def _at(run: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=run)
