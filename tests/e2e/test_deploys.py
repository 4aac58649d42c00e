"""What a deploy does when things change under it, fail, or go away."""

import json
from pathlib import Path

from tests.e2e.apps_for_tests import Component
from tests.e2e.install_site import Site
from tests.e2e.plane import until

ROOT = Component("root", seconds=0.1)


def test_a_plan_overtaken_by_a_change_of_state(site: Site) -> None:
    one = Component("one", resources=2, seconds=0.1)
    release = site.build([one])
    site.begin(release)
    first = site.deploy(release)
    site.plane.approve_one(first)
    site.completed(first)

    changed = site.build([Component("one", resources=2, seconds=0.1, version="2")])
    run = site.deploy(changed)
    plan = until(lambda: site.plane.waiting_plans(run), "the plan")[0]
    # Somebody changes the state behind the plan's back.
    state = site.worker.store_file("terraform/one/terraform.tfstate")
    document = json.loads(state.read_text())
    document["serial"] += 1
    document["resources"] = [r for r in document["resources"] if r["name"] != "r2"]
    state.write_text(json.dumps(document))

    site.plane.update(run, "approve", {"digest": plan["digest"]})
    fresh = until(
        lambda: [p for p in site.plane.waiting_plans(run) if p["digest"] != plan["digest"]],
        "a new plan",
    )[0]
    assert site.lines() == ["one.r1", "one.r2"]
    assert fresh["changes"]["create"] == 1
    site.plane.approve_one(run)
    assert site.outcomes(run) == {"one": "applied"}
    assert site.lines() == ["one.r1", "one.r2", "one.r1", "one.r2"]


def test_a_component_fails(site: Site) -> None:
    components = [
        ROOT,
        Component("bad", needs=["root"], fails=True),
        Component("worse", needs=["root"], fails=True, seconds=0.5),
        Component("good", needs=["root"], seconds=2),
        Component("after-bad", needs=["bad"]),
        Component("after-good", needs=["good"]),
    ]
    release = site.build(components)
    site.begin(release)
    run = site.deploy(release)
    site.approve_all(run, 5)
    answer = site.result(run)
    assert answer["status"] == "FAILED"
    told = str(answer)
    assert "bad failed: EngineFailed" in told and "worse failed: EngineFailed" in told
    assert "exit status 1" in told
    assert "after-bad not attempted: bad did not succeed" in told
    assert {"good.r1", "after-good.r1"} <= set(site.lines())
    assert "after-bad.r1" not in site.lines()


def test_a_component_that_a_release_lacks_is_torn_down_from_its_own(site: Site) -> None:
    release = site.build([ROOT, Component("extra", needs=["root"])])
    site.begin(release)
    first = site.deploy(release)
    site.approve_all(first, 2)
    site.completed(first)

    smaller = site.build([ROOT])
    run = site.deploy(smaller)
    plan = site.plane.approve_one(run)
    assert plan["component"] == "extra" and plan["teardown"]
    assert site.outcomes(run) == {"root": "skipped", "extra": "torn down"}
    assert not site.worker.store_file("terraform/extra").exists() or not list(
        site.worker.store_file("terraform/extra").iterdir()
    )


def test_a_changed_input_plans_what_reads_it_and_what_depends_on_that(site: Site) -> None:
    color = '[[input]]\nname = "color"\ndisplay_name = "C"\ndescription = "C"\ndefault = "red"\n'
    reads = Component(
        "reads",
        needs=["root"],
        variables={"color": "{{ .nuon.inputs.inputs.color }}"},
        extra='resource "terraform_data" "c" { input = var.color }\n',
    )
    components = [ROOT, reads, Component("after", needs=["reads"]), Component("apart")]
    release = site.build(components, color)
    site.begin(release)
    first = site.deploy(release)
    site.approve_all(first, 4)
    site.completed(first)

    site.set_inputs(color="blue")
    run = site.deploy(release)
    assert site.plane.approve_one(run)["component"] == "reads"
    assert site.outcomes(run) == {
        "root": "skipped",
        "reads": "applied",
        "after": "unchanged",
        "apart": "skipped",
    }


def test_the_worker_waits_for_a_control_plane_that_is_not_there(site: Site, tmp_path: Path) -> None:
    lonely = site.worker
    until(lambda: "Working on the queue" in lonely.log.read_text(), "the worker")
    lonely.stop()
    text = lonely.enrolment.read_text()
    lonely.enrolment.write_text(text.replace(site.plane.address, "127.0.0.1:1"))
    lonely.log.write_text("")
    lonely.start()
    until(lambda: "Waiting for the control plane" in lonely.log.read_text(), "the waiting")
    assert "127.0.0.1:1" in lonely.log.read_text()
    assert "Connection refused" in lonely.log.read_text()
    lonely.terminate()
    assert lonely.wait() == 0


def test_a_change_that_a_dependent_missed_is_not_forgotten(site: Site) -> None:
    reads = 'resource "terraform_data" "reads" { input = var.from_aa }\n'
    bb = Component("bb", needs=["aa"], extra=reads)
    release = site.build([Component("aa", seconds=0), bb])
    site.begin(release)
    first = site.deploy(release)
    site.approve_all(first, 2)
    site.completed(first)

    changed = site.build([Component("aa", seconds=0, version="2"), bb])
    run = site.deploy(changed)
    assert site.plane.approve_one(run)["component"] == "aa"
    plan = until(lambda: site.plane.waiting_plans(run), "the plan of bb")[0]
    assert plan["component"] == "bb"
    site.plane.update(run, "deny", {"digest": plan["digest"]})
    assert site.result(run)["status"] == "FAILED"

    again = site.deploy(changed)
    assert site.plane.approve_one(again)["component"] == "bb"
    assert site.outcomes(again) == {"aa": "skipped", "bb": "applied"}


def test_a_missing_tool_is_one_sentence(site: Site) -> None:
    site.worker.stop()
    site.worker.start(PATH="/nowhere")
    release = site.build([ROOT])
    site.begin(release)
    answer = site.result(site.deploy(release))
    assert answer["status"] == "FAILED"
    assert "root failed: ToolMissing: Terraform is not installed on this worker" in str(answer)
    status = site.plane.query(f"install/{site.install}", "status")
    assert status["worker"]["description"]["tools"] in ({}, None)
