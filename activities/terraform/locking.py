"""Waits for the lock on a part's state, breaks it if its holder is dead, and takes it.

A lock is broken only if its holder is proven to be dead. Exactly that lock is removed, by the
version of its object; `terraform force-unlock` instead checks first and removes later, when the
lock may be another's. The caller holds the part, so none of our tools works on it, neither here nor
(because of the lease) on another machine. So it is proof enough that one of our tools made the
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
"""If a lock is older than this, or was waited for this long, an error is raised so that a person
sees it; the activity is retried."""

_LONGEST_PAUSE_SECONDS: Final = 15.0
_OURS: Final = "exclave "
"""The info of a lock that a worker itself took begins with this."""

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
        """The lock on a part's state, for a worker with that data folder on that machine."""
        makers = LockMakers(store, machine, data)
        return StateLocks(backend_of(store, part), folder, machine, makers)

    def read(self) -> StateLock | None:
        """The lock; None if nobody holds it. Blocks."""
        return self.backend.read_lock()

    async def wait_until_free(self, say: Say) -> None:
        """Return once nobody holds the lock.

        A lock whose holder is dead is broken, once. Any other is waited for, and named.

        Raises:
            LockHeld: it is held for too long (`PATIENCE_SECONDS`).
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
                # If it is still there afterwards, it is waited for like any other lock.
                proof = None
                continue
            if max(time.monotonic() - began, time.time() - lock.created) > PATIENCE_SECONDS:
                raise LockHeld(self._held(lock))
            say(f"waits for the state lock of {lock}")
            await asyncio.sleep(next(pauses))

    def proof_of_origin(self, lock: StateLock) -> str | None:
        """Why the lock must be one of ours, as a text; None if it may be another's. Blocks.

        If it is ours, its holder is dead, since the caller holds the part.
        """
        if not lock.etag:
            # The operating system releases such a lock when its holder ends.
            return None
        if lock.info.startswith(_OURS):
            return "one of our workers took it, and no longer holds the part"
        maker = self.makers.maker_of(self.backend.part, lock)
        return self._proof(maker) if maker else None

    @contextmanager
    def hold(self, why: str) -> Iterator[None]:
        """Hold the lock as Terraform would, if it is an object; blocks.

        Raises:
            Conflict: somebody else holds it.
        """
        info = {
            "ID": str(uuid.uuid4()),
            "Operation": "errored-state",
            "Info": f"{_OURS}{self.machine.id}: {why}",
            "Who": who_am_i(),
            "Version": "",
            "Created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        with self.backend.hold_lock(info):
            yield

    def _proof(self, maker: Run) -> str:
        began = datetime.fromtimestamp(maker.at, UTC)
        is_here = self.makers.is_here(maker)
        where = "this machine" if is_here else f"machine {maker.machine}, whose lease has ended"
        return (
            f"our own {maker.label} of {began:%H:%M:%S} UTC on {where} made it, and no process of "
            "that run is left"
        )

    def _break(self, lock: StateLock, proof: str) -> None:
        # Conflict: somebody else has broken it already, or it is another lock now. Look again.
        with suppress(Conflict):
            self.backend.break_lock(lock)
            part = part_shown(self.backend.part)
            _log.warning("%s: broke the state lock of %s: %s", part, lock, proof)

    def _held(self, lock: StateLock) -> str:
        way_out = self.backend.way_out(lock, self.folder)
        part = part_shown(self.backend.part)
        return (
            f"{part}: the Terraform state is locked by {lock}. It is not known here whether that "
            f"process is still alive. If it is, let it finish; {way_out} This is retried "
            "automatically."
        )
