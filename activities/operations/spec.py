"""What the supervisor is told: a tool's commands, and where the locks, the lease and files are.

Passed in a file of mode 0600 that the supervisor removes once it has read it, since the
environment may hold secrets.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from store.leases import LEASE_MARGIN_SECONDS, LEASE_SECONDS, RENEW_SECONDS

SPEC_FILE: Final = "spec.json"
OUTPUT_FILE: Final = "output.log"
SUPERVISOR_LOG: Final = "supervisor.log"
INTERRUPT_FILE: Final = "interrupt"
"""Its presence in the run's folder asks the supervisor to interrupt; a signal makes it look."""

SCRIPT_FILE: Final = "script"
EXIT_FILE: Final = "exit"
SNAPSHOT_FILE: Final = "snapshot"
"""The newest whole version of the file that the run names in `snapshots_of`."""

UNBEGUN_FILE: Final = "unbegun"
"""Holds the boot of the machine, until the shell around a command empties it."""

_KEEPING_EXIT: Final = """
unbegun=$1
file=$2
shift 2
true > "$unbegun" || exit 126
"$@"
status=$?
echo "$status" > "$file.new" && mv "$file.new" "$file"
if [ "$status" -gt 128 ]; then kill -"$((status - 128))" "$$"; fi
exit "$status"
"""
"""Says that the program begins, or does not begin it: by what the shell itself can do, since where
the environment's PATH leads is anybody's choice. Ends as the program did, by the same signal where
that ended it. The file of its exit appears as a whole."""

_OWN_FILES: Final = {
    SPEC_FILE,
    OUTPUT_FILE,
    SUPERVISOR_LOG,
    INTERRUPT_FILE,
    SNAPSHOT_FILE,
    "status.json",
}


@dataclass(frozen=True)
class Command:
    """One program of a tool's run."""

    name: str
    """Unique within the run, for exits and messages."""
    argv: Sequence[str]
    stdout: str | None = None
    """The file in the run's folder that takes its standard output; without one, output.log."""
    ok: Sequence[int] = (0,)
    """The exit statuses after which the next command runs."""
    keeps_exit: bool = False
    """It writes down that it begins, and its own exit status, by a shell around it: so both are
    known though its supervisor died. For what cannot be looked at afterwards, as a script."""
    script: str | None = field(default=None, repr=False)
    """A text that lies in a file of the run's own folder, which is made for it just before it is
    run, and is the last argument."""

    def argv_in(self, folder: Path) -> list[str]:
        """What is executed, for a run in the folder."""
        argv = [*self.argv, *([] if self.script is None else [str(folder / self.script_file)])]
        if not self.keeps_exit:
            return argv
        files = [str(folder / self.unbegun_file), str(folder / self.exit_file)]
        return ["/bin/sh", "-c", _KEEPING_EXIT, "sh", *files, *argv]

    @property
    def script_file(self) -> str:
        """Where in the run's folder the script lies."""
        return f"{SCRIPT_FILE}.{self.name}"

    @property
    def unbegun_file(self) -> str:
        """Where in the run's folder it is written that the command has not begun."""
        return f"{UNBEGUN_FILE}.{self.name}"

    @property
    def exit_file(self) -> str:
        """Where in the run's folder the exit status is kept."""
        return f"{EXIT_FILE}.{self.name}"


@dataclass(frozen=True)
class ToolRun:
    """Commands that run one after another, until one of them fails."""

    commands: Sequence[Command]
    cwd: Path
    environment: Mapping[str, str] = field(repr=False)
    """All of the environment: nothing is inherited from the worker."""
    timeout_seconds: float
    """For all commands together; what they leave running is ended soon after them."""
    grace_seconds: float = 60.0
    """How long the tool may take to stop by itself when it is interrupted."""
    terminate_seconds: float = 10.0
    """How long its process group may take after that, before it is killed."""
    snapshots_of: Path | None = None
    """A JSON file that a command writes in place, of which the newest whole version is kept."""

    prints_what_it_cannot_save: bool = False
    """Room is kept for the end of its log, whatever else fills the disk."""

    def __post_init__(self) -> None:
        names = [command.name for command in self.commands]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"a run needs commands with names of their own, not {names}")
        for command in self.commands:
            if not command.argv and command.script is None:
                raise ValueError(f"the command {command.name} has no program")
            if command.stdout and ("/" in command.stdout or command.stdout in _OWN_FILES):
                raise ValueError(f"{command.stdout!r} cannot be the file of a command's output")


@dataclass(frozen=True)
class LeaseTerms:
    """How long leases last, and how the holder keeps them; all in seconds."""

    seconds: float = LEASE_SECONDS
    renew_seconds: float = RENEW_SECONDS
    margin_seconds: float = LEASE_MARGIN_SECONDS

    def next_renewal(self, left_seconds: float) -> float:
        """The seconds until the next renewal of a lease that lasts `left_seconds` more.

        While renewals fail, they are tried more often as the end comes near.
        """
        return min(self.renew_seconds, max(1.0, (left_seconds - self.margin_seconds) / 2))


@dataclass(frozen=True)
class Spec:
    """A run as the supervisor gets it."""

    key: str
    subject: str
    label: str
    folder: Path
    """The run's folder."""
    tree_lock: Path
    supervisor_lock: int
    """The descriptor of the held lock, which the supervisor inherits."""
    run: ToolRun
    store: Mapping[str, str]
    machine: Mapping[str, str]
    lease: LeaseTerms
    lease_lasts_until: float
    """By `steady`, unless it is renewed."""

    def encode(self) -> bytes:
        """The content of the specification's file."""
        return json.dumps(asdict(self), default=str).encode()

    @classmethod
    def decode(cls, data: bytes) -> "Spec":
        """Reads what `encode` gave."""
        raw: dict[str, Any] = json.loads(data)
        run = raw["run"]
        run["commands"] = [Command(**command) for command in run["commands"]]
        run["cwd"] = Path(run["cwd"])
        run["snapshots_of"] = Path(run["snapshots_of"]) if run["snapshots_of"] else None
        raw["run"] = ToolRun(**run)
        raw["lease"] = LeaseTerms(**raw["lease"])
        raw["folder"] = Path(raw["folder"])
        raw["tree_lock"] = Path(raw["tree_lock"])
        return cls(**raw)
