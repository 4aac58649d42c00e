"""Operations: work on one subject of the install with tools, done once per key.

Whoever opens an operation has the subject to itself: among this machine's processes by file locks,
among machines by the lease. What earlier attempts with the key did is known by the journal, and a
tool of theirs that still lives is attached to.

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
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from activities.operations.keeping import KeptLease, keep_lease
from activities.operations.locks import hold
from activities.operations.spec import SPEC_FILE, Command, LeaseTerms, Spec, ToolRun
from activities.operations.starting import start_supervisor, why_not_started, write_spec
from activities.operations.status import ToolEnd, has_begun
from activities.operations.steady_clock import steady
from activities.operations.stopping import give_lease_back, interrupt_runs
from activities.operations.subject import CurrentRun, Subject
from contracts.errors import Cancelled, Draining, LockHeld, ToolLost, Unreachable
from store.files import make_folders
from store.interface import Conflict, Store, StoreError, StoreUnavailable, check_key
from store.journal import Entry, Journal, Outcome
from store.leases import Leases, LeaseTaken, Machine

__all__ = [
    "Command",
    "LeaseTerms",
    "Operation",
    "Operations",
    "Outcome",
    "RunRecord",
    "ToolEnd",
    "ToolRun",
]

P = ParamSpec("P")
T = TypeVar("T")
Say = Callable[[str], None]

_LOOK_AGAIN_SECONDS: Final = 5.0
"""A store does not tell when another machine gives its lease back early."""


@dataclass(frozen=True)
class RunRecord:
    """A run of an operation's key on this machine."""

    label: str
    folder: Path


@dataclass(frozen=True)
class Context:
    """What the operations of a worker process share."""

    store_spec: Mapping[str, str]
    data: Path
    machine: Machine
    journal: Journal
    leases: Leases
    terms: LeaseTerms
    cancelled_by_person: Callable[[], bool]
    followed: dict[Path, Subject]
    """By the run's folder: what is waited for now."""
    interrupted: asyncio.Event
    """Set for good once every tool was interrupted: from then on none is started."""


class Operations:
    """The operations of one worker process."""

    def __init__(  # noqa: PLR0913 - what differs between workers, and nothing else
        self,
        store: Store,
        store_spec: Mapping[str, str],
        data: Path,
        machine: Machine,
        waits: Say = lambda text: None,
        *,
        cancelled_by_person: Callable[[], bool] = lambda: False,
        terms: LeaseTerms | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Prepares; nothing is opened yet.

        Args:
            store: The install's store.
            store_spec: Its description, for the supervisor, which opens it by itself.
            data: The worker's data folder, on a local file system.
            machine: This machine.
            waits: Told what any operation waits for, besides the operation's own `say`.
            cancelled_by_person: Asked when an operation's coroutine is cancelled: whether a person
                wants the tool to stop. Otherwise the tool is left running.
            terms: How long leases last.
            clock: Epoch seconds, for leases and the journal.
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
            interrupted=asyncio.Event(),
        )
        self._waits = waits

    @asynccontextmanager
    async def open(self, key: str, subject: str, say: Say) -> AsyncIterator["Operation"]:
        """Waits until the subject is free for this key, and holds it for the block.

        An operation whose outcome is recorded is given at once: there is nothing to hold.

        Args:
            key: The operation's key: segments joined by `/`.
            subject: What is worked on, in the same form, such as `acme/network`.
            say: Told what the operation waits for.

        Raises:
            Unreachable: The store does not answer.
        """
        context, leases = self._context, self._context.leases
        place = Subject(check_key(subject), context.data / "work-locks" / subject)
        outcome = await in_store(context.journal.outcome, check_key(key))
        if outcome:
            yield Operation(context, key, place, Entry(0, (), outcome), KeptLease(0.0))
            return
        tell = self._teller(subject, say)
        async with self._stopping_own_tool(key, place):
            driver = await hold(
                place.driver_lock,
                lambda: tell(f"waits for another attempt or run that works on {subject}"),
            )
        with driver:
            async with self._stopping_own_tool(key, place):
                await self._wait_for_other_runs(key, place, tell)
                lasts_until = await self._wait_for_lease(key, subject, tell)
            try:
                async with keep_lease(leases, subject, context.terms, lasts_until) as lease:
                    entry = await in_store(context.journal.begin, key, context.machine)
                    yield Operation(context, key, place, entry, lease)
            finally:
                if not place.is_busy():
                    # What cannot be given back expires.
                    with suppress(StoreError):
                        await asyncio.to_thread(leases.release, subject)

    async def interrupt_all(self) -> None:
        """Interrupts every tool that an operation of this process waits for, until all are gone.

        From then on no operation of this process starts a tool: `Operation.run` raises Draining.
        """
        self._context.interrupted.set()
        followed = list(self._context.followed.items())
        await asyncio.gather(*(place.interrupt(folder) for folder, place in followed))

    async def stop(self, key: str, subject: str) -> bool:
        """Ends an operation for good: its tool is gone, and no attempt starts one again.

        An outcome that is recorded stands. Says whether a tool was alive on this machine.

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

    async def _wait_for_other_runs(self, key: str, place: Subject, tell: Say) -> None:
        """Waits for the tool of another operation; one of this key's own is attached to later."""
        current = place.current()
        if current is None or current.key == key or not place.is_busy():
            return
        tell(f"waits for {current.label} of {current.key}, whose tool still runs")
        context = self._context
        async with keep_lease(context.leases, place.name, context.terms, None) as lease:
            await place.follow(current.folder, lease.lost)

    async def _wait_for_lease(self, key: str, subject: str, tell: Say) -> float:
        """Waits for another machine's lease to end, takes it, and returns until when it lasts."""
        leases = self._context.leases
        while True:
            asked = steady()
            lease = await in_store(leases.acquire, subject, key)
            if leases.is_own(lease):
                return asked + leases.seconds
            until = datetime.fromtimestamp(lease.expires_at).astimezone()
            tell(
                f"waits for machine {lease.machine}, which works on {subject} for {lease.key}, "
                f"until {until:%H:%M:%S %Z} unless it renews its lease"
            )
            left = max(0.05, lease.expires_at - leases.clock())
            await asyncio.sleep(min(left, _LOOK_AGAIN_SECONDS))

    @asynccontextmanager
    async def _stopping_own_tool(self, key: str, place: Subject) -> AsyncIterator[None]:
        """A person who cancels an attempt that still waits means the tool of its key as well."""
        try:
            yield
        except asyncio.CancelledError:
            current = place.current()
            if self._context.cancelled_by_person() and current and current.key == key:
                await place.interrupt(current.folder)
            raise

    def _teller(self, subject: str, say: Say) -> Say:
        def tell(text: str) -> None:
            say(text)
            self._waits(f"{subject}: {text}")

        return tell


class Operation:
    """An operation that holds its subject."""

    def __init__(
        self,
        context: Context,
        key: str,
        place: Subject,
        entry: Entry,
        lease: KeptLease,
    ) -> None:
        self.key = key
        self.folder = context.data / "runs" / key
        """What its runs leave on this machine."""
        self._context = context
        self._place = place
        self._lease = lease
        self._outcome = entry.outcome
        self._next_number = len(entry.runs) + 1
        here = [run for run in entry.runs if run.machine == context.machine.id]
        known = [RunRecord(run.label, self._run_folder(run.number, run.label)) for run in here]
        self._started_elsewhere = len(here) < len(entry.runs) or not all(
            record.folder.is_dir() for record in known
        )
        self._records = [record for record in known if self._may_have_begun(record)]

    def outcome(self) -> Outcome | None:
        """The recorded outcome, or None: the operation is not done."""
        return self._outcome

    @property
    def last(self) -> RunRecord | None:
        """The newest run of this key on this machine whose tool was started."""
        return self._records[-1] if self._records else None

    @property
    def run_count(self) -> int:
        """How many runs the key has had, over all attempts and machines."""
        return self._next_number - 1

    @property
    def started_elsewhere(self) -> bool:
        """Whether there was a run whose end cannot be known here: another machine started it, or
        its folder is gone."""
        return self._started_elsewhere

    async def attach(self) -> ToolEnd | None:
        """Waits until no process of the key's newest run is left, and returns how it ended.

        Returns None if there was no run on this machine. Cancellation: as in `run`.
        """
        for record in reversed(self._records):
            end = await self._follow(record.folder)
            if end:
                return end
        return None

    async def run(self, label: str, run: ToolRun) -> ToolEnd:
        """Runs a tool under a supervisor of its own, and returns how it ended, with all processes.

        When the coroutine is cancelled by a person, the tool is interrupted, and the cancellation
        goes on once it is gone. When it is cancelled otherwise, the tool is left running.

        Args:
            label: A name of the run, for its folder and for people: one segment of a key.
            run: The commands.

        Raises:
            Cancelled: The operation was stopped; nothing was started.
            Draining: The worker's tools were interrupted; nothing was started.
            LockHeld: The lease was lost; nothing was started.
            ToolLost: The supervisor ended before it started the tool; nothing was done.
            Unreachable: The store does not answer; nothing was started.
        """
        if self._outcome:
            raise ValueError(f"{self.key} is done; nothing may be run for it")
        current = self._place.current()
        if current and self._place.is_busy():
            await self._follow(current.folder)
        self._require_staying(label)
        folder = await self._prepare(label)
        await self._start(label, folder, run)
        end = await self._follow(folder)
        if end is None:
            raise ToolLost(
                f"The supervisor of {label} ended before it started the tool, so nothing was done: "
                f"{why_not_started(folder)}"
            )
        return end

    async def record_result(self, result: dict[str, Any]) -> Outcome:
        """Records the operation's result; returns the outcome that stands: the first one."""
        self._outcome = await in_store(self._context.journal.record_result, self.key, result)
        return self._outcome

    async def record_failure(self, type_: str, message: str) -> Outcome:
        """Records that the operation failed for good; returns the outcome that stands."""
        record = self._context.journal.record_failure
        self._outcome = await in_store(record, self.key, type_, message)
        return self._outcome

    async def _prepare(self, label: str) -> Path:
        """Notes the run in the journal, and makes its folder."""
        context = self._context
        # The folder comes first: a run of the journal without a folder was started elsewhere.
        make_folders(self._run_folder(self._next_number, check_key(label)))
        run = await in_store(context.journal.begin_run, self.key, label, context.machine)
        self._next_number = run.number + 1
        folder = self._run_folder(run.number, label)
        make_folders(folder)
        return folder

    async def _start(self, label: str, folder: Path, run: ToolRun) -> None:
        """Starts the supervisor. From the lock on there is no instant in which the run is alive
        and the lock is free."""
        context, place = self._context, self._place
        with await hold(place.supervisor_lock) as lock:
            lasts_until = await self._renew_lease()
            await self._refuse_if_stopped()
            spec = Spec(
                key=self.key,
                subject=place.name,
                label=label,
                folder=folder,
                tree_lock=place.tree_lock,
                supervisor_lock=lock.descriptor,
                run=run,
                store=context.store_spec,
                machine=asdict(context.machine),
                lease=context.terms,
                lease_lasts_until=lasts_until,
            )
            try:
                await asyncio.to_thread(write_spec, spec)
                # Nothing is awaited from here until the run is followed: it is interrupted there.
                self._require_staying(label)
                place.set_current(CurrentRun(self.key, label, folder))
                start_supervisor(spec, lock)
            except BaseException:
                (folder / SPEC_FILE).unlink(missing_ok=True)
                raise
        self._records.append(RunRecord(label, folder))

    async def _refuse_if_stopped(self) -> None:
        """Another attempt, or `Operations.stop`, may have ended the operation meanwhile."""
        outcome = await in_store(self._context.journal.outcome, self.key)
        if outcome is not None and outcome.failure is not None:
            raise Cancelled(f"Nothing was started: {self.key} has ended. {outcome.failure.message}")

    def _require_staying(self, label: str) -> None:
        if self._context.interrupted.is_set():
            raise Draining(
                f"{label} of {self._place.name} was not started: the worker leaves at once, and "
                "the next attempt begins on one that works."
            )

    async def _follow(self, folder: Path) -> ToolEnd | None:
        self._context.followed[folder] = self._place
        try:
            return await self._place.follow(folder, self._lease.lost)
        except asyncio.CancelledError:
            if self._context.cancelled_by_person():
                await self._place.interrupt(folder)
            raise
        finally:
            self._context.followed.pop(folder, None)

    async def _renew_lease(self) -> float:
        """Makes sure that nothing is started without the lease; returns until when it lasts."""
        asked = steady()
        try:
            await in_store(self._context.leases.renew, self._place.name)
        except LeaseTaken as error:
            raise LockHeld(f"Nothing was started: {error}.") from error
        return asked + self._context.terms.seconds

    def _run_folder(self, number: int, label: str) -> Path:
        return self.folder / f"{number}-{label}"

    def _may_have_begun(self, record: RunRecord) -> bool:
        current = self._place.current()
        is_current = current is not None and current.folder == record.folder
        return has_begun(record.folder) or (is_current and self._place.is_busy())


async def in_store(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls a blocking function that uses the store, in a thread; raises Unreachable."""
    try:
        return await asyncio.to_thread(function, *args, **kwargs)
    except (StoreUnavailable, Conflict) as error:
        raise Unreachable(str(error)) from error
