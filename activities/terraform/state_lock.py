"""The lock on a part's state in a bucket: whose it is, whether its holder lives, and its end.

Terraform's lock there is an object beside the state (`use_lockfile`), which stays when its holder
is killed. On a folder it is a lock of the operating system, which goes with its process: nothing of
this is needed then.

A lock is broken only if its holder is proven dead, and then exactly that one, by the version of the
object that was looked at. Whoever asks holds the part: no tool of ours works on it, neither here
nor, by its lease, on another machine. So the proof is that a tool of ours has made the lock.
"""

import asyncio
import json
import logging
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from activities.once import Say
from activities.terraform.state_file import state_key
from activities.terraform.tool import LIBRARY
from apps.parts import part_shown
from contracts.errors import LockHeld
from store.interface import Conflict, Store
from store.journal import Journal, Run
from store.machine import Machine

PATIENCE_SECONDS = 3600.0
"""After this long the wait becomes an error that is tried again: a person should see it."""

_LONGEST_PAUSE_SECONDS = 15.0
_TOOL_SECONDS = 2 * 3600.0
"""Above what a tool's run may take: its own timeout, and its grace."""
_CLOCKS_SECONDS = 5.0
"""How far the clocks of one machine's processes and of the bucket may seem to differ."""
_ENTRIES = 100
"""How many of the newest operations on the part are looked at for who made a lock."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StateLock:
    """What the lock's object says."""

    id: str
    who: str
    """`user@host`, as Terraform calls its holder."""
    operation: str
    created: float
    """Epoch seconds."""
    etag: str

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.created, UTC)
        return f"{self.who} since {since:%Y-%m-%d %H:%M:%S} UTC ({self.operation}, {self.id})"

    @property
    def host(self) -> str:
        """The holder's machine, by its own word."""
        return self.who.rpartition("@")[2]


@dataclass(frozen=True)
class StateLocks:
    """The locks of the states in one store, as one machine sees them."""

    store: Store
    machine: Machine
    data: Path
    """The worker's data folder: what works in it is ours."""

    def read(self, part: str) -> StateLock | None:
        """The lock on a part's state; None if there is none, or the store needs none. Blocks."""
        if self.store.s3_place() is None:
            return None
        found = self.store.get(_key(part))
        return _parsed(found.data, found.etag) if found else None

    async def wait_until_free(self, part: str, say: Say) -> None:
        """Return once nobody holds the part's state; the caller holds the part.

        A lock whose holder is dead is broken, once; any other is waited for, and named.

        Raises:
            LockHeld: it is held for longer than anybody should wait without being told.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        pause = 1.0
        while True:
            lock = await asyncio.to_thread(self.read, part)
            if lock is None:
                return
            proof = await asyncio.to_thread(self.proof_of_death, part, lock)
            if proof is not None:
                say(f"breaks the state lock of {lock}: {proof}")
                await asyncio.to_thread(self._break, part, lock, proof)
                continue
            if time.monotonic() > deadline:
                raise LockHeld(self._held(part, lock))
            say(f"waits for the state lock of {lock}")
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    def proof_of_death(self, part: str, lock: StateLock) -> str | None:
        """Why the lock's holder is dead, in words; None where that is not proven. Blocks."""
        is_here = lock.host == socket.gethostname()
        makers = [
            run
            for run in self._runs(part)
            if (run.machine == self.machine.id) == is_here
            and run.label == lock.operation.lower()
            and -_CLOCKS_SECONDS <= lock.created - run.at <= _TOOL_SECONDS
        ]
        if not makers or (is_here and self._somebody_else_works_on(part)):
            return None
        maker = max(makers, key=lambda run: run.at)
        began = datetime.fromtimestamp(maker.at, UTC)
        where = "this machine" if is_here else f"machine {maker.machine}, whose lease has ended"
        return (
            f"it was made by our own {maker.label} of {began:%H:%M:%S} UTC on {where}, and no "
            "process of that is left"
        )

    def _somebody_else_works_on(self, part: str) -> bool:
        """Whether a Terraform that is not ours has this very state open, on this machine."""
        place = self.store.s3_place()
        key = place.object_key(state_key(part)) if place else state_key(part)
        return any(
            _has_open(folder, key)
            for folder in _folders_of_terraforms()
            if not folder.is_relative_to(self.data.resolve())
        )

    def _runs(self, part: str) -> Iterator[Run]:
        """Runs of tools on the part, about newest first: ids of workflow runs grow with time."""
        journal = Journal(self.store)
        keys = [key for key in journal.all_operations() if key.split("/")[1:2] == [part]]
        for key in sorted(keys, reverse=True)[:_ENTRIES]:
            entry = journal.entry(key)
            yield from reversed(entry.runs if entry else ())

    def _break(self, part: str, lock: StateLock, proof: str) -> None:
        # Whoever was faster has broken it, or it is another lock by now: look again.
        with suppress(Conflict):
            self.store.delete(_key(part), if_match=lock.etag)
            _log.warning("%s: broke the state lock of %s: %s", part_shown(part), lock, proof)

    def _held(self, part: str, lock: StateLock) -> str:
        return (
            f"{part_shown(part)}: the Terraform state is locked by {lock}, and whether that lives "
            "is not known here. If it does, let it finish. If you are sure that it is dead, break "
            f"its lock in the part's folder with `terraform force-unlock {lock.id}`; this is tried "
            "again by itself."
        )


def _key(part: str) -> str:
    return f"{state_key(part)}.tflock"


def _parsed(content: bytes, etag: str) -> StateLock:
    try:
        found = json.loads(content)
        created = datetime.fromisoformat(str(found["Created"])[:19]).replace(tzinfo=UTC)
        return StateLock(
            id=str(found["ID"]),
            who=str(found["Who"]),
            operation=str(found["Operation"]).removeprefix("OperationType"),
            created=created.timestamp(),
            etag=etag,
        )
    except (ValueError, KeyError, TypeError):
        # Not as Terraform writes it: nothing of it is proven, so it is waited for.
        return StateLock("?", "somebody", "unknown", 0.0, etag)


def _folders_of_terraforms() -> Iterator[Path]:
    """Where each Terraform on this machine works."""
    if sys.platform != "linux":
        return
    for entry in Path("/proc").iterdir():
        # A process may end while it is looked at.
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")[:2]
            if {Path(word).name for word in words} & {"terraform", "tofu", LIBRARY}:
                yield (entry / "cwd").readlink()


def _has_open(folder: Path, key: str) -> bool:
    """Whether the state of that key is what Terraform works on in the folder."""
    try:
        return json.dumps(key) in (folder / ".terraform" / "terraform.tfstate").read_text()
    except FileNotFoundError:
        return False
    except OSError:
        # It is not for us to see: it may be.
        return True
