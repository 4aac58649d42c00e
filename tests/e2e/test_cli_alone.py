"""Everything by the `temporal` command alone, as somebody without our command would do it."""

from tests.e2e.apps_for_tests import Component
from tests.e2e.install_site import Site
from tests.e2e.plane import Plane, until

NETWORK = Component("network", seconds=0.1)
LEFT = Component("left", needs=["network"])
RIGHT = Component("right", needs=["network"])
TOP = Component("top", needs=["left", "right"])


def test_install_deploy_approve_by_update(site: Site) -> None:
    release = site.build([NETWORK, LEFT, RIGHT, TOP])
    site.begin(release)
    run = site.deploy(release)
    first = site.plane.approve_one(run)
    assert first["component"] == "network"
    assert first["changes"]["create"] == 1
    # The two in the middle wait for their approvals at the same time.
    waiting = until(
        lambda: found if len(found := site.plane.waiting_plans(run)) == 2 else [], "both"
    )
    assert {plan["component"] for plan in waiting} == {"left", "right"}
    site.approve_all(run, 3)
    assert set(site.outcomes(run).values()) == {"applied"}
    assert sorted(site.lines()) == ["left.r1", "network.r1", "right.r1", "top.r1"]
    status = site.plane.query(f"install/{site.install}", "status")
    assert status["release"] == release
    assert status["worker"]["description"]["tools"]["terraform"]

    again = site.deploy(release)
    assert set(site.outcomes(again).values()) == {"skipped"}
    assert len(site.lines()) == 4


def test_wrong_digest_and_deny(site: Site) -> None:
    release = site.build([NETWORK, LEFT])
    site.begin(release)
    run = site.deploy(release)
    plan = until(lambda: site.plane.waiting_plans(run), "a plan")[0]
    wrong = "sha256:" + "0" * 64
    refused = site.plane.update(run, "approve", {"digest": wrong}, ok=False)
    assert plan["digest"] in refused and "network" in refused

    site.plane.update(run, "deny", {"digest": plan["digest"], "by": "Ada", "reason": "not today"})
    answer = site.result(run)
    assert answer["status"] == "FAILED"
    assert "denied by Ada: not today" in str(answer)
    assert "left not attempted" in str(answer)
    assert site.lines() == []

    late = site.plane.update(run, "approve", {"digest": plan["digest"]}, ok=False)
    assert "completed" in late or "not found" in late


def test_two_deploys_started_directly_take_turns(site: Site) -> None:
    release = site.build([NETWORK])
    site.begin(release)
    first, second = (f"deploy/{site.install}/by-hand-{number}" for number in (1, 2))
    input = {"install": site.install, "release": release}
    site.plane.start_workflow("Deploy", first, input)
    until(lambda: site.plane.waiting_plans(first), "the first one's plan")
    site.plane.start_workflow("Deploy", second, input)
    until(
        lambda: second in (site.plane.query(f"install/{site.install}", "status")["queue"] or []),
        "the second one in the queue",
    )
    assert "turn" in site.plane.query(second, "waiting")["waits_for"]
    site.plane.approve_one(first)
    assert site.outcomes(first) == {"network": "applied"}
    assert site.outcomes(second) == {"network": "skipped"}
    assert site.lines() == ["network.r1"]


def test_a_terminated_holder_frees_its_turn(site: Site) -> None:
    release = site.build([NETWORK])
    site.begin(release)
    first = site.deploy(release)
    until(lambda: site.plane.waiting_plans(first), "the first one's plan")
    second = site.deploy(release)
    site.plane.temporal("workflow", "terminate", "--workflow-id", first, "--reason", "a test")
    site.plane.approve_one(second)
    assert site.outcomes(second) == {"network": "applied"}


def test_a_deploy_without_an_install_says_so(plane: Plane) -> None:
    run = "deploy/nobody/1"
    plane.start_workflow("Deploy", run, {"install": "nobody", "release": "sha256:" + "1" * 64})
    answer = plane.result(run)
    assert answer["status"] == "FAILED"
    assert "NotThere" in str(answer) and "Start it first" in str(answer)


def test_another_apps_release_is_refused(site: Site) -> None:
    release = site.build([NETWORK])
    site.plane.start_workflow(
        "Install", f"install/{site.install}", {"install": site.install, "app": "other-app"}
    )
    run = site.deploy(release)
    answer = site.result(run)
    assert answer["status"] == "FAILED"
    assert "other-app" in str(answer) and "NotThere" in str(answer)


def test_the_plan_view_is_read_through_the_worker(site: Site) -> None:
    release = site.build([NETWORK])
    site.begin(release)
    run = site.deploy(release)
    plan = until(lambda: site.plane.waiting_plans(run), "a plan")[0]
    view = site.plane.update(run, "view", {"digest": plan["digest"]})
    assert "+ terraform_data.r1" in view["text"]
    assert view["pages"] == 1
    site.plane.approve_one(run)
    site.completed(run)
