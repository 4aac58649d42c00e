"""The audit log: what this machine's worker was asked to do, what it ran, and how that ended.

It is for the customer to read, is kept in the worker's data folder, one on each machine, and is a
hash chain (`activities.customer.audit_chain`). It is not the operations' journal (`store.journal`),
which is in the store, has one object per operation, and keeps the worker from doing anything twice.

    worker-journal/00000001.jsonl   lines, oldest first; the newest file is written to
    worker-journal/torn-00000042    the remains of a line 42 whose writing was interrupted
    worker-journal/lock             held by the process that writes

Every line is on the disk before the work that it describes begins.
"""

import errno
import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
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
"""Its folder's name in the worker's data folder."""

LARGEST_FILE_BYTES: Final = 8 * 1024 * 1024
"""When a file exceeds this (some 20,000 lines, or weeks of work), the log goes on in a new one."""

LONGEST_TEXT: Final = 300
"""Characters of a text in a line; keeps lines far shorter than `_TAIL_BYTES`."""

_TAIL_BYTES: Final = 256 * 1024
_FILE: Final = re.compile(r"[0-9]{8}\.jsonl")


@dataclass(eq=False)
class AuditLog:
    """The audit log in a worker's data folder; processes of one machine may share it."""

    folder: Path
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    largest_file_bytes: int = LARGEST_FILE_BYTES
    _known: Head = field(default=START, init=False)

    def expect(self, head: Head) -> None:
        """Remember that the log reached this head: if it is shorter, lines were lost."""
        self._known = max(self._known, head, key=lambda one: one.number)

    @property
    def known(self) -> Head:
        """The newest head that this process knows."""
        return self._known

    def append(self, kind: str, **facts: Any) -> Line:
        """Write a line to the disk, and return it; blocks.

        Raises:
            OSError: it could not be written; no part of it is in the file then.
        """
        with self._locked():
            self._set_torn_aside()
            tail = self._tail()
            if tail.number < self._known.number:
                self._write("lost", {"why": f"the audit log was cut off after line {tail.number}"})
            return self._write(kind, _short(facts))

    def lines(self) -> Iterator[bytes]:
        """All lines, oldest first, each without its line break; blocks.

        The last one may be torn: its writer was killed, or is just writing it.
        """
        for path in self._files():
            with path.open("rb") as file:
                for raw in file:
                    # Without its line break it does not count, however complete it looks.
                    yield raw[:-1] if raw.endswith(b"\n") else b"torn: " + raw

    def verified(self, heads: Iterable[Head] = (), first: int = 1) -> Verified:
        """Check the whole chain with `audit_chain.verify`, while nobody writes to it; blocks."""
        if not self.folder.is_dir():
            return verify((), heads, first)
        with self._locked():
            return verify(self.lines(), heads, first)

    def _write(self, kind: str, facts: Mapping[str, Any]) -> Line:
        after = max(self._tail(), self._known, key=lambda one: one.number)
        line = make_line(after, _time(self.clock()), kind, facts)
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
                # A full disk may take half a line, which the next line must not be appended to.
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
        if newest.stat().st_size < self.largest_file_bytes:
            return newest
        return self.folder / f"{int(newest.stem) + 1:08}.jsonl"

    def _tail(self) -> Head:
        """The head of the newest valid line."""
        for path in reversed(self._files()):
            line, _ = _newest_line(path)
            if line is not None:
                return line.head
        return START

    def _set_torn_aside(self) -> None:
        """Move whatever is not a line off the end. After a crash, each step can be repeated."""
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
    """Keep the head of the machine's audit log in the store, unless a newer one is there. Blocks.

    Raises:
        StoreError: the store cannot be used.
    """

    def advance(document: Document | None) -> Document | None:
        if document is not None and _head_of(document).number >= head.number:
            return None
        return {"number": head.number, "hash": head.hash}

    change_document(store, _head_key(machine), advance)


def kept_head(store: Store, machine: str) -> Head | None:
    """The head of the machine's audit log that the store keeps; blocks.

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
        raise Malformed(f"the kept head of the audit log cannot be read: {error!r}") from error


def _newest_line(path: Path) -> tuple[Line | None, int]:
    """The last valid line of the file, and the offset of its end; None and 0 if there is none."""
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
