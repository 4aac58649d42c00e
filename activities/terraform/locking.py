"""Waits for the lock on a part's state, breaks one whose holder is dead, and takes it.

A lock is broken only if its holder is proven dead, and then exactly that one, by the version of the
object that was looked at: `terraform force-unlock` looks first and removes then, and what it
removes may be another's by that time. Whoever asks holds the part: no tool of ours works on it,
neither here nor, by its lease, on another machine. So the proof is that a tool of ours made the
lock, and that no other Terraform on this machine has the state open.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from activities.once import Say
from activities.terraform.backends.interface import Backend
from activities.terraform.backends.registry import backend_of
from activities.terraform.lock_makers import LockMakers
from activities.terraform.state_lock import StateLock
from apps.parts import part_shown
from contracts.errors import LockHeld
from store.errors import Conflict
from store.interface import Store
from store.journal import Run, who_am_i
from store.machine import Machine
from wire.backoff import backoff

PATIENCE_SECONDS: Final = 3600.0
"""A lock that is older, or was waited for so long, is an error that is tried again: a person should
see it."""

_LONGEST_PAUSE_SECONDS: Final = 15.0
_OURS: Final = "exclave "
"""What the info of a lock begins with that a worker took by itself."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StateLocks:
    """The lock on the state of one part, for an operation that holds the part."""

    backend: Backend
    folder: Path
    """The part's working folder."""
    machine: Machine
    makers: LockMakers

    @staticmethod
    def of(store: Store, part: str, folder: Path, machine: Machine, data: Path) -> "StateLocks":
        """The lock as it is seen on a machine whose worker has that data folder."""
        makers = LockMakers(store, machine, data)
        return StateLocks(backend_of(store, part), folder, machine, makers)

    def read(self) -> StateLock | None:
        """The lock; None if nobody holds it. Blocks."""
        return self.backend.read_lock()

    async def wait_until_free(self, say: Say) -> None:
        """Return once nobody holds the state.

        A lock whose holder is dead is broken, once; any other is waited for, and named.

        Raises:
            LockHeld: it is held for longer than anybody should wait without being told.
        """
        began, pauses = time.monotonic(), backoff(1.0, _LONGEST_PAUSE_SECONDS)
        seen: StateLock | None = None
        proof: str | None = None
        while lock := await asyncio.to_thread(self.read):
            if lock != seen:
                seen, pauses = lock, backoff(1.0, _LONGEST_PAUSE_SECONDS)
                proof = await asyncio.to_thread(self.proof_of_origin, lock)
            if proof is not None and not await asyncio.to_thread(self.backend.may_be_open):
                say(f"breaks the state lock of {lock}: {proof}")
                await asyncio.to_thread(self._break, lock, proof)
                # If it is still there after that, it is waited for as anybody's.
                proof = None
                continue
            if max(time.monotonic() - began, time.time() - lock.created) > PATIENCE_SECONDS:
                raise LockHeld(self._held(lock))
            say(f"waits for the state lock of {lock}")
            await asyncio.sleep(next(pauses))

    def proof_of_origin(self, lock: StateLock) -> str | None:
        """Why the lock can only be one of ours, in words; None where it may be another's. Blocks.

        Nothing of ours holds it any more, since the caller holds the part.
        """
        if not lock.etag:
            # The system frees it with its holder.
            return None
        if lock.info.startswith(_OURS):
            return "it was taken by a worker of ours, which no longer has the part"
        maker = self.makers.maker_of(self.backend.part, lock)
        return self._told(maker) if maker else None

    @contextmanager
    def taken(self, why: str) -> Iterator[None]:
        """Hold the lock as Terraform would, where it is one that stays; blocks.

        Raises:
            Conflict: somebody holds it.
        """
        told = {
            "ID": str(uuid.uuid4()),
            "Operation": "errored-state",
            "Info": f"{_OURS}{self.machine.id}: {why}",
            "Who": who_am_i(),
            "Version": "",
            "Created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        with self.backend.hold_lock(told):
            yield

    def _told(self, maker: Run) -> str:
        began = datetime.fromtimestamp(maker.at, UTC)
        is_here = self.makers.is_here(maker)
        where = "this machine" if is_here else f"machine {maker.machine}, whose lease has ended"
        return (
            f"it was made by our own {maker.label} of {began:%H:%M:%S} UTC on {where}, and no "
            "process of that is left"
        )

    def _break(self, lock: StateLock, proof: str) -> None:
        # Whoever was faster has broken it, or it is another lock by now: look again.
        with suppress(Conflict):
            self.backend.break_lock(lock)
            part = part_shown(self.backend.part)
            _log.warning("%s: broke the state lock of %s: %s", part, lock, proof)

    def _held(self, lock: StateLock) -> str:
        way_out = self.backend.way_out(lock, self.folder)
        part = part_shown(self.backend.part)
        return (
            f"{part}: the Terraform state is locked by {lock}. Whether that "
            f"lives is not known here. If it does, let it finish; {way_out} This is "
            "tried again by itself."
        )
