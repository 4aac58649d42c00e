"""The customer's side on a real worker: their policy, their approval, and the worker's journal."""

import json
import subprocess
from pathlib import Path

from tests.e2e.apps_for_tests import Component
from tests.e2e.install_site import Site
from tests.e2e.plane import BIN, PATIENCE_SECONDS, until

NET = Component("net", seconds=0)


def command(site: Site, *arguments: str, status: int = 0) -> str:
    """`exclave worker …` as somebody on the worker's machine types it."""
    flags: list[str | Path] = ["--enrolment", site.worker.enrolment, "--data", site.worker.data]
    done = subprocess.run(
        [BIN / "exclave", "worker", *arguments, *flags],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def policy(site: Site, text: str) -> None:
    (site.worker.folder / "policy.toml").write_text(text)


def journal(site: Site) -> list[dict[str, object]]:
    return [json.loads(one) for one in command(site, "journal", "-o", "json").splitlines()]


def test_policy_approval_and_journal(site: Site) -> None:
    release = site.build([NET])
    site.begin(release)

    policy(site, 'operations = ["provision", "action"]')
    refused = str(site.result(site.deploy(release)))
    assert "PolicyDenied" in refused
    assert f"The customer's policy does not allow deploy on {site.install}" in refused
    policy(site, 'operation = ["deploy"]')
    refused = str(site.result(site.deploy(release)))
    assert "Nothing is changed while the customer's policy cannot be used" in refused
    assert "operation: there is no such key" in refused
    assert site.lines() == [] and site.worker.processes("terraform") == []
    assert {one["kind"] for one in journal(site)} == {"told", "ended"}, "nothing ran"

    # The worker is not restarted: the file is read at each operation.
    policy(site, 'approval = "customer"')
    run = site.deploy(release)
    plan = site.plane.approve_one(run)
    waits = until(lambda: json.loads(command(site, "plans", "-o", "json"))["plans"], "a plan")
    assert [one["digest"] for one in waits] == [plan["digest"]]
    assert site.lines() == []
    told = site.plane.query(f"install/{site.install}", "status")["worker"]["description"]
    assert told["host"]

    site.worker.kill()
    site.worker.start()
    # The next attempt of the apply waits on: what was asked stays asked.
    assert json.loads(command(site, "plans", "-o", "json"))["plans"] == waits
    assert "net: " in command(site, "approve", "--plan", plan["digest"])
    assert site.outcomes(run) == {"net": "applied"}
    assert site.lines()

    assert "is intact" in command(site, "journal", "--verify")
    lines = journal(site)
    [let_in] = [one for one in lines if one["kind"] == "let in"]
    begun = {one["number"] for one in lines if one["kind"] == "told"}
    ended = {one["told"] for one in lines if one["kind"] == "ended"}
    assert let_in["told"] in ended
    assert len(begun - ended) >= 1, "what was killed has no end"
    [applied] = [one for one in lines if one["kind"] == "ran" and one["label"] == "apply"]
    [told_apply] = [one for one in lines if one["number"] == applied["told"]]
    assert (told_apply["plan"], told_apply["release"]) == (plan["digest"], release)
    assert str(applied["plan_file"]).startswith("sha256:")
    described = site.plane.query(f"install/{site.install}", "status")["worker"]["description"]
    assert (described["approval"], described["rules"]) == ("customer", ["approval"])

    # Denied: nothing is applied, and the vendor reads why.
    other = site.build([Component("net", seconds=0), Component("db", seconds=0)])
    run = site.deploy(other)
    site.plane.approve_one(run)
    until(lambda: json.loads(command(site, "plans", "-o", "json"))["plans"], "a plan")
    command(site, "deny", "--reason", "not this week")
    assert "not this week" in str(site.result(run))
    assert not site.worker.store_file("components/db.json").exists()
    assert "is intact" in command(site, "journal", "--verify")
