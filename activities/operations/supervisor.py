"""The supervisor: a small process that stays with one tool, whatever happens to the worker.

    python -m activities.operations.supervisor <spec.json>

The worker starts it in its own session, and may die or leave. The supervisor runs the commands,
records their status, and interrupts them at their timeout, on request (SIGTERM or SIGINT to the
supervisor), or when the lease is lost. It ends when no process of the tool's tree is left. It holds
`supervisor.lock` (inherited from the worker, so held without a gap), and the tool's tree holds
`tree.lock`. It imports little, so that it starts within some tens of milliseconds.
"""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from activities.operations.adoption import adopt_orphans, reap_orphans
from activities.operations.file_lock import Lock, block_exclusive, block_until_free, is_held
from activities.operations.leftovers import GRACE_SECONDS, log_leftovers, log_survivors
from activities.operations.log_bound import LogKeeper
from activities.operations.processes import has_processes, identify
from activities.operations.snapshots import keep_snapshots
from activities.operations.spec import INTERRUPT_FILE, OUTPUT_FILE, SNAPSHOT_FILE, Command, Spec
from activities.operations.status import CommandStatus, Reason, Status, outcome_of_exits
from activities.operations.steady_clock import steady
from activities.operations.termination import Termination
from store.leases import Leases, LeaseTaken
from store.machine import Machine
from wire.private_files import open_private, write_new, write_private

_NOT_FOUND: Final = 127
"""The exit status that shells report for a program that cannot be started."""

_LONGEST_WAIT: Final = 24 * 3600.0

_ROOM_SECONDS: Final = 6 * 3600.0
"""How long the supervisor waits for disk space to record that its tool has ended."""

_TRY_AGAIN_SECONDS: Final = 1.0

_OPEN_AFTER_SECONDS: Final = 5.0
"""When the store is opened and the lease renewed for the first time. Not earlier, since a remote
store's library takes more memory than everything else, and many tools have ended by then. Not
later, since the library must be loaded before an update of the worker replaces its files."""

_LOOK_AGAIN_SECONDS: Final = 0.1

_MOST_STEPS: Final = 12
"""How many termination steps are taken for processes that hold no lock. One that survives ten kills
belongs to another user (started through `sudo`) or hangs in the kernel; it is not waited for."""

Event = Literal["ended", "tree_gone", "interrupted", "lease_lost", "orphan_ended"]


class Supervisor:
    """Runs one specification from its start to the end of the last process."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._status = Status(
            key=spec.key,
            label=spec.label,
            grace_seconds=spec.run.grace_seconds,
            terminate_seconds=spec.run.terminate_seconds,
            deadline=steady() + spec.run.timeout_seconds,
            commands=[CommandStatus(c.name, c.stdout) for c in spec.run.commands],
            supervisor=identify(os.getpid()),
        )
        self._events: queue.SimpleQueue[tuple[Event, str]] = queue.SimpleQueue()
        self._next = time.monotonic() + spec.run.timeout_seconds
        self._reason: Reason | None = None
        self._session = os.getsid(0) if os.getsid(0) == os.getpid() else None
        self._termination = Termination(
            spec.tree_lock,
            spec.run.grace_seconds,
            spec.run.terminate_seconds,
            session=self._session,
        )
        self._decided = False
        """Whether the tool's own exit is saved: nothing that happens later changes its outcome."""
        self._log = LogKeeper(spec.folder, with_room=spec.run.prints_what_it_cannot_save)
        self._children: list[subprocess.Popen[bytes]] = []
        self._ended = threading.Event()
        self._lease_lasts_until = spec.lease_lasts_until
        self._lease_trouble = "the store does not answer"

    def run(self) -> None:
        """Runs the commands and returns once their whole tree is gone."""
        self._status.save(self._spec.folder)
        if (self._spec.folder / INTERRUPT_FILE).exists():
            self.interrupt()
        threading.Thread(target=self._keep_lease, name="lease", daemon=True).start()
        if self._spec.run.snapshots_of is not None:
            keep_snapshots(self._spec.run.snapshots_of, self._spec.folder / SNAPSHOT_FILE)
        self._log.start(_report)
        with block_exclusive(self._spec.tree_lock) as tree:
            for command, status in zip(self._spec.run.commands, self._status.commands, strict=True):
                self._look_for_interruption()
                if self._reason or not self._run_command(command, status, tree):
                    break
        self._wait_for_tree()
        self._finish()

    def interrupt(self, *_: object) -> None:
        """Interrupts the tool; further calls have no effect, since Terraform takes a second signal
        as an order to exit without writing its state."""
        self._events.put(("interrupted", "the tool was interrupted on request"))

    def child_ended(self, *_: object) -> None:
        """Handles SIGCHLD: one of the tool's commands ended, or an adopted orphan did."""
        self._events.put(("orphan_ended", ""))

    def _run_command(self, command: Command, status: CommandStatus, tree: Lock) -> bool:
        """Runs a command to its end; returns whether the next one may run."""
        if command.script is not None:
            write_new(
                self._spec.folder / command.script_file, command.script.encode(), executable=True
            )
        if command.keeps_exit:
            # Written first, since a command that is "starting" without this file may have begun.
            unbegun = self._spec.folder / command.unbegun_file
            write_private(unbegun, self._spec.machine["boot"].encode())
        status.state = "starting"
        # Must be on the disk before the tool may act, so a failure to write ends the run here.
        self._status.save(self._spec.folder)
        try:
            child = self._start(command, tree)
        except OSError as error:
            self._ended_by(command, status, _NOT_FOUND)
            program = command.argv_in(self._spec.folder)[0]
            self._explain(f"{program} cannot be started: {error}")
            return False
        status.state, status.process = "running", identify(child.pid)
        self._termination.main = status.process
        self._termination.leaders.append(status.process)
        self._save()
        threading.Thread(target=self._watch, args=(child,), name=command.name, daemon=True).start()
        exit_status = int(self._await("ended"))
        self._termination.main = None
        self._ended_by(command, status, exit_status)
        return exit_status in command.ok

    def _start(self, command: Command, tree: Lock) -> subprocess.Popen[bytes]:
        folder = self._spec.folder
        with contextlib.ExitStack() as files:
            output = Lock(open_private(folder / OUTPUT_FILE, os.O_WRONLY | os.O_APPEND))
            files.enter_context(output)
            stdout = output
            if command.stdout:
                stdout = Lock(open_private(folder / command.stdout, os.O_WRONLY | os.O_TRUNC))
                files.enter_context(stdout)
            child = subprocess.Popen(
                command.argv_in(folder),
                cwd=self._spec.run.cwd,
                env=dict(self._spec.run.environment),
                stdin=subprocess.DEVNULL,
                stdout=stdout.descriptor,
                stderr=output.descriptor,
                pass_fds=(tree.descriptor,),
                process_group=0,
            )
        self._children.append(child)
        return child

    def _ended_by(self, command: Command, status: CommandStatus, exit_status: int) -> None:
        status.state, status.exit = "ended", exit_status
        if exit_status not in command.ok:
            self._status.failed = command.name
        self._save()

    def _watch(self, child: subprocess.Popen[bytes]) -> None:
        """Queues an event when the child ends. Where possible the child is left a zombie, so that
        its process group keeps its number and can be signalled until the whole tree is gone."""
        if sys.platform == "linux":
            end = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            exited = end is not None and end.si_code == os.CLD_EXITED
            status = end.si_status if end is not None else 0
            self._events.put(("ended", str(status if exited else -status)))
        else:
            self._events.put(("ended", str(child.wait())))

    def _wait_for_tree(self) -> None:
        if not is_held(self._spec.tree_lock) and not self._has_processes():
            return
        if self._reason is None:
            self._decided = True
            self._next = time.monotonic() + self._grace_for_leftovers()
        elif self._termination.steps_taken == 1:
            # The tool itself stopped on request, and left something running.
            self._terminate_further()
        threading.Thread(target=self._watch_tree, name="tree", daemon=True).start()
        self._await("tree_gone")

    def _watch_tree(self) -> None:
        block_until_free(self._spec.tree_lock)
        while self._has_processes():  # nothing signals when they end
            if self._termination.steps_taken > _MOST_STEPS:
                self._log_processes(log_survivors)
                break
            time.sleep(_LOOK_AGAIN_SECONDS)
        self._events.put(("tree_gone", ""))

    def _has_processes(self) -> bool:
        return self._session is not None and has_processes(self._session)

    def _grace_for_leftovers(self) -> float:
        """Longer if a signal ended the tool, since its other processes may still be at work."""
        killed = any((command.exit or 0) < 0 for command in self._status.commands)
        return max(GRACE_SECONDS, self._spec.run.grace_seconds) if killed else GRACE_SECONDS

    def _end_leftovers(self) -> None:
        if self._termination.steps_taken == 0:
            self._log_processes(log_leftovers)
        self._terminate_further()

    def _log_processes(self, log: Callable[[Path, Path, int | None], None]) -> None:
        try:
            log(self._spec.folder, self._spec.tree_lock, self._session)
        except OSError as error:
            _report(f"the processes that the tool left running cannot be logged: {error}")

    def _await(self, wanted: Event) -> str:
        """Waits for the event; meanwhile interrupts the tool on request or when it is due."""
        while True:
            try:
                event, detail = self._events.get(timeout=self._until_due())
            except queue.Empty:
                self._on_time()
                continue
            if event == wanted:
                return detail
            self._on_event(event, detail)

    def _look_for_interruption(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._on_event(*self._events.get_nowait())

    def _on_event(self, event: Event, detail: str) -> None:
        if event == "orphan_ended":
            reap_orphans({child.pid for child in self._children})
        elif self._decided:
            # Leftover processes lose the rest of their grace period.
            self._next = self._next if self._termination.steps_taken else time.monotonic()
        elif event in ("interrupted", "lease_lost"):
            self._begin_interruption(event, detail)

    def _until_due(self) -> float:
        """The seconds until the next step, or until the lease counts as lost."""
        due = self._next - time.monotonic()
        if self._reason is None and not self._decided:
            due = min(due, self._lease_left())
        return min(max(0.0, due), _LONGEST_WAIT)

    def _lease_left(self) -> float:
        return self._lease_lasts_until - self._spec.lease.margin_seconds - steady()

    def _on_time(self) -> None:
        if self._decided:
            self._end_leftovers()
        elif self._reason is None and self._lease_left() <= 0:
            message = f"the lease cannot be renewed: {self._lease_trouble}"
            self._begin_interruption("lease_lost", message)
        elif time.monotonic() >= self._next and self._reason:
            self._terminate_further()
        elif time.monotonic() >= self._next:
            seconds = self._spec.run.timeout_seconds
            self._begin_interruption("timed_out", f"the tool did not end within {seconds:g} s")

    def _begin_interruption(self, reason: Reason, message: str) -> None:
        if self._reason is None:
            self._reason = self._status.interruption = reason
            self._explain(message)
            self._terminate_further()

    def _terminate_further(self) -> None:
        self._next = time.monotonic() + self._termination.step()

    def _keep_lease(self) -> None:
        """Renews the lease until the run ends, also while the tool is being interrupted.

        Runs in its own thread, since a store may be slow. The main loop watches whether the lease
        still lasts, so that a store that never answers is noticed too.
        """
        spec = self._spec
        leases: Leases | None = None
        pause = min(_OPEN_AFTER_SECONDS, self._until_renewal())
        while not self._ended.wait(pause):
            asked = steady()
            try:
                leases = leases or _leases(spec)
                leases.renew(spec.subject)
                self._lease_lasts_until = asked + spec.lease.seconds
            except LeaseTaken as error:
                self._events.put(("lease_lost", str(error)))
                return
            except Exception as error:  # any error means that the lease was not renewed
                self._lease_trouble = f"{type(error).__name__}: {error}"
            pause = self._until_renewal()

    def _until_renewal(self) -> float:
        return self._spec.lease.next_renewal(self._lease_lasts_until - steady())

    def _finish(self) -> None:
        for child in self._children:
            child.wait()
        self._log.end(is_over=True)
        self._status.outcome = self._reason or outcome_of_exits(self._status)
        until = time.monotonic() + _ROOM_SECONDS
        # Nothing else records how the tool ended, and a script cannot be repeated.
        while not self._save() and time.monotonic() < until:
            time.sleep(_TRY_AGAIN_SECONDS)
        self._ended.set()

    def _explain(self, message: str) -> None:
        self._status.message = message
        self._save()

    def _save(self) -> bool:
        """Writes the status; returns whether it was written. A full disk must not end the
        supervisor while its tool runs."""
        try:
            # The tool may have removed the folder of its own run.
            self._spec.folder.mkdir(mode=0o700, exist_ok=True)
            self._status.save(self._spec.folder)
        except OSError as error:
            _report(f"status.json cannot be written: {error}")
            return False
        return True


def _leases(spec: Spec) -> Leases:
    # Imported here because most tools end before it is needed, and each start would wait for it.
    from store.opening import open_store  # noqa: PLC0415

    return Leases(open_store(spec.store), Machine(**spec.machine), seconds=spec.lease.seconds)


def _report(message: str) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()


def main() -> None:
    """Runs the specification in the file that the command line names, and removes the file."""
    path = Path(sys.argv[1])
    spec = Spec.decode(path.read_bytes())
    path.unlink()
    os.umask(0o077)
    # The tool must not inherit the lock; below, signals that the worker blocked are unblocked.
    os.set_inheritable(spec.supervisor_lock, False)
    supervisor = Supervisor(spec)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, supervisor.interrupt)
    signal.signal(signal.SIGCHLD, supervisor.child_ended)
    try:
        adopt_orphans()
    except OSError as error:
        _report(f"daemons that the tool leaves behind may not be found: {error}")
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    supervisor.run()


if __name__ == "__main__":
    main()
