"""Writes with today's code a worker's data folder, and what the guard keeps of an apply.

The supervisor's part is done by hand where it would need a process that nobody could tell the pid
of beforehand: through the very classes that it uses itself.
"""

import asyncio
import subprocess
from dataclasses import asdict
from dataclasses import replace as changed
from pathlib import Path

from temporalio.testing import ActivityEnvironment

from activities.action.script import STEP, prepare_script
from activities.customer import audit_events
from activities.customer.audit_log import FOLDER, AuditLog
from activities.customer.gate import Gate
from activities.customer.guard import CustomersGuard
from activities.customer.rules import Rules
from activities.operations.processes import Process
from activities.operations.spec import (
    OUTPUT_FILE,
    SNAPSHOT_FILE,
    Command,
    LeaseTerms,
    Spec,
    ToolRun,
)
from activities.operations.starting import write_spec
from activities.operations.status import CommandStatus, Status, end_of
from activities.operations.stopping import interrupt_runs
from activities.operations.subject import CurrentRun, Subject
from activities.secrets.kept import keep_secrets
from activities.terraform.applying import note_unsaved
from activities.terraform.backends import override
from activities.terraform.commands import APPLYING
from activities.terraform.state_file import rescue_printed
from activities.workplace import Workplace
from apps.config.actions import ActionStep
from contracts import deploys
from contracts.actions import StepInput
from contracts.deploys import ApplyInput
from contracts.messages import Turn
from contracts.names import action_subject
from store.journal import Journal
from store.machine import Machine
from store.opening import folder_description
from store.pausing import pause
from store.turns import check_turn
from tests.stored.fixed import APP, ARTIFACT, AT, INSTALL, LICENSE, MACHINE, MOMENT, RELEASE
from tests.stored.workplace import CONFIG, workplace_in
from tests.stored.write_store import APPLY_KEY, OPEN_KEY, PLAN_KEY, STATE, VALUES, approved
from tests.stored.write_store import RUN as RUN_ID
from wire.private_files import write_private

DATA = Path("/var/lib/exclave")
"""The data folder's place, where a file tells it."""

ENDED = f"{APPLY_KEY}/1-apply"
ORPHANED = f"{OPEN_KEY}/1-step"
"""The folders of two runs, below `runs`: one that ended, and one whose supervisor was killed."""

UNSAVED_RUN = f"{RUN_ID}/network/apply/4/1-apply"
RESCUED_RUN = f"{RUN_ID}/network/apply/5/1-apply"
"""Applies that printed their state, since they could write it nowhere; one's was taken from it."""

STATE_PRINTED = b'{\n  "version": 4,\n  "terraform_version": "1.11.4",\n  "serial": 5\n}\n'
SCRIPT = """echo '{"checked": true}' > "$NUON_ACTIONS_OUTPUT_FILEPATH"
exit 3"""
PRINTED = "Apply complete!\n"
TERMS = LeaseTerms(90.0, 20.0, 15.0)
RUN = ToolRun(
    commands=(
        Command("init", ["terraform", "init"]),
        Command("show", ["terraform", "show", "-json"], "shown.json", (0, 2)),
        Command("script", ["/bin/sh"], keeps_exit=True, script="exit 3\n"),
    ),
    cwd=DATA / "work" / INSTALL / "network",
    environment={"TF_VAR_license": LICENSE},
    timeout_seconds=3600.0,
    grace_seconds=60.0,
    terminate_seconds=10.0,
    snapshots_of=DATA / "store/terraform/network/terraform.tfstate",
    prints_what_it_cannot_save=True,
)

CURRENT = {
    "network": CurrentRun(APPLY_KEY, APPLYING, DATA / "runs" / ENDED),
    action_subject("health"): CurrentRun(OPEN_KEY, STEP, DATA / "runs" / ORPHANED),
}


def write_worker(root: Path) -> None:
    """Write it into `worker` below the folder; the store is there already."""
    workplace = workplace_in(root)
    Machine.here(workplace.data)
    pause(workplace.data)
    asyncio.run(_be_guarded(workplace))
    runs = workplace.data / "runs"
    _write_ended(runs / ENDED)
    _write_orphaned(workplace)
    keep_secrets((runs / ENDED).parent, {LICENSE, "fake-output-0000"})
    locks = workplace.data / "work-locks"
    for name, current in CURRENT.items():
        (locks / name).mkdir(parents=True)
        Subject(name, locks / name).set_current(current)
    nobodys = Subject("none", locks / "none")
    asyncio.run(interrupt_runs(APPLY_KEY, nobodys, runs / APPLY_KEY))
    folder = workplace.work_folder("network")
    override.write(folder, "local", {"path": str(DATA / "store/x.tfstate")})
    VALUES.write(folder)
    _write_unsaved(runs, folder)


async def _be_guarded(workplace: Workplace) -> None:
    """An apply that the customer has approved, from its task to its end."""
    policy = workplace.data / "policy.toml"
    policy.write_text('approval = "customer"\n')
    guarded = changed(workplace, rules=Rules(policy))
    audit_log = AuditLog(workplace.data / FOLDER, lambda: MOMENT)
    guard = CustomersGuard(guarded, audit_log, Gate(guarded, lambda: MOMENT))
    environment = ActivityEnvironment()
    environment.info = changed(environment.info, activity_type=deploys.TERRAFORM_APPLY.name)
    input = applied(workplace)

    def check() -> None:
        check_turn(workplace.store, input.turn.number, input.turn.workflow_id)

    async def apply() -> None:
        operations = Journal(workplace.store, lambda: AT)
        operations.begin(APPLY_KEY, MACHINE)
        operations.begin_run(APPLY_KEY, "apply", MACHINE)
        audit_events.identify(artifact=ARTIFACT)
        audited = audit_events.now.get()
        assert audited is not None
        await audited.will_run("apply", [["terraform", "apply"]])
        operations.record_result(APPLY_KEY, {"outputs": {"values": {"id": "net-here"}}})

    await environment.run(guard.run, [input], check, apply)
    policy.unlink()
    [file] = (workplace.data / FOLDER).glob("*.jsonl")
    with file.open("ab") as open_file:
        # As a crash in the middle of a line leaves it.
        open_file.write(b'{"at":"2026-01-02T0')
    audit_log.append("told", activity="operation.stop")


def applied(workplace: Workplace) -> ApplyInput:
    return ApplyInput(
        install=INSTALL,
        app=APP,
        release=RELEASE,
        component="network",
        key=APPLY_KEY,
        turn=Turn(number=7, workflow_id="deploy/acme/7"),
        plan_key=PLAN_KEY,
        digest=approved(workplace.store).digest,
    )


def _write_ended(folder: Path) -> None:
    folder.mkdir(parents=True)
    Status(
        key=APPLY_KEY,
        label=APPLYING,
        grace_seconds=60.0,
        terminate_seconds=10.0,
        deadline=5000.5,
        commands=[
            CommandStatus("init", None, "ended", Process(4242, "1001"), 0),
            CommandStatus("apply", "shown.json", "ended", Process(4243, "1002"), -15),
            CommandStatus("show"),
        ],
        supervisor=Process(4241, "1000"),
        failed="apply",
        interruption="timed_out",
        outcome="timed_out",
        message="the tool did not end in time",
    ).save(folder)
    write_private(folder / OUTPUT_FILE, PRINTED.encode())
    write_private(folder / SNAPSHOT_FILE, STATE)
    write_spec(
        Spec(
            key=APPLY_KEY,
            subject="network",
            label="apply",
            folder=folder,
            tree_lock=DATA / "work-locks/network/tree.lock",
            supervisor_lock=3,
            run=RUN,
            store=folder_description(DATA / "store"),
            machine=asdict(MACHINE),
            lease=TERMS,
            lease_lasts_until=4000.5,
        )
    )


def _write_orphaned(workplace: Workplace) -> None:
    """A script's end was kept by the shell around it, and its supervisor never saw it."""
    folder = workplace.data / "runs" / ORPHANED
    folder.mkdir(parents=True)
    step = ActionStep.model_validate({"name": "look", "command": SCRIPT})
    input = StepInput(
        install=INSTALL,
        app=APP,
        release=RELEASE,
        action="health",
        step=0,
        key=OPEN_KEY,
        timeout_seconds=60,
    )
    _, run = prepare_script(workplace, CONFIG, step, input, folder.parent)
    [begun] = run.commands
    waiting = Command("next", ["/bin/true"], keeps_exit=True)
    Status(
        key=OPEN_KEY,
        label=STEP,
        grace_seconds=60.0,
        terminate_seconds=10.0,
        deadline=5000.5,
        commands=[
            CommandStatus(begun.name, None, "running", Process(4343, "2001")),
            CommandStatus(waiting.name),
        ],
        supervisor=Process(4342, "2000"),
    ).save(folder)
    write_private(folder / begun.script_file, (begun.script or "").encode())
    for command in (begun, waiting):
        write_private(folder / command.unbegun_file, MACHINE.boot.encode())
    subprocess.run(begun.argv_in(folder), env=dict(run.environment), check=False)


def _write_unsaved(runs: Path, folder: Path) -> None:
    for run in (runs / UNSAVED_RUN, runs / RESCUED_RUN):
        run.mkdir(parents=True)
        write_private(run / OUTPUT_FILE, STATE_PRINTED)
        Status(
            key=APPLY_KEY,
            label=APPLYING,
            grace_seconds=60.0,
            terminate_seconds=10.0,
            deadline=5000.5,
            commands=[CommandStatus("apply", None, "ended", Process(4444, "3001"), 1)],
            failed="apply",
            outcome="exited",
        ).save(run)
        assert note_unsaved(folder, end_of(run))
    rescue_printed(folder, runs / RESCUED_RUN)
