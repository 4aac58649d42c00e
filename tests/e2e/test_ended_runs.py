"""Only a cancel interrupts a tool: a run that is ended otherwise leaves it to its end.

Behind the gateway, with worker commands: what such a run's activity is told then is the same.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.apps_for_tests import Component
from tests.e2e.install_site import Site
from tests.e2e.plane import EnrolledWorker, Plane, until

LONG = Component("long", resources=2, seconds=8)
LINES = ["long.r1", "long.r2"]
TELLING = {
    "telling": '[[steps]]\nname = "one"\ncommand = "echo begun >> $LINES; sleep 4; '
    'echo ended >> $LINES"\n[steps.env_vars]\nLINES = "{{ .nuon.inputs.inputs.lines }}"\n'
    '[[triggers]]\ntype = "pre-deploy-all-components"\n'
}


@pytest.fixture
def guarded(
    plane_with_gateway: Plane, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Site]:
    name = request.node.name.removeprefix("test_").replace("_", "-").replace("[", "-").rstrip("]")
    install = name[:50].strip("-")
    worker = EnrolledWorker(plane_with_gateway, install, tmp_path)
    app, lines = f"{install}-app"[:60], tmp_path / "lines"
    site = Site(plane_with_gateway, install, app, worker, lines, tmp_path)
    yield site
    worker.stop()


def begin(site: Site, actions: dict[str, str] | None = None, component: Component = LONG) -> str:
    """Start a deploy of an install whose worker has enrolled; returns its workflow id."""
    release = site.build([component], actions=actions)
    assert isinstance(site.worker, EnrolledWorker)
    site.worker.apply_stack(site.app, release)
    site.worker.start()
    install = f"install/{site.install}"
    until(lambda: site.plane.query(install, "status")["declared"], "the declared inputs")
    site.set_inputs(lines=str(site.lines_file))
    return site.deploy(release)


def terminate(site: Site, run: str) -> None:
    site.plane.temporal("workflow", "terminate", "--workflow-id", run, "--reason", "a test")


def reset(site: Site, run: str) -> None:
    """To before the apply was asked for; the new run is ended at once."""
    ids = ("--workflow-id", run, "--event-id", "4", "--reason", "a test")
    site.plane.temporal("workflow", "reset", *ids)
    terminate(site, run)


@pytest.mark.parametrize("end", [terminate, reset])
def test_a_run_that_is_ended_leaves_its_tool_to_its_end(
    guarded: Site, end: Callable[[Site, str], None]
) -> None:
    run = begin(guarded)
    guarded.plane.approve_one(run)
    guarded.wait_for_line("long.r1")
    tool = guarded.worker.terraform()
    end(guarded, run)
    # A later run waits for the tool, and finds nothing left to do.
    later = guarded.deploy(guarded.release)
    assert guarded.outcomes(later) == {"long": "unchanged"}
    assert guarded.lines() == LINES
    assert guarded.state_resources("long") == ["terraform_data.r1", "terraform_data.r2"]
    assert tool not in guarded.worker.processes("apply -input")


def test_a_cancel_interrupts_the_tool(guarded: Site) -> None:
    # Far longer than a cancel takes.
    run = begin(guarded, component=Component("long", resources=2, seconds=300))
    guarded.plane.approve_one(run)
    guarded.wait_for_line("long.r1")
    guarded.plane.temporal("workflow", "cancel", "--workflow-id", run)
    assert guarded.result(run)["status"] == "CANCELED"
    assert guarded.worker.processes("apply -input") == []
    assert guarded.lines() == LINES[:1]


def test_a_run_that_is_terminated_leaves_the_script_of_its_action(guarded: Site) -> None:
    run = begin(guarded, TELLING)
    guarded.wait_for_line("begun")
    terminate(guarded, run)
    guarded.wait_for_line("ended")
