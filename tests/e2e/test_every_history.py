"""Histories of every workflow type and of every kind of end are replayed against the code."""

from dataclasses import replace

import pytest
from temporalio.client import Client

from tests.e2e.apps_for_tests import Component
from tests.e2e.install_site import Site
from tests.e2e.plane import Plane, until
from tests.workflow_histories import history_of, record, replay
from wire.conversion import data_converter

LONG = Component("long", resources=2, seconds=4)
ACTIONS = {
    "good": '[[steps]]\nname = "one"\ncommand = "echo a=b >> $NUON_ACTIONS_OUTPUT_FILEPATH"\n',
    "bad": '[[steps]]\nname = "one"\ncommand = "exit 1"\n',
    "slow": '[[steps]]\nname = "one"\ncommand = "sleep 60"\n',
    "before": '[[steps]]\nname = "one"\ncommand = "true"\n[[triggers]]\ntype = "pre-provision"\n',
    "after": '[[steps]]\nname = "one"\ncommand = "true"\n'
    '[[triggers]]\ntype = "post-deploy-all-components"\n'
    '[[triggers]]\ntype = "cron"\ncron_schedule = "0 0 1 1 *"\n',
}
GROUND = Component("ground")


async def test_every_kind_of_history_replays(site: Site, request: pytest.FixtureRequest) -> None:
    runs = _make_runs(site)
    client = await Client.connect(
        site.plane.address, namespace=site.plane.namespace, data_converter=data_converter
    )
    for name, (workflow_id, run_id) in runs.items():
        history = await history_of(client.get_workflow_handle(workflow_id, run_id=run_id))
        await replay(history)
        if request.config.getoption("--record-histories"):
            record(name, history)


def _make_runs(site: Site) -> dict[str, tuple[str, str | None]]:
    """A run of each kind, by the name of its recorded history."""
    plane, install = site.plane, site.install
    release = site.build([LONG], actions=ACTIONS, sandbox=GROUND)
    runs: dict[str, tuple[str, str | None]] = {"build-good": (f"build/{site.app}/1", None)}
    runs["build-failed"] = (_failing_build(plane, site.app), None)
    runs["build-cancelled"] = (_cancelled_build(plane), None)
    site.begin(release)
    runs["install-first-run"] = (f"install/{install}", _current_run(plane, f"install/{install}"))

    runs["provision-denied"] = (_denied_provision(site, release), None)
    runs["provision-good"] = (_provision(site, release), None)
    runs["deploy-cancelled-in-apply"] = (_cancelled_deploy(site, release), None)
    runs["deploy-denied"] = (_denied_deploy(site, release), None)
    runs["deploy-retried"] = (_retried_deploy(site, release), None)
    runs["deploy-good"] = (_started_directly(site, release), None)
    for action, name in {"good": "action-good", "bad": "action-failed"}.items():
        run = site.act(action)
        site.result(run)
        runs[name] = (run, None)
    runs["action-cancelled"] = (_cancelled_action(site), None)
    runs["deploy-failed"] = (_failed_deploy(site), None)
    runs["deploy-rollback"] = (_rolled_back(site), None)
    runs["deprovision-good"] = (_deprovision(site), None)
    runs["install-failed"] = (_failed_install(site), None)
    runs["install-cancelled"] = (_cancelled_install(site), None)
    runs["unknown"] = (_unknown_type(site), None)
    _wait_for_another_run(site, runs["install-first-run"][1])
    runs["install-continued"] = (f"install/{install}", None)
    return runs


def _current_run(plane: Plane, workflow_id: str) -> str:
    described = plane.temporal("workflow", "describe", "--workflow-id", workflow_id)
    return str(described["workflowExecutionInfo"]["execution"]["runId"])


def _failing_build(plane: Plane, app: str) -> str:
    run = f"build/{app}/not-there"
    plane.start_workflow("Build", run, {"app": app, "source": "sha256:" + "0" * 64})
    assert "exclave upload" in str(plane.result(run))
    return run


def _cancelled_build(plane: Plane) -> str:
    """Cancelled before any worker saw it: the build worker is not asked."""
    run = "build/cancelled/1"
    plane.start_workflow("Build", run, {"app": "cancelled", "source": "sha256:" + "0" * 64})
    plane.temporal("workflow", "cancel", "--workflow-id", run)
    plane.result(run)
    return run


def _denied_provision(site: Site, release: str) -> str:
    run = site.start("provision", {"release": release})
    plan = until(lambda: site.plane.waiting_plans(run), "a plan")[0]
    site.plane.update(run, "deny", {"digest": plan["digest"]})
    assert site.result(run)["status"] == "FAILED"
    return run


def _provision(site: Site, release: str) -> str:
    run = site.start("provision", {"release": release})
    site.plane.approve_one(run)
    site.completed(run)
    return run


def _rolled_back(site: Site) -> str:
    """From the half of a release that failed; its component is what it was before."""
    run = site.start("rollback", {"inputs": True})
    site.plane.approve_one(run)
    site.completed(run)
    return run


def _deprovision(site: Site) -> str:
    run = site.start("deprovision", {})
    site.approve_all(run, 2)
    assert set(site.outcomes(run).values()) == {"torn down"}
    return run


def _cancelled_deploy(site: Site, release: str) -> str:
    run = site.deploy(release)
    site.plane.approve_one(run)
    site.wait_for_line("long.r1")
    site.plane.temporal("workflow", "cancel", "--workflow-id", run)
    assert site.result(run)["status"] == "CANCELED"
    return run


def _denied_deploy(site: Site, release: str) -> str:
    run = site.deploy(release)
    plan = until(lambda: site.plane.waiting_plans(run), "a plan")[0]
    site.plane.update(run, "deny", {"digest": plan["digest"]})
    assert site.result(run)["status"] == "FAILED"
    return run


def _retried_deploy(site: Site, release: str) -> str:
    run = site.deploy(release)
    site.plane.approve_one(run)
    site.wait_for_line("long.r2")
    site.worker.terminate()
    until(lambda: "leaving" in site.worker.log.read_text(), "the drain")
    site.worker.terminate()
    assert site.worker.wait() == 0
    site.worker.start()
    site.completed(run)
    return run


def _failed_deploy(site: Site) -> str:
    """The tool fails, and so does the deploy."""
    run = site.deploy(
        site.build([replace(LONG, version="2", fails=True)], actions=ACTIONS, sandbox=GROUND)
    )
    site.plane.approve_one(run)
    assert "EngineFailed" in str(site.result(run))
    return run


def _failed_install(site: Site) -> str:
    """Its release is not of the app that it names."""
    run, input = f"install/{site.install}-failed", {"install": f"{site.install}-failed"}
    site.plane.start_workflow("Install", run, input | {"app": "nobody", "release": site.release})
    assert site.result(run)["status"] == "FAILED"
    return run


def _cancelled_install(site: Site) -> str:
    """Cancelled while it waits for its worker."""
    run, input = f"install/{site.install}-gone", {"install": f"{site.install}-gone"}
    site.plane.start_workflow("Install", run, input | {"app": site.app, "release": site.release})
    until(lambda: site.plane.query(run, "status")["declared"], "the declared inputs")
    site.plane.temporal("workflow", "cancel", "--workflow-id", run)
    assert site.result(run)["status"] == "CANCELED"
    return run


def _unknown_type(site: Site) -> str:
    run = f"deploy/{site.install}/unknown"
    site.plane.start_workflow("Deplyo", run, {})
    assert "BadInput" in str(site.result(run))
    return run


def _started_directly(site: Site, release: str) -> str:
    run = f"deploy/{site.install}/directly"
    site.plane.start_workflow("Deploy", run, {"install": site.install, "release": release})
    site.completed(run)
    return run


def _cancelled_action(site: Site) -> str:
    run = site.act("slow")
    until(lambda: site.worker.processes("script"), "the script")
    site.plane.temporal("workflow", "cancel", "--workflow-id", run)
    assert site.result(run)["status"] == "CANCELED"
    return run


def _wait_for_another_run(site: Site, first: str | None) -> None:
    """Use the Install until it has continued as new."""

    def continued() -> bool:
        site.set_inputs(lines=str(site.lines_file))
        return _current_run(site.plane, f"install/{site.install}") != first

    until(continued, "the Install to continue as new")
