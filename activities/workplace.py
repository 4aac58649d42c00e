"""What an install worker's activities work with: its store, state, releases, engines and policy."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from activities.customer.rules import Rules
from activities.engines import Engine
from activities.operations.opening import Operations
from activities.releases.unpacked import unpacked_at
from contracts.errors import TurnRefused
from contracts.messages import Turn
from contracts.names import Name
from store.install_state import InstallState
from store.interface import Store
from store.turns import TurnIsHeld, check_turn

if TYPE_CHECKING:
    from activities.releases.reader import ReleaseReader


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
    open_releases: "Callable[[], ReleaseReader]"
    """Opens the release reader, which an idle worker does not import."""
    engines: tuple[Engine, ...]
    """The engines that this worker has."""
    rules: Rules = field(default_factory=Rules)
    """The customer's policy."""

    @cached_property
    def releases(self) -> "ReleaseReader":
        """The reader of releases."""
        return self.open_releases()

    def holds_only_copy(self, run: Path) -> bool:
        """Whether a run's folder holds an engine's only copy of something; blocks."""
        return any(engine.holds_only_copy(run) for engine in self.engines)

    def work_folder(self, component: str) -> Path:
        """The folder with a part's files; rebuilt from the release if it is missing."""
        return self.data / "work" / self.install / component

    def module_folder(self, component: str) -> Path:
        """The folder that a part's tool works in: the work folder, or a folder within it."""
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
