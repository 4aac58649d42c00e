"""The customer's side of every activity: what it refuses, waits for, and records."""

import asyncio
import errno
import json
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.testing import ActivityEnvironment

from activities.customer import audit_events
from activities.customer import gate as gate_module
from activities.customer.audit_chain import Head
from activities.customer.audit_log import FOLDER, AuditLog, kept_head
from activities.customer.gate import Gate
from activities.customer.guard import CustomersGuard
from activities.customer.kinds import CHANGING, ENDING, READING
from activities.customer.rules import Rules
from activities.engines import Engine
from activities.interceptor import ActivityInterceptor
from activities.operations.opening import Operations
from activities.plans.plan_store import PlanFiles, PlanRecord, save_plan
from activities.releases.reader import ReleaseReader
from activities.terraform.plan_json import SAVED
from activities.workplace import Workplace
from apps.parts import SANDBOX
from contracts import actions, deploys, provisions
from contracts.actions import StepInput
from contracts.activities import Activity
from contracts.deploys import Applied, ApplyInput, PlanInput, RunInput, ScopeInput
from contracts.engines import EngineSpec, RunToTheEnd
from contracts.errors import Denied, Draining, EngineFailed, PolicyDenied, StalePlan
from contracts.installs import DescribeInput
from contracts.messages import Turn, WorkerDescription
from store.customer import answer_now, decide, waiting
from store.folder import FolderStore
from store.install_state import InstallState
from store.journal import Journal
from store.machine import Machine
from store.opening import folder_description
from store.turns import check_turn
from workers import install as install_worker
from workers.engines import ENGINES
from workers.process import nothing

RELEASE = "sha256:" + "1" * 64
OTHER = "sha256:" + "2" * 64
DIGEST = "sha256:" + "d" * 64
SECRET = "hunter2-in-an-input"
PLAN_KEY = "run-1/net/plan/1"
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def operation(component: str = "net", **more: Any) -> dict[str, Any]:
    turn = Turn(number=7, workflow_id="deploy/acme/7")
    common = {"install": "acme", "app": "shop", "release": RELEASE, "component": component}
    return {**common, "turn": turn, "key": f"run-1/{component}/plan/1", **more}


def apply_input(key: str = "run-1/net/apply/2", **more: Any) -> ApplyInput:
    return ApplyInput(**operation(key=key, plan_key=PLAN_KEY, digest=DIGEST, **more))


def scope_input(release: str = RELEASE) -> ScopeInput:
    turn = {"number": 7, "workflow_id": "deploy/acme/7"}
    return ScopeInput.model_validate(
        {"install": "acme", "app": "shop", "release": release, "turn": turn, "inputs": {}}
    )


def step_input(release: str = RELEASE, action: str = "health") -> StepInput:
    return StepInput(
        install="acme", app="shop", release=release, action=action, step=0,
        key=f"run-{release[7:9]}/{action}/step/1", timeout_seconds=1,
    )  # fmt: skip


class Site:
    """What activities pass through on an install worker; the activities themselves are stubs."""

    def __init__(self, root: Path) -> None:
        self.store = FolderStore(root / "store")
        self.data = root / "data"
        self.file = root / "policy.toml"
        self.now = NOON
        self.done: list[str] = []
        self.beats: list[str] = []
        self.workplace = Workplace(
            engines=ENGINES,
            install="acme",
            org="dev",
            data=self.data,
            store=self.store,
            state=InstallState(self.store, "acme", "dev"),
            operations=Operations(
                self.store, folder_description(self.store.root), self.data, Machine.here(self.data)
            ),
            open_releases=lambda: cast(ReleaseReader, None),
            rules=Rules(self.file),
        )
        self.audit_log = AuditLog(self.data / FOLDER)
        gate = Gate(self.workplace, lambda: self.now)
        self.guard = CustomersGuard(self.workplace, self.audit_log, gate)
        self.environment = ActivityEnvironment()
        check_turn(self.store, 7, "deploy/acme/7")

    async def run(
        self,
        activity: str,
        argument: object,
        does: Callable[[], Any] = lambda: "done",
        check: Callable[[], None] = lambda: None,
    ) -> Any:
        async def body() -> Any:
            self.done.append(activity)
            return does()

        self.environment.info = replace(ActivityEnvironment().info, activity_type=activity)
        self.environment.on_heartbeat = lambda *details: self.beats.extend(map(str, details))
        return await self.environment.run(self.guard.run, [argument], check, body)

    def policy(self, text: str) -> None:
        self.file.write_text(text)

    def save_plan(self) -> None:
        record = PlanRecord(
            component="net", digest=DIGEST, teardown=False, plan_file="", tool="", providers="",
            state="", app="shop", release=RELEASE, artifact=OTHER, variables="v", environment="e",
        )  # fmt: skip
        view = "apply net: 1 to create\n\n+ x\n"
        save_plan(self.store, PLAN_KEY, SAVED, record, PlanFiles(b"", b"", view))

    def written(self) -> list[dict[str, Any]]:
        assert self.audit_log.verified().problems == []
        return [json.loads(raw) for raw in self.audit_log.lines()]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(gate_module, "LOOK_AGAIN_SECONDS", 0.01)
    return Site(tmp_path)


def test_every_activity_of_the_worker_is_known_to_the_policy(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An activity in none of the lists is refused, so each registered one must be in a list."""
    made: dict[str, Any] = {}
    monkeypatch.setattr(install_worker, "Worker", lambda client, **settings: made.update(settings))
    install_worker.make(cast(Any, None), site.workplace, nothing)
    names = {one.__temporal_activity_definition.name for one in made["activities"]}
    # The one without a name receives every unregistered activity, and refuses it.
    of_engines = {one.name for engine in ENGINES for one in engine.spec.work.activities}
    assert names - {None} == READING | ENDING | CHANGING.keys() | of_engines
    assert not (READING | ENDING) & CHANGING.keys()
    [boundary] = [one for one in made["interceptors"] if isinstance(one, ActivityInterceptor)]
    assert isinstance(boundary.guard, CustomersGuard)


async def test_what_nobody_has_classified_is_refused(site: Site) -> None:
    with pytest.raises(PolicyDenied, match=r"shell\.run is unknown to the customer's policy"):
        await site.run("shell.run", DescribeInput(install="acme"))
    assert site.done == []


@pytest.mark.parametrize(
    ("activity", "argument", "kind"),
    [
        (deploys.SCOPE, scope_input(), "deploy"),
        (deploys.TERRAFORM_PLAN, PlanInput(**operation()), "deploy"),
        (deploys.TERRAFORM_APPLY, apply_input(), "deploy"),
        (deploys.TERRAFORM_PLAN, PlanInput(**operation(teardown=True)), "teardown"),
        (deploys.TERRAFORM_APPLY, apply_input(teardown=True), "teardown"),
        (provisions.PROVISION_SCOPE, scope_input(), "provision"),
        (deploys.TERRAFORM_PLAN, PlanInput(**operation(SANDBOX)), "provision"),
        (deploys.TERRAFORM_PLAN, PlanInput(**operation(SANDBOX, teardown=True)), "deprovision"),
        (actions.SCOPE, actions.ScopeAction(install="acme", action="health"), "action"),
        (actions.STEP, step_input(), "action"),
    ],
)
async def test_an_operation_that_is_not_allowed_is_refused(
    site: Site, activity: Any, argument: Any, kind: str
) -> None:
    every = ["provision", "deploy", "teardown", "deprovision", "action"]
    site.policy(f"ad_hoc_scripts = true\noperations = {[one for one in every if one != kind]}")
    with pytest.raises(PolicyDenied, match=f"does not allow {kind} on acme; it allows") as caught:
        await site.run(activity.name, argument)
    assert caught.value.non_retryable
    assert site.done == []
    site.policy(f'ad_hoc_scripts = true\noperations = ["{kind}"]')
    assert await site.run(activity.name, argument) == "done", "without a restart"
    told = [one for one in site.written() if one["kind"] == "told"]
    assert [one["verdict"] for one in told] == ["refused", "allowed"]
    assert {one["operation"] for one in told} == {kind}
    assert told[0]["policy"] != told[1]["policy"]


@pytest.mark.parametrize("broken", ["approvals = 1", "not toml", None])
async def test_a_policy_that_cannot_be_used_stops_every_change_and_nothing_else(
    site: Site, broken: str | None
) -> None:
    if broken is None:
        site.file.mkdir()
    else:
        site.policy(broken)
    for activity in CHANGING:
        is_step = activity == actions.STEP.name
        argument: Any = step_input() if is_step else apply_input()
        with pytest.raises(PolicyDenied, match="Nothing is changed while the customer's policy"):
            await site.run(activity, argument)
    assert site.done == []
    for activity in READING | ENDING:
        assert await site.run(activity, DescribeInput(install="acme")) == "done"


async def test_only_actions_that_are_named_run(site: Site) -> None:
    site.policy('ad_hoc_scripts = true\nactions = ["backup-*"]')
    with pytest.raises(PolicyDenied, match=r"the action 'health'; it allows backup-\*\."):
        await site.run(actions.STEP.name, step_input())
    assert await site.run(actions.STEP.name, step_input(action="backup-db")) == "done"


async def test_a_script_of_a_release_that_no_run_introduced_is_ad_hoc(site: Site) -> None:
    with pytest.raises(PolicyDenied, match=r"No run has introduced the release .* to acme"):
        await site.run(actions.STEP.name, step_input())
    for release in (RELEASE, OTHER):
        await site.run(deploys.SCOPE.name, scope_input(release))
    for release in (RELEASE, OTHER):
        assert await site.run(actions.STEP.name, step_input(release)) == "done"
    with pytest.raises(PolicyDenied, match="No run has introduced"):
        await site.run(actions.STEP.name, step_input("sha256:" + "3" * 64))
    site.policy("ad_hoc_scripts = true")
    assert await site.run(actions.STEP.name, step_input("sha256:" + "3" * 64)) == "done"


async def test_a_scope_that_failed_introduces_nothing(site: Site) -> None:
    def fails() -> None:
        raise EngineFailed("it failed")

    with pytest.raises(EngineFailed):
        await site.run(deploys.SCOPE.name, scope_input(), fails)
    with pytest.raises(PolicyDenied):
        await site.run(actions.STEP.name, step_input())


async def _until(condition: Callable[[], object]) -> None:
    """Polls, since no event signals a heartbeat."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_an_apply_waits_for_the_customers_hours(site: Site) -> None:
    site.policy('[[hours]]\nfrom = "22:00"\nto = "23:00"\nzone = "Europe/Berlin"')
    assert await site.run(deploys.TERRAFORM_PLAN.name, PlanInput(**operation())) == "done"
    task = asyncio.create_task(site.run(deploys.TERRAFORM_APPLY.name, apply_input()))
    await _until(lambda: "waits until Mon 2026-01-05 22:00 Europe/Berlin" in " ".join(site.beats))
    assert not task.done()
    site.now = datetime(2026, 1, 5, 21, tzinfo=UTC)
    assert await task == "done"


async def test_a_policy_that_breaks_while_an_apply_waits_keeps_it_waiting(site: Site) -> None:
    site.policy('[[hours]]\nfrom = "22:00"\nto = "23:00"')
    task = asyncio.create_task(site.run(deploys.TERRAFORM_APPLY.name, apply_input()))
    await _until(lambda: site.beats)
    site.policy("half of a")
    await _until(lambda: "policy can be used" in " ".join(site.beats))
    site.policy("")
    assert await task == "done"


@pytest.mark.parametrize("approval", ["customer", "both"])
async def test_an_apply_waits_for_the_customer_to_approve_its_plan(
    site: Site, approval: str
) -> None:
    site.policy(f'approval = "{approval}"')
    site.save_plan()
    task = asyncio.create_task(site.run(deploys.TERRAFORM_APPLY.name, apply_input()))
    await _until(lambda: f"the customer's approval of {DIGEST}" in " ".join(site.beats))
    assert site.done == []
    [question] = waiting(site.store)
    assert (question.component, question.verb, question.digest) == ("net", "apply", DIGEST)
    assert question.changes == "1 to create"
    decide(site.store, question, answer_now("approved", "ann@host"))
    assert await task == "done"
    assert waiting(site.store) == []
    [let_in] = [one for one in site.written() if one["kind"] == "let in"]
    assert let_in["why"].startswith("approved on the customer's side by ann@host")
    # Another attempt of it need not ask again.
    assert await site.run(deploys.TERRAFORM_APPLY.name, apply_input()) == "done"


async def test_a_denied_plan_fails_for_good(site: Site) -> None:
    site.policy('approval = "customer"')
    site.save_plan()
    task = asyncio.create_task(site.run(deploys.TERRAFORM_APPLY.name, apply_input()))
    await _until(lambda: waiting(site.store))
    decide(site.store, waiting(site.store)[0], answer_now("denied", "ann@host", "not today"))
    with pytest.raises(Denied, match=r"customer's side by ann@host: not today") as caught:
        await task
    assert caught.value.non_retryable
    assert site.done == []
    assert site.written()[-1]["outcome"] == "Denied"


async def test_an_approval_is_of_one_plan_alone(site: Site) -> None:
    site.policy('approval = "customer"')
    site.save_plan()
    other = apply_input().model_copy(update={"digest": OTHER})
    with pytest.raises(StalePlan, match="the saved plan's digest is"):
        await site.run(deploys.TERRAFORM_APPLY.name, other)
    with pytest.raises(StalePlan, match=f"made from release {RELEASE}, not from {OTHER}"):
        elsewhere = apply_input("run-1/net/apply/4").model_copy(update={"release": OTHER})
        await site.run(deploys.TERRAFORM_APPLY.name, elsewhere)
    gone = apply_input("run-1/net/apply/3").model_copy(update={"plan_key": "run-1/net/plan/9"})
    with pytest.raises(StalePlan, match="no longer in the store"):
        await site.run(deploys.TERRAFORM_APPLY.name, gone)
    assert site.done == []


async def test_an_apply_that_has_begun_is_not_stopped_half_way(site: Site) -> None:
    """Neither by hours or approvals that are required since, nor by being forbidden since."""
    assert await site.run(deploys.TERRAFORM_APPLY.name, apply_input()) == "done"
    journal, machine = Journal(site.store), site.workplace.operations.machine
    journal.begin("run-1/net/apply/2", machine)
    journal.begin_run("run-1/net/apply/2", "apply", machine)
    later = ('approval = "both"\n[[hours]]\nfrom = "22:00"\nto = "23:00"', "operations = []", "x")
    for text in later:
        site.policy(text)
        assert await site.run(deploys.TERRAFORM_APPLY.name, apply_input()) == "done"
    # The vendor chooses keys, and might use this one for something else.
    for other in ({"plan_key": "run-1/net/plan/9"}, {"digest": OTHER}, {"teardown": True}):
        strange = apply_input().model_copy(update=other)
        with pytest.raises(PolicyDenied):
            await site.run(deploys.TERRAFORM_APPLY.name, strange)
    journal.record_result("run-1/net/apply/2", {})
    assert await site.run(deploys.TERRAFORM_APPLY.name, apply_input()) == "done"


async def test_a_step_that_runs_is_not_lost_by_a_new_policy(site: Site) -> None:
    journal, machine = Journal(site.store), site.workplace.operations.machine
    site.policy("ad_hoc_scripts = true")
    assert await site.run(actions.STEP.name, step_input()) == "done"
    journal.begin(step_input().key, machine)
    site.policy("operations = []")
    with pytest.raises(PolicyDenied):
        await site.run(actions.STEP.name, step_input())
    journal.begin_run(step_input().key, "step", machine)
    assert await site.run(actions.STEP.name, step_input()) == "done"


async def test_nothing_waits_for_a_run_that_was_cancelled_or_lost_its_turn(site: Site) -> None:
    site.policy('approval = "customer"')
    site.save_plan()
    task = asyncio.create_task(site.run(deploys.TERRAFORM_APPLY.name, apply_input()))
    await _until(lambda: waiting(site.store))
    site.environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert site.written()[-1]["outcome"] == "cancelled"
    assert len(waiting(site.store)) == 1, "another attempt of it may come"
    Journal(site.store).record_failure("run-1/net/apply/2", "Cancelled", "by a person")
    assert waiting(site.store) == []
    site.environment = ActivityEnvironment()
    task = asyncio.create_task(
        site.run(deploys.TERRAFORM_APPLY.name, apply_input("run-1/net/apply/3"))
    )
    await _until(lambda: waiting(site.store))
    check_turn(site.store, 8, "deploy/acme/8")
    assert waiting(site.store) == []
    site.environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_worker_that_leaves_does_not_wait_on(site: Site) -> None:
    site.policy('approval = "customer"')
    site.save_plan()
    task = asyncio.create_task(site.run(deploys.TERRAFORM_APPLY.name, apply_input()))
    await _until(lambda: site.beats)
    site.environment.worker_shutdown()
    with pytest.raises(Draining, match="the next attempt waits for the customer's"):
        await task
    assert site.done == []


async def test_the_audit_log_records_what_was_asked_ran_and_ended(
    site: Site,
) -> None:
    async def runs() -> None:
        audited = audit_events.now.get()
        assert audited is not None
        audit_events.identify(script=DIGEST)
        await audited.will_run("step", [["/bin/sh", "-c", SECRET]])

    activity = actions.STEP.name
    site.policy("ad_hoc_scripts = true")
    input = step_input().model_copy(update={"trigger": SECRET})
    site.environment.info = replace(ActivityEnvironment().info, activity_type=activity)
    await site.environment.run(site.guard.run, [input], lambda: None, runs)
    told, ran, ended = site.written()
    assert (told["activity"], told["action"], told["release"]) == (activity, "health", RELEASE)
    assert (told["attempt"], told["workflow"]) == (1, "test")
    assert told["input"].startswith("sha256:")
    assert (ran["told"], ran["label"], ran["script"]) == (told["number"], "step", DIGEST)
    assert (ended["told"], ended["outcome"]) == (told["number"], "ok")
    assert SECRET not in json.dumps(site.written())
    machine = site.workplace.operations.machine.id
    head = kept_head(site.store, machine)
    assert head is not None and (head.number, head.hash) == (ended["number"], ended["hash"])


async def test_an_audit_log_that_was_forged_is_found_by_the_process_log(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """The worker's user can write the audit log and the store, but not systemd's log."""
    caplog.set_level(logging.INFO)
    site.environment.info = replace(ActivityEnvironment().info, activity_type=deploys.SCOPE.name)
    scope = ScopeInput(**{**operation(), "inputs": {}})

    async def body() -> None:
        # The head is logged before the release's own code runs.
        assert Head.all_in(caplog.text)

    await site.environment.run(site.guard.run, [scope], lambda: None, body)
    heads = Head.all_in(caplog.text)
    folder = site.workplace.data / FOLDER
    assert AuditLog(folder).verified(heads).problems == []
    for file in folder.glob("*.jsonl"):
        file.unlink()
    forged = AuditLog(folder)
    for _ in range(2):
        forged.append("told", activity="nothing", verdict="allowed")
    assert forged.verified().problems == [], "the chain itself is whole"
    assert len(forged.verified(heads).problems) == len(set(heads)) == 2


async def test_what_the_interceptor_refuses_is_recorded_too(site: Site) -> None:
    def check() -> None:
        raise PolicyDenied("another install")

    with pytest.raises(PolicyDenied, match="another install"):
        await site.run("worker.describe", DescribeInput(install="other"), check=check)
    told, ended = site.written()
    assert (told["install"], ended["outcome"]) == ("other", "PolicyDenied")


async def test_without_an_audit_log_nothing_is_done(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            await site.run("worker.describe", DescribeInput(install="acme"))
    assert site.done == []
    assert await site.run("worker.describe", DescribeInput(install="acme")) == "done"


async def test_an_audit_log_that_was_removed_is_missed_by_the_next_process(site: Site) -> None:
    await site.run(deploys.SCOPE.name, scope_input())
    for path in (site.data / FOLDER).glob("*.jsonl"):
        path.unlink()
    later = AuditLog(site.data / FOLDER)
    site.guard = CustomersGuard(site.workplace, later)
    await site.run(deploys.SCOPE.name, scope_input())
    assert later.verified().problems == ["lines 1 to 2 are missing"]


def test_a_description_names_rules_and_nothing_that_they_say(site: Site) -> None:
    plain = WorkerDescription(protocol=1, features=[], tools={}, version="1", host="h")
    rules = site.workplace.rules
    assert (rules.shown_in(plain).approval, rules.shown_in(plain).rules) == ("vendor", [])
    site.policy('approval = "both"\nactions = ["secret-project-*"]')
    shown = rules.shown_in(plain)
    assert (shown.approval, shown.rules) == ("both", ["actions", "approval"])
    assert "secret-project" not in shown.model_dump_json()
    site.policy("wrong = 1")
    assert rules.shown_in(plain).rules == ["cannot be read"]


JOB = Engine(
    EngineSpec(
        name="job",
        types=("job",),
        feature="job/1",
        work=RunToTheEnd(Activity("job.run", RunInput, Applied, timedelta(days=1))),
        tool_bytes=1,
    ),
    activities=lambda workplace: (),
)


@pytest.fixture
def job_site(site: Site) -> Site:
    """Of a worker that has an engine without plans."""
    site.workplace = replace(site.workplace, engines=(*ENGINES, JOB))
    gate = Gate(site.workplace, lambda: site.now)
    site.guard = CustomersGuard(site.workplace, site.audit_log, gate)
    return site


async def test_what_has_no_plan_waits_for_the_customers_hours(job_site: Site) -> None:
    job_site.policy('hours = [{ from = "22:00", to = "04:00" }]')
    run = asyncio.create_task(job_site.run("job.run", RunInput(**operation(key="run-1/net/run/1"))))
    again = "when the customer allows applies again"
    await _until(lambda: again in " ".join(job_site.beats))
    job_site.now = datetime(2026, 1, 5, 23, tzinfo=UTC)
    assert await run == "done"


async def test_what_has_no_plan_is_refused_where_the_customer_approves(job_site: Site) -> None:
    job_site.policy('approval = "both"')
    with pytest.raises(PolicyDenied, match="net is deployed without a plan"):
        await job_site.run("job.run", RunInput(**operation(key="run-1/net/run/1")))
    assert job_site.done == []
