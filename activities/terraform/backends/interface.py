"""What a backend is: all that depends on the kind of store that a part's state lies in.

It is written by us, whatever the module says. Some stores are written by Terraform in place, others
as whole objects; some locks go with their holder, others stay and are broken once it is dead.
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
    """As Terraform calls it."""
    identity: ClassVar[tuple[str, ...]] = ()
    """The environment variables that say whom Terraform acts as there."""

    @classmethod
    @abstractmethod
    def serves(cls, store: Store) -> bool:
        """Whether it is the backend of that kind of store."""

    @property
    @abstractmethod
    def config(self) -> Mapping[str, Any]:
        """Its block, as Terraform is told it."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What Terraform needs to reach it, by the standard names.

        Not in a file of ours: what a machine's role gives out changes by the hour, and a file with
        secrets would stay.
        """
        return {}

    @classmethod
    def worker_secrets(cls) -> list[object]:
        """Secrets of the worker that are in that environment; they are masked."""
        return []

    def environment_beside(self, own: Mapping[str, str]) -> dict[str, str]:
        """What Terraform is given of it, where the module has variables of its own.

        Where those say whom to act as, nothing of the worker's identity is mixed into that.
        """
        acts_otherwise = any(name in own for name in self.identity)
        return {
            name: value
            for name, value in self.environment.items()
            if not (acts_otherwise and name in self.identity)
        }

    def require(self, tool: TerraformTool) -> None:  # noqa: B027 - most tools will do
        """Refuse a tool that cannot lock the state; raises ToolMissing, naming both versions."""

    def write(self, folder: Path) -> None:
        """Write it into a working folder."""
        override.write(folder, self.kind, self.config)

    def taken_instead(self, folder: Path) -> str | None:
        """None if `init` took this backend in the folder; otherwise the kind that it took."""
        return override.taken_instead(folder, self.kind, self.config)

    @abstractmethod
    def where(self) -> str:
        """Where the state lies, for a person."""

    @property
    def file_in_place(self) -> Path | None:
        """The file that Terraform writes in place, so that its end may leave half of it; None where
        a state is written as a whole."""
        return None

    @abstractmethod
    def read_lock(self) -> StateLock | None:
        """The lock on the state; None if nobody holds it. Blocks."""

    @contextmanager
    def hold_lock(self, told: Mapping[str, str]) -> Iterator[None]:
        """Hold the lock as Terraform would, where it is one that stays; blocks.

        Args:
            told: What is written of it.

        Raises:
            Conflict: somebody holds it.
        """
        yield

    def break_lock(self, lock: StateLock) -> None:  # noqa: B027 - a lock may go with its holder
        """Remove exactly that lock; raises Conflict where it is gone, or another. Blocks."""

    def may_be_open(self) -> bool:
        """Whether a Terraform on this machine may have the state open; blocks."""
        return True

    @abstractmethod
    def way_out(self, lock: StateLock, folder: Path) -> str:
        """What a person may do about a lock whose holder is dead.

        Args:
            lock: The lock.
            folder: The part's working folder.
        """

    def may_pass(self, end: ToolEnd) -> bool:
        """Whether a run failed by what the store did, and the next may go on; blocks."""
        return False
