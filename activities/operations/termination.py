"""Terminates a tool in steps that become more forceful.

First SIGINT to its main process alone: Terraform then stops its provisioners and writes its state.
After a grace period SIGTERM, and some seconds later SIGKILL, both to the process groups and to
every other process that holds the tree lock, is in the supervisor's session or descends from the
supervisor. SIGKILL is repeated each second until no process is left.
"""

import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from activities.operations.processes import Process, send, send_group, send_holders

KILL_AGAIN_SECONDS: Final = 1.0


@dataclass
class Termination:
    """The steps for one tool; the caller waits for as long as each step says before the next."""

    tree_lock: Path
    grace_seconds: float
    terminate_seconds: float
    main: Process | None = None
    """The command that is running; None once it has ended."""
    leaders: list[Process] = field(default_factory=list)
    """All commands that were started: each leads a process group."""
    session: int | None = None
    """A session whose processes belong to the tool, whether or not they hold the lock."""
    steps_taken: int = 0

    def step(self) -> float:
        """Takes the next step and returns the seconds to wait before the one after it.

        Without a main process the first step, SIGINT, is skipped.
        """
        self.steps_taken += 1
        if self.steps_taken == 1 and self.main and send(self.main, signal.SIGINT):
            return self.grace_seconds
        if self.steps_taken <= 2:
            self.steps_taken = 2
            self._send_all(signal.SIGTERM)
            return self.terminate_seconds
        self._send_all(signal.SIGKILL)
        return KILL_AGAIN_SECONDS

    def _send_all(self, number: signal.Signals) -> None:
        reached = {leader.pid for leader in self.leaders if send_group(leader, number)}
        # A process of the tree may have left its group, or outlived the group's leader.
        send_holders(self.tree_lock, number, but_groups=reached, session=self.session)
