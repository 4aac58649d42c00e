"""A run's status: `status.json` in its folder, which the supervisor writes around each command.

A later attempt can tell from it whether a tool was never started, or how it ended is unknown.
"""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from activities.operations.leftovers import GRACE_SECONDS
from activities.operations.log_file import printed_states
from activities.operations.processes import Process, is_alive
from activities.operations.spec import EXIT_FILE, OUTPUT_FILE, UNBEGUN_FILE
from apps.display_text import shown_output
from store.files import replace_private
from store.left_files import NoFileLeft, open_left, read_left
from store.machine import this_boot

STATUS_FILE: Final = "status.json"
_MOST_STATUS_BYTES: Final = 1024 * 1024
_MOST_EXIT_BYTES: Final = 16
_TAIL_BYTES: Final = 8 * 1024
_READ_BYTES: Final = 128 * 1024
"""More than is shown, since secrets must be masked before the text is cut: the cut could go through
one of them."""

_HIDDEN_STATE: Final = b"(a Terraform state, which is not shown)"

Reason = Literal["timed_out", "interrupted", "lease_lost"]
"""Why a tool was interrupted."""

Outcome = Literal["exited", "signalled", "timed_out", "interrupted", "lease_lost", "lost"]


@dataclass(frozen=True)
class ToolEnd:
    """How a run ended; no process of the tool is left."""

    label: str
    outcome: Outcome
    """`exited`: by itself, successfully or not. `signalled`: by a signal that was not ours.
    `timed_out`, `interrupted`, `lease_lost`: we interrupted it. `lost`: how it ended is unknown."""
    exits: dict[str, int]
    """The exit status of each command that ended; -n if signal n ended it."""
    failed: str | None
    """The command that failed, or that was running when the run was interrupted or lost."""
    folder: Path
    message: str = ""
    """Why the run was interrupted, for people."""
    failed_stdout: str | None = None
    """The file in the folder with the failed command's standard output, if it had its own."""

    def succeeded(self) -> bool:
        """Whether every command ended by itself and successfully."""
        return self.outcome == "exited" and self.failed is None

    def last_lines(self, count: int = 20, *, mask: Callable[[str], str] = str) -> str:
        """The last lines of the failed command's own output and of output.log, at most 8 KiB, fit
        to be shown to a person.

        Args:
            count: How many lines of each, at most.
            mask: Masks secrets; it is applied to more text than is returned.
        """
        names = [name for name in (self.failed_stdout, OUTPUT_FILE) if name]
        tails = [
            _last_lines(shown_output(mask(_tail(self.folder / name))), count) for name in names
        ]
        text = "\n".join(tail for tail in tails if tail)
        data = text.encode()
        # Secrets are masked by now, so a single line that is too long may be cut anywhere.
        tail = _from_a_whole_line(data[-_TAIL_BYTES - 1 :], _TAIL_BYTES) or data[-_TAIL_BYTES:]
        return tail.decode(errors="ignore")


@dataclass
class CommandStatus:
    """The status of one command."""

    name: str
    stdout: str | None = None
    state: Literal["waiting", "starting", "running", "ended"] = "waiting"
    process: Process | None = None
    exit: int | None = None


@dataclass
class Status:
    """The status of a run."""

    key: str
    label: str
    grace_seconds: float
    terminate_seconds: float
    deadline: float
    """When the supervisor interrupts the tool at the latest, on the `steady` clock."""
    commands: list[CommandStatus]
    supervisor: Process | None = None
    failed: str | None = None
    interruption: Reason | None = None
    """Set before we send the first signal."""
    outcome: Outcome | None = None
    """Set once no process is left."""
    message: str = ""

    def save(self, folder: Path) -> None:
        """Writes the status to the disk.

        Raises:
            OSError: it cannot be written.
        """
        data = json.dumps(asdict(self), indent=1).encode()
        replace_private(
            folder / STATUS_FILE, data, incoming=folder / f".{STATUS_FILE}", may_take_reserve=True
        )

    @classmethod
    def load(cls, folder: Path) -> "Status | None":
        """Reads the status; None if the supervisor never wrote one."""
        try:
            raw: dict[str, Any] = json.loads(read_left(folder / STATUS_FILE, _MOST_STATUS_BYTES))
        except FileNotFoundError:
            return None
        raw["commands"] = [
            CommandStatus(**{**command, "process": _process(command["process"])})
            for command in raw["commands"]
        ]
        raw["supervisor"] = _process(raw["supervisor"])
        return cls(**raw)

    @classmethod
    def unknown(cls) -> "Status":
        """The status to assume for a run that left none."""
        return cls(key="", label="", grace_seconds=0, terminate_seconds=10, deadline=0, commands=[])

    def leaders(self) -> list[Process]:
        """The processes of the commands that were started; each leads a process group."""
        return [command.process for command in self.commands if command.process]

    def running(self) -> CommandStatus | None:
        """The command that was started and has not ended, as far as is known."""
        for command in self.commands:
            if command.state in ("starting", "running"):
                return command
        return None


def end_of(folder: Path) -> ToolEnd | None:
    """How a run ended; None if its tool was never started. No process of it may be left."""
    status = Status.load(folder)
    if status is None:
        return None
    if status.outcome is None:
        _take_kept_exit(status, folder)
    _reset_unbegun(status, folder)
    outcome = status.outcome or _infer(status)
    if outcome is None:
        return None
    running = status.running()
    failed = status.failed or (running.name if running else None)
    return ToolEnd(
        label=status.label,
        outcome=outcome,
        exits={
            command.name: command.exit for command in status.commands if command.exit is not None
        },
        failed=failed,
        folder=folder,
        message=status.message,
        failed_stdout=next((c.stdout for c in status.commands if c.name == failed), None),
    )


def has_begun(folder: Path) -> bool:
    """Whether the tool of the run in the folder was started, or may have been."""
    status = Status.load(folder)
    return status is not None and any(
        command.state != "waiting" and not _never_began(command, folder)
        for command in status.commands
    )


def grace_for_leftovers(status: Status | None, folder: Path) -> float | None:
    """For a run whose supervisor died: after how many seconds leftover processes are to be ended.

    None while the tool itself has not ended, as far as can be known.
    """
    command = status.running() if status else None
    if status is None or (command is None and not status.leaders()):
        return None
    if command is None or (folder / f"{EXIT_FILE}.{command.name}").exists():
        return GRACE_SECONDS
    if command.process is None or is_alive(command.process):
        return None
    # How it ended is unknown: it may have been killed while its processes were at work.
    return max(GRACE_SECONDS, status.grace_seconds)


def _take_kept_exit(status: Status, folder: Path) -> None:
    """Use the exit status that a command recorded itself, after its supervisor died."""
    command = status.running()
    file = folder / f"{EXIT_FILE}.{command.name}" if command else None
    if command is None or file is None or not file.exists():
        return
    try:
        text = read_left(file, _MOST_EXIT_BYTES).decode(errors="replace").strip()
    except NoFileLeft:
        return
    if not text.isdecimal():
        # Torn by a power cut, or not written by our shell: how it ended stays unknown.
        return
    code = int(text)
    command.state, command.exit = "ended", 128 - code if code > 128 else code
    if code != 0:
        status.failed = command.name


def _reset_unbegun(status: Status, folder: Path) -> None:
    """Set commands that were about to start back to `waiting`, if they provably never began."""
    for command in status.commands:
        if command.state == "waiting" or not _never_began(command, folder):
            continue
        command.state, command.process, command.exit = "waiting", None, None
        if status.failed == command.name:
            status.failed = None
        if status.outcome in {"exited", "signalled", "lease_lost"}:
            status.outcome = None


def _never_began(command: CommandStatus, folder: Path) -> bool:
    """Whether the shell around the command provably never began it; no process of it may be left.

    The proof is a file that the shell empties first. A power cut may undo the emptying, so a file
    that names another boot of the machine proves nothing.
    """
    try:
        boot = read_left(folder / f"{UNBEGUN_FILE}.{command.name}", _MOST_STATUS_BYTES)
    except (FileNotFoundError, NoFileLeft):
        return False
    return boot != b"" and boot == this_boot().encode()


def _infer(status: Status) -> Outcome | None:
    """The outcome of a run whose supervisor died before it recorded one."""
    if all(command.state == "waiting" for command in status.commands):
        return None
    if status.interruption:
        return status.interruption
    if status.failed:
        return outcome_of_exits(status)
    if all(command.state == "ended" for command in status.commands):
        return "exited"
    return "lost"


def outcome_of_exits(status: Status) -> Outcome:
    """The outcome of a run that was not interrupted, from how its commands ended."""
    failed = next((c for c in status.commands if c.name == status.failed), None)
    return "signalled" if failed and (failed.exit or 0) < 0 else "exited"


def _process(raw: dict[str, Any] | None) -> Process | None:
    return Process(**raw) if raw else None


def _tail(path: Path) -> str:
    try:
        with os.fdopen(open_left(path), "rb") as file:
            size = file.seek(0, 2)
            start = file.seek(max(0, size - _READ_BYTES - 1))
            data = file.read(size - start)
    except (FileNotFoundError, NoFileLeft):
        return ""
    whole = _from_a_whole_line(data, _READ_BYTES)
    start, data = size - len(whole), whole
    # A state that ends within the tail may have begun long before it.
    for state in reversed(printed_states(path)):
        if state.end > start:
            low, high = max(0, state.start - start), state.end - start
            data = data[:low] + _HIDDEN_STATE + data[high:]
    return data.decode(errors="replace")


def _from_a_whole_line(data: bytes, limit: int) -> bytes:
    """The text without its first line, which is incomplete, if the text exceeds the limit."""
    return data.partition(b"\n")[2] if len(data) > limit else data


def _last_lines(text: str, count: int) -> str:
    return "\n".join(text.removesuffix("\n").split("\n")[-count:])
