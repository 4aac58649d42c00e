"""The customer's side of every activity: what it refuses and records."""

import errno
import json
import logging
import os
from dataclasses import replace
from typing import Any, cast

import pytest
from temporalio.testing import ActivityEnvironment

from activities.customer import audit_events
from activities.customer.audit_chain import Head
from activities.customer.audit_log import FOLDER, AuditLog, kept_head
from activities.customer.guard import CustomersGuard
from activities.customer.kinds import CHANGING, ENDING, READING
from activities.interceptor import ActivityInterceptor
from apps.parts import SANDBOX
from contracts import actions, deploys, provisions
from contracts.deploys import PlanInput, ScopeInput
from contracts.errors import EngineFailed, PolicyDenied
from contracts.installs import DescribeInput
from contracts.messages import WorkerDescription
from tests.activities.customer.guard_site import (
    DIGEST,
    OTHER,
    RELEASE,
    SECRET,
    Site,
    apply_input,
    operation,
    scope_input,
    step_input,
)
from workers import install as install_worker
from workers.engines import ENGINES
from workers.process import nothing


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
