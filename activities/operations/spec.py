"""The supervisor's specification: a tool's commands, and where the locks, lease and files are.

It is passed in a file of mode 0600 that the supervisor removes once it has read it, since the
tool's environment may hold secrets.
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
"""If this file is in the run's folder when the supervisor starts, it interrupts the tool at once. A
supervisor that runs already is sent a signal."""

SCRIPT_FILE: Final = "script"
EXIT_FILE: Final = "exit"
SNAPSHOT_FILE: Final = "snapshot"
"""The newest complete version of the file that the run names in `snapshots_of`."""

UNBEGUN_FILE: Final = "unbegun"
"""Holds the id of the machine's boot, until the shell around a command empties it: proof that the
command has not begun."""

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
"""A shell script around a program: records that the program begins (and does not start it if that
fails), then records its exit status in a file that appears complete or not at all. It ends as the
program did: with the same status, or by the same signal. Recording the beginning needs shell
builtins only, since PATH is the script's author's choice."""

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
    """Unique within the run; names the command in exit statuses and messages."""
    argv: Sequence[str]
    stdout: str | None = None
    """The file in the run's folder that receives standard output; None means output.log."""
    ok: Sequence[int] = (0,)
    """The exit statuses after which the next command runs."""
    keeps_exit: bool = False
    """Whether a shell around the command records that it begins, and its exit status, so that both
    are known even if the supervisor dies. For commands whose effect cannot be inspected afterwards,
    such as scripts."""
    script: str | None = field(default=None, repr=False)
    """A text that is written to a file in the run's folder just before the command starts; the
    file's path becomes the last argument."""

    def argv_in(self, folder: Path) -> list[str]:
        """The complete command line, for a run in the folder."""
        argv = [*self.argv, *([] if self.script is None else [str(folder / self.script_file)])]
        if not self.keeps_exit:
            return argv
        files = [str(folder / self.unbegun_file), str(folder / self.exit_file)]
        return ["/bin/sh", "-c", _KEEPING_EXIT, "sh", *files, *argv]

    @property
    def script_file(self) -> str:
        """The script's file in the run's folder."""
        return f"{SCRIPT_FILE}.{self.name}"

    @property
    def unbegun_file(self) -> str:
        """The file in the run's folder that proves that the command has not begun."""
        return f"{UNBEGUN_FILE}.{self.name}"

    @property
    def exit_file(self) -> str:
        """The file in the run's folder that holds the exit status."""
        return f"{EXIT_FILE}.{self.name}"


@dataclass(frozen=True)
class ToolRun:
    """Commands that run one after another, until one of them fails."""

    commands: Sequence[Command]
    cwd: Path
    environment: Mapping[str, str] = field(repr=False)
    """The complete environment: nothing is inherited from the worker."""
    timeout_seconds: float
    """For all commands together; processes that they leave running are ended soon after them."""
    grace_seconds: float = 60.0
    """How long the tool may take to stop by itself after SIGINT."""
    terminate_seconds: float = 10.0
    """How long its process group may take to end after SIGTERM, before it is killed."""
    snapshots_of: Path | None = None
    """A JSON file that a command overwrites in place, and whose newest complete version is kept."""

    prints_what_it_cannot_save: bool = False
    """Whether disk space is allocated for the end of its log, in case something fills the disk."""

    def __post_init__(self) -> None:
        names = [command.name for command in self.commands]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"a run needs commands with different names, not {names}")
        for command in self.commands:
            if not command.argv and command.script is None:
                raise ValueError(f"the command {command.name} has no program")
            if command.stdout and ("/" in command.stdout or command.stdout in _OWN_FILES):
                raise ValueError(f"{command.stdout!r} cannot be the file of a command's output")


@dataclass(frozen=True)
class LeaseTerms:
    """How long leases last, and when they are renewed; all in seconds."""

    seconds: float = LEASE_SECONDS
    renew_seconds: float = RENEW_SECONDS
    margin_seconds: float = LEASE_MARGIN_SECONDS

    def next_renewal(self, left_seconds: float) -> float:
        """The seconds until the next renewal of a lease that lasts for another `left_seconds`.

        While renewals fail, they are tried more often as the lease's end approaches.
        """
        return min(self.renew_seconds, max(1.0, (left_seconds - self.margin_seconds) / 2))


@dataclass(frozen=True)
class Spec:
    """A run as it is passed to the supervisor."""

    key: str
    subject: str
    label: str
    folder: Path
    """The run's folder."""
    tree_lock: Path
    supervisor_lock: int
    """The descriptor of the lock, which is held and which the supervisor inherits."""
    run: ToolRun
    store: Mapping[str, str]
    machine: Mapping[str, str]
    lease: LeaseTerms
    lease_lasts_until: float
    """On the `steady` clock."""

    def encode(self) -> bytes:
        """The content of the specification's file."""
        return json.dumps(asdict(self), default=str).encode()

    @classmethod
    def decode(cls, data: bytes) -> "Spec":
        """Reads what `encode` wrote."""
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
