"""An open operation: what earlier attempts did, and the tools that it runs.

`activities.operations.opening` opens it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from activities import spans
from activities.customer import audit_events
from activities.disk import disk_full, of_store
from activities.operations.lease_keeper import KeptLease
from activities.operations.locks import hold
from activities.operations.memory import TOOL_BYTES, MemoryLimiter
from activities.operations.spec import SPEC_FILE, LeaseTerms, Spec, ToolRun
from activities.operations.starting import start_supervisor, why_not_started, write_spec
from activities.operations.status import ToolEnd, has_begun
from activities.operations.steady_clock import steady
from activities.operations.subject import CurrentRun, Subject
from contracts.errors import Cancelled, Draining, LockHeld, PolicyDenied, ToolLost
from store.errors import Conflict, StoreUnavailable
from store.journal import Entry, Journal, Outcome
from store.leases import Leases, LeaseTaken
from store.machine import Machine
from store.object_keys import check_key
from store.reserve import has_room
from wire.private_files import make_private_folder

P = ParamSpec("P")
T = TypeVar("T")
Say = Callable[[str], None]


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
    cancelled_by_person: Callable[[], Awaitable[bool]]
    followed: dict[Path, Subject]
    """The subjects whose tools this process waits for now, by the run's folder."""
    memory: MemoryLimiter
    interrupted: asyncio.Event
    """Set for good when all tools are interrupted: from then on none is started."""


class Operation:
    """An operation that holds its subject, unless its outcome is recorded already."""

    def __init__(  # noqa: PLR0913 - constructed in one module only
        self,
        context: Context,
        key: str,
        place: Subject,
        entry: Entry,
        lease: KeptLease,
        *,
        say: Say = lambda text: None,
        tool_bytes: int = TOOL_BYTES,
    ) -> None:
        self.key = key
        self.folder = context.data / "runs" / key
        """Holds a folder for each of its runs on this machine."""
        self._context = context
        self._place = place
        self._lease = lease
        self._say = say
        self._tool_bytes = tool_bytes
        self._outcome = entry.outcome
        self._next_number = len(entry.runs) + 1
        self._attempted = {run.label for run in entry.runs}
        here = [run for run in entry.runs if run.machine == context.machine.id]
        known = [RunRecord(run.label, self._run_folder(run.number, run.label)) for run in here]
        self._started_elsewhere = len(here) < len(entry.runs) or not all(
            record.folder.is_dir() for record in known
        )
        self._records = [record for record in known if self._may_have_begun(record)]

    def outcome(self) -> Outcome | None:
        """The recorded outcome; None if the operation is not done."""
        return self._outcome

    @property
    def last(self) -> RunRecord | None:
        """The newest run of this key on this machine whose tool was started."""
        return self._records[-1] if self._records else None

    @property
    def newest_of_subject(self) -> RunRecord | None:
        """The newest run on this machine that works or worked on the subject, whatever its key."""
        current = self._place.current()
        return RunRecord(current.label, current.folder) if current else None

    @property
    def run_count(self) -> int:
        """How many runs the key has had, in all attempts on all machines."""
        return self._next_number - 1

    def was_attempted(self, label: str) -> bool:
        """Whether an earlier attempt on any machine started a run with this label, or was about
        to."""
        return label in self._attempted

    @property
    def started_elsewhere(self) -> bool:
        """Whether this machine cannot know how some run ended: another machine started it, or its
        folder is gone."""
        return self._started_elsewhere

    async def attach(self) -> ToolEnd | None:
        """Waits until no process of the key's newest run is left, and returns how it ended.

        Returns None if the key had no run on this machine. Cancellation works as in `run`.
        """
        for record in reversed(self._records):
            with spans.tool(record.label, attached=True) as span:
                end = await self._follow(record.folder)
                span.ended(end)
            if end:
                return end
        return None

    async def require_script(self, digest: str) -> None:
        """Bind the key to this script, given by its digest.

        Raises:
            PolicyDenied: the key is already bound to another script.
        """
        bound = await in_store(self._context.journal.script, self.key, digest)
        if bound != digest:
            raise PolicyDenied(
                f"The key {self.key} was allowed for the script {bound}, but the script is now "
                f"{digest}: what it is rendered from has changed. Nothing was done; run it again."
            )

    async def run(self, label: str, run: ToolRun) -> ToolEnd:
        """Runs a tool under its own supervisor, and returns how it ended once all processes are
        gone.

        If a person cancels the coroutine, the tool is interrupted, and CancelledError is raised
        once it is gone. On any other cancellation the tool is left running.

        Args:
            label: The run's name, used for its folder and shown to people: one segment of a key.
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
        async with self._context.memory.admit(self._say, self._tool_bytes):
            self._refuse_if_leaving(label)
            audit = audit_events.now.get()
            if audit is not None:
                await audit.will_run(label, [command.argv for command in run.commands])
            with spans.tool(label) as span:
                folder = await self._prepare(label)
                await self._start(label, folder, run)
                end = await self._follow(folder)
                span.ended(end)
        if end is None:
            if not await asyncio.to_thread(has_room, folder):
                raise await asyncio.to_thread(disk_full, folder, f"how {label} begins")
            raise ToolLost(
                f"The supervisor of {label} ended before it started the tool, so nothing was done: "
                f"{why_not_started(folder)}"
            )
        return end

    async def record_result(self, result: dict[str, Any]) -> Outcome:
        """Records the operation's result; returns the outcome that counts: the first one."""
        self._outcome = await in_store(self._context.journal.record_result, self.key, result)
        return self._outcome

    async def record_failure(self, type_: str, message: str) -> Outcome:
        """Records that the operation failed for good; returns the outcome that counts."""
        record = self._context.journal.record_failure
        self._outcome = await in_store(record, self.key, type_, message)
        return self._outcome

    async def _prepare(self, label: str) -> Path:
        """Notes the run in the journal, and makes its folder."""
        context = self._context
        # The folder comes first, since a run in the journal without a folder counts as another
        # machine's.
        make_private_folder(self._run_folder(self._next_number, check_key(label)))
        run = await in_store(context.journal.begin_run, self.key, label, context.machine)
        self._next_number = run.number + 1
        folder = self._run_folder(run.number, label)
        make_private_folder(folder)
        return folder

    async def _start(self, label: str, folder: Path, run: ToolRun) -> None:
        """Starts the supervisor. It inherits the lock, so the lock is held without a gap for as
        long as the run is alive."""
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
                # Nothing may be awaited between here and `_follow`, which handles interruption.
                self._refuse_if_leaving(label)
                place.set_current(CurrentRun(self.key, label, folder))
                start_supervisor(spec, lock)
            except BaseException:
                (folder / SPEC_FILE).unlink(missing_ok=True)
                raise
        self._records.append(RunRecord(label, folder))

    async def _refuse_if_stopped(self) -> None:
        """Another attempt or `Operations.stop` may have ended the operation in the meantime."""
        outcome = await in_store(self._context.journal.outcome, self.key)
        if outcome is not None and outcome.failure is not None:
            raise Cancelled(f"Nothing was started: {self.key} has ended. {outcome.failure.message}")

    def _refuse_if_leaving(self, label: str) -> None:
        if self._context.interrupted.is_set():
            raise Draining(
                f"{label} of {self._place.name} was not started: this worker is shutting down, and "
                "the next attempt starts on a worker that is running."
            )

    async def _follow(self, folder: Path) -> ToolEnd | None:
        self._context.followed[folder] = self._place
        try:
            return await self._place.follow(folder, self._lease.lost)
        except asyncio.CancelledError:
            if await self._context.cancelled_by_person():
                await self._place.interrupt(folder)
            raise
        finally:
            self._context.followed.pop(folder, None)

    async def _renew_lease(self) -> float:
        """Renews the lease, so that nothing starts without it; returns until when it lasts."""
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
    """Calls a blocking function that uses the store, in a thread.

    Raises:
        Unreachable: the store does not answer.
    """
    try:
        return await asyncio.to_thread(function, *args, **kwargs)
    except (StoreUnavailable, Conflict) as error:
        raise of_store(error) from error
