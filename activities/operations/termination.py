"""How a tool is interrupted: kindly first, for good in the end.

SIGINT to its main process alone: Terraform then stops its provisioners and writes its state. After
the grace, SIGTERM to the process group. Some seconds later, SIGKILL to the group and to every
process that still holds the tree's lock, is in the supervisor's session or descends from it, again
each second until none is.
"""

import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from activities.operations.processes import Process, send, send_group, send_holders

KILL_AGAIN_SECONDS: Final = 1.0


@dataclass
class Ladder:
    """The steps for one tool; whoever uses it takes the next one after the wait it returns."""

    tree_lock: Path
    grace_seconds: float
    terminate_seconds: float
    main: Process | None = None
    """The command that runs now; None once it ended."""
    leaders: list[Process] = field(default_factory=list)
    """All commands that were started: each leads a process group."""
    session: int | None = None
    """Whose processes are of the tool too, whatever they hold."""
    taken: int = 0

    def step(self) -> float:
        """Takes the next step and returns the seconds to wait before the one after it.

        Without a main process the first step has nobody to ask, and is left out.
        """
        self.taken += 1
        if self.taken == 1 and self.main and send(self.main, signal.SIGINT):
            return self.grace_seconds
        if self.taken <= 2:
            self.taken = 2
            self._send_all(signal.SIGTERM)
            return self.terminate_seconds
        self._send_all(signal.SIGKILL)
        return KILL_AGAIN_SECONDS

    def _send_all(self, number: signal.Signals) -> None:
        reached = {leader.pid for leader in self.leaders if send_group(leader, number)}
        # A process of the tree may have left its group, or outlived the group's leader.
        send_holders(self.tree_lock, number, but_groups=reached, session=self.session)
