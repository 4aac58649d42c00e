"""The worker's journal: a line for each thing that this machine's worker was told, ran, and ended.

Not to be confused with the journal of operations (`store.journal`), by which nothing is done twice:
that one lies in the store, knows one object per operation, and is the worker's own memory. This one
is for the customer to read, lies in the worker's data folder, one on each machine, and is a chain
(`activities.customer.audit_chain`).

    worker-journal/00000001.jsonl   lines, oldest first; the newest file is written to
    worker-journal/torn-00000042    what stood where line 42 belongs, after a crash in its writing
    worker-journal/lock             held by the process that writes

Every line is on the disk before what it tells of begins.
"""

import errno
import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from activities.customer.audit_chain import (
    START,
    Head,
    Line,
    NoLine,
    Verified,
    make_line,
    parse_line,
    verify,
)
from store.customer import CUSTOMER_PREFIX
from store.documents import Document, change_document, read_document
from store.errors import Malformed
from store.interface import Store
from wire.private_files import make_private_folder, open_private, sync_folder, write_private

FOLDER: Final = "worker-journal"
"""Its name in the worker's data folder."""

LARGEST_FILE_BYTES: Final = 8 * 1024 * 1024
"""A file that is larger gets a successor: some 20,000 lines, which are weeks of work."""

LONGEST_TEXT: Final = 300
"""Of what a line tells in words; a line stays far below what is read of a file's end."""

_TAIL_BYTES: Final = 256 * 1024
_FILE: Final = re.compile(r"[0-9]{8}\.jsonl")


class WorkerJournal:
    """The journal in a worker's data folder; processes of one machine may share it."""

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        largest_file_bytes: int = LARGEST_FILE_BYTES,
    ) -> None:
        self.folder = folder
        self._clock = clock
        self._largest = largest_file_bytes
        self._known = START

    def expect(self, head: Head) -> None:
        """Remember that the journal has come that far: a shorter one has lost lines."""
        self._known = max(self._known, head, key=lambda one: one.number)

    @property
    def known(self) -> Head:
        """How far it has come, as far as this process knows."""
        return self._known

    def append(self, kind: str, **facts: Any) -> Line:
        """Write a line down to the disk, and return it; blocks.

        Raises:
            OSError: it could not be written; nothing of it is there then.
        """
        with self._locked():
            self._set_torn_aside()
            tail = self._tail()
            if tail.number < self._known.number:
                self._write("lost", {"why": f"the journal was cut off after line {tail.number}"})
            return self._write(kind, _short(facts))

    def lines(self) -> Iterator[bytes]:
        """All lines, oldest first, each without its end of line; blocks.

        The last one may be torn: its writer was killed, or is just writing it.
        """
        for path in self._files():
            with path.open("rb") as file:
                for raw in file:
                    # Without its end of line it is none, however whole it looks.
                    yield raw[:-1] if raw.endswith(b"\n") else b"torn: " + raw

    def verified(self, heads: Iterable[Head] = (), first: int = 1) -> Verified:
        """Look at the whole chain, as `chain.verify` does, with nobody writing to it; blocks."""
        if not self.folder.is_dir():
            return verify((), heads, first)
        with self._locked():
            return verify(self.lines(), heads, first)

    def _write(self, kind: str, facts: Mapping[str, Any]) -> Line:
        after = max(self._tail(), self._known, key=lambda one: one.number)
        line = make_line(after, _time(self._clock()), kind, facts)
        data = line.render() + b"\n"
        path = self._file_to_write()
        descriptor = open_private(path, os.O_WRONLY | os.O_APPEND)
        try:
            before = os.fstat(descriptor).st_size
            try:
                if os.write(descriptor, data) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
                os.fsync(descriptor)
            except OSError:
                # A full disk takes half a line: the next one must not follow on it.
                os.ftruncate(descriptor, before)
                raise
        finally:
            os.close(descriptor)
        if before == 0:
            sync_folder(self.folder)
        self.expect(line.head)
        return line

    def _file_to_write(self) -> Path:
        files = self._files()
        if not files:
            return self.folder / f"{1:08}.jsonl"
        newest = files[-1]
        if newest.stat().st_size < self._largest:
            return newest
        return self.folder / f"{int(newest.stem) + 1:08}.jsonl"

    def _tail(self) -> Head:
        """The newest line that is one."""
        for path in reversed(self._files()):
            line, _ = _newest_line(path)
            if line is not None:
                return line.head
        return START

    def _set_torn_aside(self) -> None:
        """Take what is no line off the end. Each step may be done again after a crash."""
        files = self._files()
        if not files:
            return
        _, end = _newest_line(files[-1])
        aside = self.folder / f"torn-{self._tail().number + 1:08}"
        with files[-1].open("r+b") as file:
            file.seek(end)
            torn = file.read()
            if torn:
                before = aside.read_bytes() if aside.exists() else b""
                write_private(aside, before + torn)
                sync_folder(self.folder)
                file.truncate(end)
                os.fsync(file.fileno())
        if aside.exists():
            torn = aside.read_bytes()
            digest = hashlib.sha256(torn).hexdigest()
            self._write("torn", {"kept": aside.name, "bytes": len(torn), "sha256": digest})

    def _files(self) -> list[Path]:
        try:
            return sorted(one for one in self.folder.iterdir() if _FILE.fullmatch(one.name))
        except FileNotFoundError:
            return []

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_private_folder(self.folder)
        lock = open_private(self.folder / "lock", os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def keep_head(store: Store, machine: str, head: Head) -> None:
    """Keep in the store how far the machine's journal has come; it never goes back. Blocks.

    Raises:
        StoreError: the store cannot be used.
    """

    def advance(document: Document | None) -> Document | None:
        if document is not None and _head_of(document).number >= head.number:
            return None
        return {"number": head.number, "hash": head.hash}

    change_document(store, _head_key(machine), advance)


def kept_head(store: Store, machine: str) -> Head | None:
    """How far the machine's journal had come when the store was last told; blocks.

    Raises:
        StoreError: the store cannot be used.
    """
    found = read_document(store, _head_key(machine))
    return _head_of(found[0]) if found else None


def _head_key(machine: str) -> str:
    return f"{CUSTOMER_PREFIX}journal-heads/{machine}.json"


def _head_of(document: Document) -> Head:
    try:
        return Head(int(document["number"]), str(document["hash"]))
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"a head of the worker's journal is none: {error!r}") from error


def _newest_line(path: Path) -> tuple[Line | None, int]:
    """The last line of the file that is one, and where it ends; None and 0 if there is none."""
    size = path.stat().st_size
    for length in (_TAIL_BYTES, size):
        begin = max(0, size - length)
        with path.open("rb") as file:
            file.seek(begin)
            data = file.read()
        end = data.rfind(b"\n") + 1
        while end:
            start = data.rfind(b"\n", 0, end - 1) + 1
            if start or begin == 0:
                with suppress(NoLine):
                    return parse_line(data[start : end - 1]), begin + end
            end = start
    return None, 0


def _short(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value[:LONGEST_TEXT] if isinstance(value, str) else value
        for name, value in facts.items()
        if value is not None
    }


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
