"""Waits for the lock on a part's state, breaks one whose holder is dead, and takes it.

A lock is broken only if its holder is proven dead, and then exactly that one, by the version of the
object that was looked at: `terraform force-unlock` looks first and removes then, and what it
removes may be another's by that time. Whoever asks holds the part: no tool of ours works on it,
neither here nor, by its lease, on another machine. So the proof is that a tool of ours made the
lock, and that no other Terraform on this machine has the state open.
"""

import asyncio
import json
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
from activities.terraform.lock_makers import LockMakers
from activities.terraform.running_processes import may_be_open
from activities.terraform.state_file import state_key
from activities.terraform.state_lock import StateLock, lock_key, read_lock
from apps.parts import part_shown
from contracts.errors import LockHeld
from store.errors import Conflict
from store.interface import ABSENT, Store
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

    store: Store
    part: str
    folder: Path
    """The part's working folder."""
    machine: Machine
    makers: LockMakers

    @staticmethod
    def of(store: Store, part: str, folder: Path, machine: Machine, data: Path) -> "StateLocks":
        """The lock as it is seen on a machine whose worker has that data folder."""
        return StateLocks(store, part, folder, machine, LockMakers(store, machine, data))

    def read(self) -> StateLock | None:
        """The lock; None if nobody holds it. Blocks."""
        return read_lock(self.store, self.part)

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
            if proof is not None and not await asyncio.to_thread(self._may_be_held):
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
            # The lock of a file: the system frees it with its holder.
            return None
        if lock.info.startswith(_OURS):
            return "it was taken by a worker of ours, which no longer has the part"
        maker = self.makers.maker_of(self.part, lock)
        return self._told(maker) if maker else None

    @contextmanager
    def taken(self, why: str) -> Iterator[None]:
        """Hold the lock of a state in a bucket, as Terraform would; blocks.

        Raises:
            Conflict: somebody holds it.
        """
        place = self.store.s3_place()
        if place is None:
            yield
            return
        told = {
            "ID": str(uuid.uuid4()),
            "Operation": "errored-state",
            "Info": f"{_OURS}{self.machine.id}: {why}",
            "Who": who_am_i(),
            "Version": "",
            "Created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "Path": f"{place.bucket}/{place.object_key(state_key(self.part))}",
        }
        content = json.dumps(told).encode()
        etag = self.store.put(lock_key(self.part), content, if_match=ABSENT)
        try:
            yield
        finally:
            with suppress(Conflict):
                self.store.delete(lock_key(self.part), if_match=etag)

    def _may_be_held(self) -> bool:
        """Whether a Terraform on this machine may hold it: nothing of ours does."""
        place = self.store.s3_place()
        if place is None:
            return True
        return may_be_open(place.bucket, place.object_key(state_key(self.part)))

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
            self.store.delete(lock_key(self.part), if_match=lock.etag)
            _log.warning("%s: broke the state lock of %s: %s", part_shown(self.part), lock, proof)

    def _held(self, lock: StateLock) -> str:
        return (
            f"{part_shown(self.part)}: the Terraform state is locked by {lock}. Whether that "
            f"lives is not known here. If it does, let it finish; {self._way_out(lock)} This is "
            "tried again by itself."
        )

    def _way_out(self, lock: StateLock) -> str:
        place = self.store.s3_place()
        if place is None:
            return "or end it: its lock goes with it."
        if not lock.id:
            where = f"s3://{place.bucket}/{place.object_key(lock_key(self.part))}"
            return f"if you are sure that it is dead, remove the lock: `aws s3 rm {where}`."
        return (
            "if you are sure that it is dead, break exactly its lock: "
            f"`terraform force-unlock -force {lock.id}` in {self.folder}."
        )
