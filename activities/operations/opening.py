"""Opens operations: work on one subject of the install with tools, done once per key.

Whoever opens an operation has the subject to itself: file locks exclude this machine's other
processes, the lease excludes other machines. The journal tells what earlier attempts with the key
did; if a tool of theirs still runs, the operation attaches to it.

    async with operations.open(key, subject, say) as operation:
        if outcome := operation.outcome():            # done before
            ...
        end = await operation.attach()                # a tool of an earlier attempt
        if end is None:
            end = await operation.run("apply", ToolRun(...))
        await operation.record_result({...})
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from activities.operations.lease_keeper import KeptLease, keep_lease
from activities.operations.locks import hold
from activities.operations.memory import TOOL_BYTES, MemoryLimiter
from activities.operations.operation import Context, Operation, Say, in_store
from activities.operations.spec import LeaseTerms
from activities.operations.steady_clock import steady
from activities.operations.stopping import give_lease_back, interrupt_runs
from activities.operations.subject import Subject, subjects_at_work
from contracts.errors import Cancelled, LockHeld
from store.errors import StoreError
from store.interface import Store
from store.journal import Entry, Journal
from store.leases import Leases
from store.machine import Machine
from store.object_keys import check_key
from store.reserve import keep_reserve

_LOOK_AGAIN_SECONDS: Final = 5.0
"""A store does not notify when another machine releases its lease early, so it is checked this
often."""


async def nobody_cancels() -> bool:
    """For callers that no person can cancel."""
    return False


class Operations:
    """The operations of one worker process."""

    def __init__(  # noqa: PLR0913 - exactly what differs between workers
        self,
        store: Store,
        store_spec: Mapping[str, str],
        data: Path,
        machine: Machine,
        waits: Say = lambda text: None,
        *,
        cancelled_by_person: Callable[[], Awaitable[bool]] = nobody_cancels,
        terms: LeaseTerms | None = None,
        clock: Callable[[], float] = time.time,
        memory: MemoryLimiter | None = None,
    ) -> None:
        """Prepares; nothing is opened yet.

        Args:
            store: The install's store.
            store_spec: How the supervisor opens the same store by itself.
            data: The worker's data folder, on a local file system.
            machine: This machine.
            waits: Called with what any operation waits for, in addition to that operation's `say`.
            cancelled_by_person: Called when an operation's coroutine is cancelled; returns whether
                a person wants the tool to stop. Otherwise the tool is left running.
            terms: How long leases last.
            clock: Epoch seconds, for leases and the journal.
            memory: Limits how many tools run; by default by the machine's free memory.
        """
        terms = terms or LeaseTerms()
        self._context = Context(
            store_spec=dict(store_spec),
            data=data.absolute(),
            machine=machine,
            journal=Journal(store, clock),
            leases=Leases(store, machine, clock, terms.seconds),
            terms=terms,
            cancelled_by_person=cancelled_by_person,
            followed={},
            memory=memory or MemoryLimiter(),
            interrupted=asyncio.Event(),
        )
        self._waits = waits

    @property
    def machine(self) -> Machine:
        """The machine that the operations work on."""
        return self._context.machine

    @asynccontextmanager
    async def open(
        self, key: str, subject: str, say: Say, tool_bytes: int = TOOL_BYTES
    ) -> AsyncIterator["Operation"]:
        """Waits until the subject is free for this key, and holds it for the block.

        An operation whose outcome is already recorded is returned at once and holds nothing.

        Args:
            key: The operation's key: segments joined by `/`.
            subject: What is worked on, in the same form, such as `acme/network`.
            say: Called with what the operation waits for.
            tool_bytes: The memory that each of its tools is assumed to need.

        Raises:
            Unreachable: The store does not answer.
        """
        context, leases = self._context, self._context.leases
        place = Subject(check_key(subject), context.data / "work-locks" / subject)
        outcome = await in_store(context.journal.outcome, check_key(key))
        if outcome:
            yield Operation(context, key, place, Entry(0, (), outcome), KeptLease(0.0))
            return
        say_everywhere = self._also_to_worker(subject, say)
        async with self._stopping_own_tool(key, place):
            driver = await hold(
                place.driver_lock,
                lambda: say_everywhere(f"waits for another attempt or run that works on {subject}"),
            )
        with driver:
            async with self._stopping_own_tool(key, place):
                await self._wait_for_other_runs(key, place, say_everywhere)
                lasts_until = await self._wait_for_lease(key, subject, say_everywhere)
            try:
                async with keep_lease(leases, subject, context.terms, lasts_until) as lease:
                    entry = await in_store(context.journal.begin, key, context.machine)
                    yield Operation(
                        context, key, place, entry, lease, say=say_everywhere, tool_bytes=tool_bytes
                    )
            finally:
                if not place.is_busy():
                    # A lease that cannot be released expires.
                    with suppress(StoreError):
                        await asyncio.to_thread(leases.release, subject)
                await asyncio.to_thread(keep_reserve, context.data)

    async def interrupt_all(self) -> None:
        """Interrupts every tool that this process's operations run, and waits until all are gone.

        From then on no operation of this process starts a tool: `Operation.run` raises Draining.
        """
        self._context.interrupted.set()
        followed = list(self._context.followed.items())
        await asyncio.gather(*(place.interrupt(folder) for folder, place in followed))

    async def stop(self, key: str, subject: str) -> bool:
        """Ends an operation for good: interrupts its tool, and no attempt starts one again.

        An outcome that is already recorded stands. Returns whether a tool was alive on this
        machine.

        Raises:
            LockHeld: Another machine works on the subject for this key.
            Unreachable: The store does not answer.
        """
        context = self._context
        place = Subject(check_key(subject), context.data / "work-locks" / subject)
        record, why = context.journal.record_failure, "A person cancelled the run."
        await in_store(record, check_key(key), Cancelled.__name__, why)
        interrupted = await interrupt_runs(key, place, context.data / "runs" / key)
        other = await in_store(give_lease_back, key, place, context.leases)
        if other is not None:
            raise LockHeld(
                f"Machine {other.machine} works on {subject} for {key}, and only a worker there "
                "can stop its tool. Start it; otherwise this waits until its lease has expired."
            )
        return interrupted

    async def at_work(self) -> list[str]:
        """What is being worked on now, on this machine and on others: texts for people.

        Raises:
            Unreachable: The store does not answer.
        """
        context = self._context
        here = await asyncio.to_thread(subjects_at_work, context.data / "work-locks")
        leases = await in_store(context.leases.others)
        elsewhere = {name: one for name, one in leases.items() if name not in here}
        return [
            *(f"{name} on this machine" for name in here),
            *(f"{name} on machine {one.machine}" for name, one in elsewhere.items()),
        ]

    async def _wait_for_other_runs(self, key: str, place: Subject, say: Say) -> None:
        """Waits for a tool of another key; `Operation.attach` waits for one of this key."""
        current = place.current()
        if current is None or current.key == key or not place.is_busy():
            return
        say(f"waits for {current.label} of {current.key}, whose tool still runs")
        context = self._context
        async with keep_lease(context.leases, place.name, context.terms, None) as lease:
            await place.follow(current.folder, lease.lost)

    async def _wait_for_lease(self, key: str, subject: str, say: Say) -> float:
        """Waits for another machine's lease to end, takes it, and returns until when it lasts."""
        leases = self._context.leases
        while True:
            asked = steady()
            lease = await in_store(leases.acquire, subject, key)
            if leases.is_own(lease):
                return asked + leases.seconds
            until = datetime.fromtimestamp(lease.expires_at).astimezone()
            say(
                f"waits for machine {lease.machine}, which works on {subject} for {lease.key}, "
                f"until {until:%H:%M:%S %Z} unless it renews its lease"
            )
            left = max(0.05, lease.expires_at - leases.clock())
            await asyncio.sleep(min(left, _LOOK_AGAIN_SECONDS))

    @asynccontextmanager
    async def _stopping_own_tool(self, key: str, place: Subject) -> AsyncIterator[None]:
        """If a person cancels an attempt while it waits, interrupts the tool of its key as well."""
        try:
            yield
        except asyncio.CancelledError:
            current = place.current()
            if current and current.key == key and await self._context.cancelled_by_person():
                await place.interrupt(current.folder)
            raise

    def _also_to_worker(self, subject: str, say: Say) -> Say:
        """A `say` that passes the text to the worker's `waits` too."""

        def both(text: str) -> None:
            say(text)
            self._waits(f"{subject}: {text}")

        return both
