"""`exclave worker plans`, `approve`, `deny` and `journal`, on a worker's store and audit log."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from activities.customer.audit_log import FOLDER, AuditLog, keep_head
from activities.plans.plan_store import PlanFiles, PlanRecord, save_plan
from activities.terraform.plan_json import SAVED
from apps.display_text import shown
from exclave.worker import worker
from stacks.enrolment import Enrolment
from store.customer import Question, answered, ask
from store.folder import FolderStore
from store.machine import Machine

ENROLMENT = Enrolment.of(
    install="acme", namespace="dev", temporal="127.0.0.1:1", releases="http://127.0.0.1:1"
)


def question(component: str, digit: str) -> Question:
    return Question(
        plan_key=f"run-1/{component}/plan/1",
        apply_key=f"run-1/{component}/apply/2",
        digest="sha256:" + digit * 64,
        component=component,
        verb="apply",
        changes="1 to create",
        app="shop",
        release="sha256:" + "0" * 64,
        turn=7,
        run="deploy/acme/7",
        asked_at=1893456000.0,
    )


class Side:
    def __init__(self, root: Path) -> None:
        self.data = root / "data"
        self.data.mkdir()
        self.enrolment = root / "enrolment.toml"
        self.enrolment.write_text(ENROLMENT.render())
        self.store = FolderStore(self.data / "store")
        self.audit_log = AuditLog(self.data / FOLDER)

    def run(self, *arguments: str, status: int = 0) -> str:
        flags = ["--enrolment", str(self.enrolment), "--data", str(self.data)]
        done = CliRunner().invoke(worker, [*arguments, *flags])
        assert done.exit_code == status, done.output
        return done.output

    def ask(self, component: str, digit: str) -> Question:
        one = question(component, digit)
        ask(self.store, one)
        return one


@pytest.fixture
def side(tmp_path: Path) -> Side:
    return Side(tmp_path)


def test_nothing_waits(side: Side) -> None:
    assert "No plan of acme waits" in side.run("plans")
    assert "requires none: approval is vendor" in side.run("plans")
    (side.enrolment.parent / "policy.toml").write_text('approval = "customer"')
    assert "requires none" not in side.run("plans")
    assert "No plan of acme waits" in side.run("approve", status=1)


def test_the_one_that_waits_is_approved_without_naming_it(side: Side) -> None:
    one = side.ask("net", "a")
    beginning = (
        f"net: 1 to create; {one.digest}, of release {one.release} in deploy/acme/7, waits since"
    )
    assert f"{beginning} 2030-" in side.run("plans")
    assert "approved: net: 1 to create" in side.run("approve")
    answer = answered(side.store, one)
    assert answer is not None and answer.decision == "approved" and "@" in answer.by
    assert json.loads(side.run("plans", "--output", "json")) == {"plans": []}


def test_of_several_one_is_named(side: Side) -> None:
    net, db = side.ask("net", "a"), side.ask("db", "b")
    said = side.run("approve", status=1)
    assert "Several plans wait" in said and net.digest in said and db.digest in said
    assert "too short" in side.run("approve", "--plan", "bbb", status=1)
    assert "0 waiting plans begin with" in side.run("approve", "--plan", "c" * 64, status=1)
    side.run("deny", "--plan", "B" * 8, "--reason", "not today")
    denied = answered(side.store, db)
    assert denied is not None and (denied.decision, denied.reason) == ("denied", "not today")
    assert answered(side.store, net) is None


def test_a_view_is_shown_as_what_it_is(side: Side) -> None:
    one = side.ask("net", "a")
    record = PlanRecord(
        component="net", digest=one.digest, teardown=False, plan_file="", tool="", providers="",
        state="",
    )  # fmt: skip
    view = "apply net: 1 to create\n\n+ x.y\n    + a = \x1b[31m1\u2028+ z\n"
    save_plan(side.store, one.plan_key, SAVED, record, PlanFiles(b"", b"", view))
    said = side.run("plans", "--view")
    assert "    + x.y\n        + a = \\u001b[31m1\\u2028+ z\n" in said
    [plan] = json.loads(side.run("plans", "--view", "-o", "json"))["plans"]
    assert (plan["component"], plan["view"].split("\n")[3]) == (
        "net", "    + a = \\u001b[31m1\\u2028+ z",
    )  # fmt: skip


def test_what_waits_is_one_line_whatever_is_in_it(side: Side) -> None:
    forged = "deploy/acme/7, waits since 2030\ndb: 1 to create; \u2028\x85\u202e\x1b[8m"
    ask(side.store, replace(question("net", "a"), run=forged, changes="1\nto create"))
    for command in (("plans",), ("deny", "--reason", "no")):
        said = side.run(*command)
        assert said.removesuffix("\n") == shown(said.removesuffix("\n")), "one line, nothing hidden"
        assert r"2030\u000adb: 1 to create; \u2028\u0085\u202e\u001b[8m" in said


def test_a_line_of_the_journal_is_one_line_whatever_is_in_it(side: Side) -> None:
    side.audit_log.append(
        "told", activity="terraform.apply", component="net", verdict="allowed",
        workflow="deploy/acme/7\n     2  2030  told: x\u2028y\u202e\x1b[8m",
    )  # fmt: skip
    said = side.run("journal").removesuffix("\n")
    assert said == shown(said)
    assert r"deploy/acme/7\u000a     2  2030  told: x\u2028y\u202e\u001b[8m" in said


def test_a_whole_journal_is_reported_with_its_head(side: Side) -> None:
    first = side.audit_log.append("told", activity="terraform.apply", component="net", verdict="x")
    side.audit_log.append("ran", told=first.number, label="apply", plan_file="sha256:" + "f" * 64)
    last = side.audit_log.append("ended", told=first.number, outcome="ok")
    keep_head(side.store, Machine.here(side.data).id, last.head)
    said = side.run("journal", "--verify")
    head = f"{last.number}:{last.hash}"
    assert "is intact" in said and said.count(head) == 2
    assert side.run("journal", "--verify", "--head", head)
    log = side.data / "worker.log"
    log.write_text(f"INFO The worker's journal is at {head}.\n")
    assert side.run("journal", "--verify", "--heads", str(log))
    log.write_text(f"x: The worker's journal is at 99:sha256:{'0' * 64}.\nand another")
    assert "line 99, of the kept head" in side.run(
        "journal", "--verify", "--heads", str(log), status=1
    )
    log.write_text(f"an id with 99:sha256:{'0' * 64}. in it: no head was told")
    assert "contains no head" in side.run("journal", "--verify", "--heads", str(log), status=2)
    printed = side.run("journal")
    assert "told: terraform.apply net x" in printed
    assert f"ran of 1: apply plan_file={'f' * 12}" in printed
    assert "ended of 1: ok" in printed
    assert side.run("journal", "--since", "2999-01-01") == ""
    documents = [json.loads(one) for one in side.run("journal", "-o", "json").splitlines()]
    assert [one["kind"] for one in documents] == ["told", "ran", "ended"]


def test_a_journal_that_was_cut_off_is_reported_by_the_store_and_by_the_head(side: Side) -> None:
    heads = [side.audit_log.append("told", n=n).head for n in range(4)]
    keep_head(side.store, Machine.here(side.data).id, heads[2])
    file = side.data / FOLDER / "00000001.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]))
    said = side.run("journal", "--verify", status=1)
    assert "line 3, of the kept head" in said and "is not intact" in said
    answer = json.loads(side.run("journal", "--verify", "-o", "json", status=1).splitlines()[0])
    assert (answer["whole"], answer["lines"]) == (False, 2)
    file.write_bytes(b"".join(lines[:3]))
    assert "is intact" in side.run("journal", "--verify")
    kept = f"{heads[3].number}:{heads[3].hash}"
    assert "line 4, of the kept head" in side.run("journal", "--verify", "--head", kept, status=1)
    other = f"{heads[2].number}:sha256:{'0' * 64}"
    assert "line 3 is not the one" in side.run("journal", "--verify", "--head", other, status=1)


def test_a_changed_line_is_named_by_its_number(side: Side) -> None:
    for n in range(4):
        side.audit_log.append("told", n=n)
    file = side.data / FOLDER / "00000001.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"n":2', b'"n":9'))
    assert "line 3 was changed" in side.run("journal", "--verify", status=1)


def test_no_journal_yet(side: Side) -> None:
    assert "lines     0" in side.run("journal", "--verify")
    assert side.run("journal") == ""
    assert not (side.data / FOLDER).exists(), "reading must not create files of the worker"


def test_wrong_usage_is_reported(side: Side) -> None:
    assert "is not a head" in side.run("journal", "--verify", "--head", "abc", status=2)
    assert "belong to --verify" in side.run("journal", "--first", "3", status=2)
    assert "is not a time" in side.run("journal", "--since", "yesterday", status=2)
    side.enrolment.write_text("wrong = 1")
    assert "there is no such key" in side.run("plans", status=1)
