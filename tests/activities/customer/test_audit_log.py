"""The audit log in its files: crashes, other processes, full disks, and growth."""

import json
import multiprocessing
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from activities.customer.audit_chain import Head
from activities.customer.audit_log import AuditLog, keep_head, kept_head
from store.folder import FolderStore


def read(folder: Path) -> list[dict[str, object]]:
    return [json.loads(raw) for raw in AuditLog(folder).lines()]


def test_a_line_is_on_the_disk_for_its_owner_alone(tmp_path: Path) -> None:
    audit_log = AuditLog(tmp_path / "j")
    line = audit_log.append("told", activity="a.b", nothing=None, text="x" * 5000)
    assert line.number == 1
    [found] = read(tmp_path / "j")
    assert (found["kind"], found["activity"], found["number"]) == ("told", "a.b", 1)
    assert "nothing" not in found
    assert len(str(found["text"])) < 1000
    assert audit_log.verified().problems == []
    for path in (tmp_path / "j").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "j").stat().st_mode) == 0o700


def test_a_crash_at_any_byte_of_a_line_keeps_the_chain(tmp_path: Path) -> None:
    """A torn line is set aside and recorded, and no number is used twice."""
    whole = AuditLog(tmp_path / "whole")
    whole.append("told", activity="first")
    before = (tmp_path / "whole" / "00000001.jsonl").read_bytes()
    whole.append("told", activity="second")
    after = (tmp_path / "whole" / "00000001.jsonl").read_bytes()
    for length in range(len(before), len(after)):
        folder = tmp_path / str(length)
        folder.mkdir()
        (folder / "00000001.jsonl").write_bytes(after[:length])
        torn = length > len(before)
        assert bool(AuditLog(folder).verified().problems) == torn
        AuditLog(folder).append("told", activity="third")
        found = AuditLog(folder).verified()
        assert (found.problems, found.torn, found.count) == ([], int(torn), 2 + torn)
        if torn:
            assert (folder / "torn-00000002").read_bytes() == after[len(before) : length]


def test_a_crash_while_a_torn_line_is_set_aside(tmp_path: Path) -> None:
    """A crash may come after each step: writing the next line completes the rest."""
    audit_log = AuditLog(tmp_path)
    audit_log.append("told", activity="first")
    file = tmp_path / "00000001.jsonl"
    whole = file.read_bytes()
    # First: set aside, but not yet cut off. Second: cut off, but not yet recorded.
    for left in (whole + b'{"torn', whole):
        file.write_bytes(left)
        (tmp_path / "torn-00000002").write_bytes(b'{"torn')
        AuditLog(tmp_path).append("told", activity="third")
        assert [one["kind"] for one in read(tmp_path)] == ["told", "torn", "told"]
        assert AuditLog(tmp_path).verified().problems == []


@pytest.mark.long
def test_garbage_of_many_lines_is_set_aside(tmp_path: Path) -> None:
    audit_log = AuditLog(tmp_path)
    audit_log.append("told")
    with (tmp_path / "00000001.jsonl").open("ab") as file:
        file.write(b"\0\n" * 300_000 + b"x")
    AuditLog(tmp_path).append("told")
    assert [one["kind"] for one in read(tmp_path)] == ["told", "torn", "told"]
    assert AuditLog(tmp_path).verified().problems == []


def test_it_goes_on_in_another_file_and_the_chain_with_it(tmp_path: Path) -> None:
    for _ in range(10):
        # Each object stands for another process, which knows nothing of the others.
        AuditLog(tmp_path, largest_file_bytes=600).append("told", activity="x")
    files = sorted(path.name for path in tmp_path.glob("*.jsonl"))
    assert len(files) > 2
    assert files[0] == "00000001.jsonl"
    assert AuditLog(tmp_path).verified().problems == []
    # If the customer archives the oldest file, verification reports it unless they say so.
    gone = len((tmp_path / files[0]).read_bytes().splitlines())
    (tmp_path / files[0]).unlink()
    assert AuditLog(tmp_path).verified().problems
    assert AuditLog(tmp_path).verified(first=gone + 1).problems == []


def _append_many(folder: str) -> None:
    audit_log = AuditLog(Path(folder), largest_file_bytes=4000)
    for number in range(25):
        audit_log.append("told", process=os.getpid(), n=number)


@pytest.mark.process
def test_processes_share_one_chain(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_append_many, args=(str(tmp_path),)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    found = AuditLog(tmp_path).verified()
    assert (found.problems, found.count) == ([], 75)


def _half(descriptor: int, data: bytes) -> int:
    return WRITE(descriptor, data[: len(data) // 2])


def _fails(descriptor: int) -> None:
    raise OSError(5, "Input/output error")


WRITE = os.write


@pytest.mark.parametrize(("name", "fault"), [("write", _half), ("fsync", _fails)])
def test_a_disk_that_takes_no_line_leaves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fault: Callable[..., object]
) -> None:
    audit_log = AuditLog(tmp_path)
    audit_log.append("told", activity="first")
    with monkeypatch.context() as patch:
        patch.setattr(os, name, fault)
        with pytest.raises(OSError, match=r"No space left|Input/output error"):
            audit_log.append("told", activity="second")
    audit_log.append("told", activity="third")
    assert [one.get("activity") for one in read(tmp_path)] == ["first", "third"]
    assert audit_log.verified().problems == []


def test_what_was_cut_off_while_the_worker_lives_is_reported(tmp_path: Path) -> None:
    audit_log = AuditLog(tmp_path)
    for _ in range(3):
        audit_log.append("told")
    file = tmp_path / "00000001.jsonl"
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[0])
    audit_log.append("told")
    assert [one["number"] for one in read(tmp_path)] == [1, 4, 5]
    assert [one["kind"] for one in read(tmp_path)] == ["told", "lost", "told"]
    assert audit_log.verified().problems == ["lines 2 to 3 are missing"]


def test_the_store_is_a_witness_of_what_was_cut_off(tmp_path: Path) -> None:
    store, audit_log = FolderStore(tmp_path / "store"), AuditLog(tmp_path / "j")
    assert kept_head(store, "m1") is None
    heads = [audit_log.append("told").head for _ in range(3)]
    keep_head(store, "m1", heads[2])
    keep_head(store, "m1", heads[0])
    assert kept_head(store, "m1") == heads[2], "it never goes back"
    for path in (tmp_path / "j").glob("*.jsonl"):
        path.unlink()
    assert audit_log.verified([heads[2]]).problems
    later = AuditLog(tmp_path / "j")
    later.expect(Head(3, heads[2].hash))
    later.append("told")
    found = later.verified([heads[2]])
    assert found.problems[0] == "lines 1 to 3 are missing"
