"""A worker, its tool, its supervisor or the server dies in the middle of an apply."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.apps_for_tests import Component
from tests.e2e.install_site import Site
from tests.e2e.plane import is_alive, until

LONG = Component("long", resources=3, seconds=3)
LINES = ["long.r1", "long.r2", "long.r3"]
HEARTBEAT_SECONDS = 20
SLOW_ACTION = '[[steps]]\nname = "one"\ncommand = "sleep 300"\n'


def begin_apply(site: Site, component: Component = LONG) -> str:
    """Deploy and approve; returns once the second of three provisioners has written its line."""
    release = site.build([component])
    site.begin(release)
    run = site.deploy(release)
    site.plane.approve_one(run)
    site.wait_for_line("long.r2")
    return run


def apply_attempts(site: Site, run: str) -> int:
    """The attempt that ended well, as the history tells it."""
    events: list[dict[str, Any]] = site.plane.history(run)["events"]
    scheduled = {
        event["eventId"]
        for event in events
        if event.get("activityTaskScheduledEventAttributes", {}).get("activityType", {}).get("name")
        == "terraform.apply"
    }
    attempt: int = max(
        event["activityTaskStartedEventAttributes"]["attempt"]
        for event in events
        if event.get("activityTaskStartedEventAttributes", {}).get("scheduledEventId") in scheduled
    )
    return attempt


def assert_done_once(site: Site, run: str) -> None:
    assert site.outcomes(run) == {"long": "applied"}
    assert site.lines() == LINES
    assert site.state_resources("long") == [f"terraform_data.r{n}" for n in (1, 2, 3)]


@pytest.mark.parametrize("seconds_away", [0, 30])
def test_the_worker_is_killed(site: Site, seconds_away: int) -> None:
    run = begin_apply(site)
    site.worker.kill()
    time.sleep(seconds_away)
    site.worker.start()
    assert_done_once(site, run)
    assert apply_attempts(site, run) == 2


def test_worker_and_tool_are_killed(site: Site) -> None:
    slow = Component("long", resources=3, seconds=3, seconds_of={2: HEARTBEAT_SECONDS + 15})
    run = begin_apply(site, slow)
    terraform = site.worker.terraform()
    provisioner = until(lambda: site.worker.processes("echo long.r2"), "the provisioner")
    site.worker.kill()
    os.kill(terraform, signal.SIGKILL)
    site.worker.start()
    # The tool's tree is not gone while its provisioner lives: nothing may be planned until then.
    until(lambda: _second_attempt_waits(site, run), "the second attempt")
    time.sleep(2)
    assert site.worker.processes("echo long.r2") == provisioner
    assert site.worker.processes("-input=false") == []
    assert site.outcomes(run) == {"long": "applied"}
    lines = site.lines()
    assert lines.count("long.r1") == lines.count("long.r3") == 1
    # The resource in flight may run its provisioner again.
    assert lines.count("long.r2") in {1, 2}
    assert sorted(site.state_resources("long")) == [f"terraform_data.r{n}" for n in (1, 2, 3)]
    assert apply_attempts(site, run) == 2


def _second_attempt_waits(site: Site, run: str) -> bool:
    described = site.plane.temporal("workflow", "describe", "--workflow-id", run)
    pending = described.get("pendingActivities") or []
    return any(one.get("attempt", 1) >= 2 and "STARTED" in one["state"] for one in pending)


def test_worker_and_supervisor_are_killed(site: Site) -> None:
    run = begin_apply(site)
    supervisor = site.worker.supervisor()
    site.worker.kill()
    os.kill(supervisor, signal.SIGKILL)
    site.worker.start()
    assert_done_once(site, run)


def test_worker_supervisor_and_tool_are_killed(site: Site) -> None:
    run = begin_apply(site)
    supervisor, terraform = site.worker.supervisor(), site.worker.terraform()
    site.worker.kill()
    os.kill(supervisor, signal.SIGKILL)
    os.kill(terraform, signal.SIGKILL)
    site.worker.start()
    assert site.outcomes(run) == {"long": "applied"}
    assert site.lines().count("long.r1") == site.lines().count("long.r3") == 1
    assert sorted(site.state_resources("long")) == [f"terraform_data.r{n}" for n in (1, 2, 3)]


def test_only_the_tool_is_killed(site: Site) -> None:
    run = begin_apply(site)
    os.kill(site.worker.terraform(), signal.SIGKILL)
    assert site.outcomes(run) == {"long": "applied"}
    assert site.lines().count("long.r1") == site.lines().count("long.r3") == 1


def test_a_tainted_resource_is_replaced_unasked(site: Site) -> None:
    """The second signal interrupts the tool by SIGINT: Terraform taints what it was creating."""
    run = begin_apply(site)
    site.worker.terminate()
    until(lambda: "Draining" in site.worker.log.read_text(), "the drain")
    site.worker.terminate()
    assert site.worker.wait() == 0
    assert site.worker.processes("terraform") == []
    site.worker.start()
    assert site.outcomes(run) == {"long": "applied"}
    lines = site.lines()
    assert lines.count("long.r1") == lines.count("long.r3") == 1
    assert lines.count("long.r2") == 2
    assert sorted(site.state_resources("long")) == [f"terraform_data.r{n}" for n in (1, 2, 3)]


def test_the_server_is_down_longer_than_the_heartbeat_timeout(site: Site) -> None:
    run = begin_apply(site)
    site.plane.temporal_down(HEARTBEAT_SECONDS + 5)
    assert_done_once(site, run)
    assert apply_attempts(site, run) >= 2


def test_sigterm_lets_the_apply_end(site: Site) -> None:
    run = begin_apply(site)
    terraform = site.worker.terraform()
    site.worker.terminate()
    assert site.worker.wait() == 0
    assert not is_alive(terraform)
    assert site.lines() == LINES
    site.worker.start()
    assert_done_once(site, run)
    assert apply_attempts(site, run) == 1


def test_a_person_cancels(site: Site) -> None:
    run = begin_apply(site)
    terraform = site.worker.terraform()
    site.plane.temporal("workflow", "cancel", "--workflow-id", run)
    assert site.result(run)["status"] == "CANCELED"
    # The workflow has ended: so has the tool, and its locks are gone.
    assert not is_alive(terraform)
    assert site.worker.processes("sleep 3") == []
    assert "long.r3" not in site.lines()
    assert not list(Path(site.worker.data / "store" / "leases").rglob("*.json"))

    again = site.deploy(site.release)
    site.plane.approve_one(again)
    assert site.outcomes(again) == {"long": "applied"}
    assert site.lines().count("long.r1") == site.lines().count("long.r3") == 1


def test_a_person_cancels_while_the_worker_is_dead(site: Site) -> None:
    slow = Component("long", resources=3, seconds=3, seconds_of={2: 300})
    run = begin_apply(site, slow)
    terraform = site.worker.terraform()
    site.worker.kill()
    site.plane.temporal("workflow", "cancel", "--workflow-id", run)
    # The attempt is given up after its heartbeat timeout; the run is not, since its tool is alive.
    until(lambda: _scheduled(site, run, "operation.stop"), "the run to ask its worker")
    assert is_alive(terraform)
    described = site.plane.temporal("workflow", "describe", "--workflow-id", run)
    assert described["workflowExecutionInfo"]["status"].endswith("RUNNING")
    assert site.plane.query(f"install/{site.install}", "status")["holder"]["workflow_id"] == run
    site.worker.start()
    assert site.result(run)["status"] == "CANCELED"
    # The workflow has ended: so has the tool with its tree, and its locks are gone.
    assert not is_alive(terraform)
    assert site.worker.processes("sleep 300") == []
    assert not list(Path(site.worker.data / "store" / "leases").rglob("*.json"))
    assert site.lines() == ["long.r1", "long.r2"]


def test_a_person_cancels_an_action_while_the_worker_is_dead(site: Site) -> None:
    release = site.build([Component("one")], actions={"slow": SLOW_ACTION})
    site.begin(release)
    run = site.deploy(release)
    site.plane.approve_one(run)
    site.completed(run)
    action = site.act("slow")
    script = until(lambda: site.worker.processes("sleep 300"), "the script")
    site.worker.kill()
    site.plane.temporal("workflow", "cancel", "--workflow-id", action)
    until(lambda: _scheduled(site, action, "operation.stop"), "the run to ask its worker")
    assert all(is_alive(pid) for pid in script)
    site.worker.start()
    assert site.result(action)["status"] == "CANCELED"
    assert not [pid for pid in script if is_alive(pid)]


def _scheduled(site: Site, run: str, activity: str) -> bool:
    return any(
        event.get("activityTaskScheduledEventAttributes", {}).get("activityType", {}).get("name")
        == activity
        for event in site.plane.history(run)["events"]
    )
