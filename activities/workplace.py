"""What the activities of an install worker work with."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from activities.customer.rules import Rules
from activities.operations.opening import Operations
from activities.releases.reader import ReleaseReader, unpacked_at
from contracts.errors import TurnRefused
from contracts.messages import Turn
from contracts.names import Name
from store.install_state import InstallState
from store.interface import Store
from store.turns import TurnIsHeld, check_turn


@dataclass(frozen=True)
class Workplace:
    """The one install that the worker serves."""

    install: Name
    org: str
    """The org that the install belongs to."""
    data: Path
    """The worker's data folder."""
    store: Store
    state: InstallState
    operations: Operations
    releases: ReleaseReader
    rules: Rules = field(default_factory=Rules)
    """What the customer allows."""

    def work_folder(self, component: str) -> Path:
        """What a component is made from; rebuilt from the release whenever it is not there."""
        return self.data / "work" / self.install / component

    def module_folder(self, component: str) -> Path:
        """Where a component's tool works: in all of that, or in a folder of it."""
        folder = self.work_folder(component)
        unpacked = unpacked_at(folder)
        return unpacked.folder if unpacked else folder

    async def check_turn(self, turn: Turn) -> None:
        """Refuse a run that does not hold the install's turn.

        Raises:
            TurnRefused: the store has seen a later turn.
        """
        try:
            await asyncio.to_thread(check_turn, self.store, turn.number, turn.workflow_id)
        except TurnIsHeld as error:
            raise TurnRefused(
                f"{turn.workflow_id} may not change {self.install}: {error}"
            ) from None
