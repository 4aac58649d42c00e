"""The interface of a backend: everything that depends on the kind of store that has the state.

We write the backend's configuration, whatever the module says. Terraform overwrites the state in
place in some stores, and writes whole objects in others. Some locks end with their holder, others
stay and must be broken once the holder is dead.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from activities.operations.status import ToolEnd
from activities.terraform.backends import override
from activities.terraform.state_lock import StateLock
from activities.terraform.tool import TerraformTool
from store.interface import Store


@dataclass(frozen=True)
class Backend(ABC):
    """The backend of one part's state, in the install's own store."""

    store: Store
    part: str

    kind: ClassVar[str]
    """Terraform's name for it."""
    identity: ClassVar[tuple[str, ...]] = ()
    """The environment variables that determine the identity which Terraform uses there."""

    @classmethod
    @abstractmethod
    def serves(cls, store: Store) -> bool:
        """Whether this is the backend for that kind of store."""

    @property
    @abstractmethod
    def config(self) -> Mapping[str, Any]:
        """The content of the backend block."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables that Terraform needs to reach it, by their standard names.

        These are not written to a file, since a machine's role gets new credentials every hour, and
        a file with secrets would stay behind.
        """
        return {}

    @classmethod
    def worker_secrets(cls) -> list[object]:
        """Secrets of the worker that are in that environment; they are masked."""
        return []

    def environment_beside(self, own: Mapping[str, str]) -> dict[str, str]:
        """The variables of `environment` that can be combined with the module's own variables.

        If those choose an identity, the worker's identity is left out completely.
        """
        acts_otherwise = any(name in own for name in self.identity)
        return {
            name: value
            for name, value in self.environment.items()
            if not (acts_otherwise and name in self.identity)
        }

    def require(self, tool: TerraformTool) -> None:  # noqa: B027 - most tools can lock the state
        """Raise ToolMissing, naming both versions, if the tool cannot lock the state."""

    def write(self, folder: Path) -> None:
        """Write the configuration into a working folder."""
        override.write(folder, self.kind, self.config)

    def used_instead(self, folder: Path) -> str | None:
        """None if `init` uses this backend in the folder; otherwise the kind that it uses."""
        return override.used_instead(folder, self.kind, self.config)

    @abstractmethod
    def where(self) -> str:
        """Where the state is, for people."""

    @property
    def file_in_place(self) -> Path | None:
        """The file that Terraform overwrites in place, so that a kill may leave it incomplete; None
        if states are written as whole objects."""
        return None

    @abstractmethod
    def read_lock(self) -> StateLock | None:
        """The lock on the state; None if nobody holds it. Blocks."""

    @contextmanager
    def hold_lock(self, info: Mapping[str, str]) -> Iterator[None]:
        """Hold the lock as Terraform would, if it is an object; blocks.

        Args:
            info: The lock's description.

        Raises:
            Conflict: somebody else holds it.
        """
        yield

    def break_lock(self, lock: StateLock) -> None:  # noqa: B027 - a lock may end with its holder
        """Remove exactly that lock; raises Conflict if it is gone or replaced. Blocks."""

    def may_be_open(self) -> bool:
        """Whether a Terraform process on this machine may have the state open; blocks."""
        return True

    @abstractmethod
    def way_out(self, lock: StateLock, folder: Path) -> str:
        """What a person can do about a lock whose holder is dead.

        Args:
            lock: The lock.
            folder: The part's working folder.
        """

    def may_pass(self, end: ToolEnd) -> bool:
        """Whether a run failed because of the store, so that the next may succeed; blocks."""
        return False
