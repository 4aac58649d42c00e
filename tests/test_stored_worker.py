"""The data folder of a worker of an older version reads as it was meant."""

import hashlib
import json
from pathlib import Path

import pytest

from activities.action.outputs_file import read_outputs_file
from activities.action.script import Script
from activities.customer.audit_chain import Head, verify
from activities.customer.audit_log import FOLDER, AuditLog, kept_head
from activities.operations.processes import Process
from activities.operations.spec import INTERRUPT_FILE, SNAPSHOT_FILE, SPEC_FILE, Spec
from activities.operations.status import (
    CommandStatus,
    Status,
    ToolEnd,
    end_of,
    grace_for_leftovers,
    has_begun,
)
from activities.operations.subject import CurrentRun, Subject
from activities.releases.reader import ReleaseReader
from activities.releases.unpacked import Unpacked, unpacked_at
from activities.secrets.kept import kept_secrets
from activities.secrets.masking import Mask
from activities.terraform.applying import note_unsaved
from activities.terraform.backends import override
from activities.terraform.state_file import left_unsaved, printed_unsaved
from apps.parts import SANDBOX
from artifacts.layout import Layout
from store.machine import Machine
from store.opening import folder_description
from store.pausing import is_paused, resume
from tests.activities.build.shop_source import registry_of
from tests.stored.fixed import APP, ARTIFACT, INSTALL, LICENSE, MACHINE, RELEASE
from tests.stored.workplace import workplace_in
from tests.stored.write_release import release_in
from tests.stored.write_store import APPLY_KEY, OPEN_KEY, STATE, VALUES
from tests.stored.write_worker import (
    CURRENT,
    DATA,
    ENDED,
    ORPHANED,
    PRINTED,
    RESCUED_RUN,
    RUN,
    STATE_PRINTED,
    TERMS,
    UNSAVED_RUN,
)


@pytest.fixture
def data(stored: Path) -> Path:
    return stored / "worker"


def test_which_machine_it_is(data: Path) -> None:
    own = (data / "machine-id").read_text()
    system = Path("/etc/machine-id")
    of_system = system.read_text().strip() if system.is_file() else ""
    expected = hashlib.sha256(f"{of_system} {own}".encode()).hexdigest()[:32]
    assert Machine.here(data).id == expected
    assert (data / "machine-id").read_text() == own


def test_it_is_paused_until_somebody_resumes_it(data: Path) -> None:
    assert is_paused(data)
    assert resume(data)
    assert not is_paused(data)


def test_how_a_run_ended(data: Path) -> None:
    folder = data / "runs" / ENDED
    assert Status.load(folder) == Status(
        key=APPLY_KEY,
        label="apply",
        grace_seconds=60.0,
        terminate_seconds=10.0,
        deadline=5000.5,
        commands=[
            CommandStatus("init", None, "ended", Process(4242, "1001"), 0),
            CommandStatus("apply", "shown.json", "ended", Process(4243, "1002"), -15),
            CommandStatus("show", None, "waiting", None, None),
        ],
        supervisor=Process(4241, "1000"),
        failed="apply",
        interruption="timed_out",
        outcome="timed_out",
        message="the tool did not end in time",
    )
    end = end_of(folder)
    assert end == ToolEnd(
        label="apply",
        outcome="timed_out",
        exits={"init": 0, "apply": -15},
        failed="apply",
        folder=folder,
        message="the tool did not end in time",
        failed_stdout="shown.json",
    )
    assert has_begun(folder)
    assert end.last_lines() == PRINTED.strip()
    assert (folder / SNAPSHOT_FILE).read_bytes() == STATE
    assert (folder / INTERRUPT_FILE).exists()


def test_how_a_script_ended_whose_supervisor_was_killed(data: Path) -> None:
    folder = data / "runs" / ORPHANED
    status = Status.load(folder)
    assert status is not None
    assert (status.key, status.outcome, status.supervisor) == (
        OPEN_KEY,
        None,
        Process(4342, "2000"),
    )
    assert has_begun(folder)
    assert grace_for_leftovers(status, folder) is not None, "it has ended"
    end = end_of(folder)
    assert end is not None
    assert (end.label, end.outcome) == ("step", "exited")
    assert (end.exits, end.failed) == ({"step": 3}, "step")
    script = Script(folder.parent, Mask.of([]))
    assert read_outputs_file(script.outputs) == {"checked": True}


def test_a_script_that_was_about_to_begin(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = data / "runs" / ORPHANED
    status = Status.load(folder)
    assert status is not None
    for command in status.commands:
        command.state = "starting"
    # The file that is its proof says of which boot it is.
    status.commands = status.commands[1:]
    status.save(folder)
    assert has_begun(folder), "of another boot nothing is proven"
    monkeypatch.setattr("activities.operations.status.this_boot", lambda: MACHINE.boot)
    assert not has_begun(folder)
    assert end_of(folder) is None


def test_what_a_supervisor_is_told(data: Path) -> None:
    folder = data / "runs" / ENDED
    spec = Spec.decode((folder / SPEC_FILE).read_bytes())
    assert (spec.folder.name, spec.run.cwd, spec.run.commands[2].script) == (
        "1-apply",
        RUN.cwd,
        "exit 3\n",
    )
    expected = Spec(
        key=APPLY_KEY,
        subject="network",
        label="apply",
        folder=Path("/var/lib/recorded/worker/runs") / ENDED,
        tree_lock=DATA / "work-locks/network/tree.lock",
        supervisor_lock=3,
        run=RUN,
        store=folder_description(DATA / "store"),
        machine={"id": MACHINE.id, "boot": MACHINE.boot},
        lease=TERMS,
        lease_lasts_until=4000.5,
    )
    assert json.loads(spec.encode()) == json.loads(expected.encode())


def test_whose_the_locks_of_a_subject_are(data: Path) -> None:
    found = {name: Subject(name, data / "work-locks" / name).current() for name in CURRENT}
    assert found == {
        "network": CurrentRun(APPLY_KEY, "apply", DATA / "runs" / ENDED),
        "action/health": CurrentRun(OPEN_KEY, "step", DATA / "runs" / ORPHANED),
    }


def test_what_was_secret_when_the_tools_ran(data: Path) -> None:
    found = kept_secrets(workplace_in(data.parent).data / "runs" / APPLY_KEY)
    assert found == {LICENSE, "fake-output-0000"}


def test_a_state_that_lies_in_a_log_alone(data: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    unsaved, rescued = (data / "runs" / run for run in (UNSAVED_RUN, RESCUED_RUN))
    assert printed_unsaved(unsaved)
    assert left_unsaved(elsewhere, unsaved)
    assert not printed_unsaved(rescued), "it was taken from there"
    folder = workplace_in(data.parent).work_folder("network")
    assert left_unsaved(folder, rescued), "and lies here"
    assert (folder / "errored.tfstate").read_bytes().strip() == STATE_PRINTED.strip()
    assert note_unsaved(folder, end_of(rescued)), "it is known of the apply"
    marks = {mark.parent for mark in (data / "runs").rglob("state-unsaved")}
    assert marks == {unsaved, rescued}, "by which their folders are kept"


def test_files_in_a_working_folder_are_replaced_and_none_is_left_beside(data: Path) -> None:
    # Terraform reads all that it finds: under another name, the old ones would count as well.
    folder = workplace_in(data.parent).work_folder("network")
    before = {path.name for path in folder.iterdir()}
    VALUES.write(folder)
    override.write(folder, "local", {"path": "elsewhere"})
    assert {path.name for path in folder.iterdir()} == before
    [backend] = folder.glob("*override.tf.json")
    assert json.loads(backend.read_bytes()) == {
        "terraform": {"backend": {"local": {"path": "elsewhere"}}}
    }


def test_the_audit_log_is_whole_and_goes_on(data: Path) -> None:
    audit_log = AuditLog(data / FOLDER)
    head = kept_head(workplace_in(data.parent).store, MACHINE.id)
    assert head is not None
    found = audit_log.verified([head])
    assert (found.problems, found.count, found.torn, found.unended) == ([], 6, 1, 1)
    lines = [json.loads(line) for line in audit_log.lines()]
    assert [line["kind"] for line in lines] == [
        "told", "let in", "ran", "ended", "torn", "told",
    ]  # fmt: skip
    told, let_in, ran, ended, torn, _ = lines
    assert told["activity"] == "terraform.apply"
    assert (told["operation"], told["verdict"], told["turn"]) == ("deploy", "allowed", 7)
    named = (told["install"], told["app"], told["component"], told["key"], told["release"])
    assert named == (INSTALL, APP, "network", APPLY_KEY, RELEASE)
    assert let_in["why"].startswith("approved on the customer's side by root@machine-1 at ")
    assert (ran["label"], ran["artifact"]) == ("apply", ARTIFACT)
    assert ended["outcome"] == "ok"
    assert {line["told"] for line in (let_in, ran, ended)} == {1}
    assert (data / FOLDER / torn["kept"]).read_bytes() == b'{"at":"2026-01-02T0'
    line = audit_log.append("told", activity="operation.stop")
    assert line.number == 7
    assert audit_log.verified([head, line.head]).problems == []


def test_a_line_that_was_changed_is_found(data: Path) -> None:
    lines = list(AuditLog(data / FOLDER).lines())
    changed = [lines[0].replace(b'"turn":7', b'"turn":8'), *lines[1:]]
    assert verify(lines).problems == []
    assert verify(changed).problems == ["line 1 was changed: its hash is not that of its content"]


def test_a_head_that_somebody_kept_elsewhere(data: Path) -> None:
    line = json.loads(next(iter(AuditLog(data / FOLDER).lines())))
    head = Head.parse(f"1:{line['hash']}")
    assert head is not None
    assert AuditLog(data / FOLDER).verified([head]).problems == []
    log = f"The worker's journal is at 1:{line['hash']}.\n"
    assert Head.all_in(log) == [head], "as a log of then tells it"


def test_a_release_is_read_and_what_was_unpacked_of_it_stays(data: Path, tmp_path: Path) -> None:
    destination = workplace_in(data.parent).work_folder(SANDBOX)
    release = release_in(data.parent / "registry")
    with registry_of(Layout(data.parent / "registry")) as registry:
        reader = ReleaseReader(registry, tmp_path / "releases")
        config, index = reader.config(APP, release), reader.index(APP, release)
        artifact = reader.artifact(APP, release, SANDBOX)
        assert unpacked_at(destination) == Unpacked(artifact, destination)
        (destination / "of-a-tool").touch()
        assert reader.unpack_module(APP, release, SANDBOX, destination).artifact == artifact
        assert (destination / "of-a-tool").exists(), "it was not replaced"
        network = reader.unpack_module(APP, release, "network", tmp_path / "network")
    assert [one.name for one in config.components] == ["api", "network"]
    assert [one.name for one in config.inputs] == ["license", "region"]
    assert config.sandbox is not None
    assert index.components.keys() == {"api", "network"}
    assert (network.folder / "files/motd").read_text() == "hello\n"
