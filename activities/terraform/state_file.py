"""A component's Terraform state: whole before anything is done with it, and kept around an apply.

Terraform writes it in place, so a tool that was killed or a disk that is full can leave it torn or
empty; and an empty state means to Terraform that nothing was ever made. Where Terraform could not
write it at all, it leaves the newest state as `errored.tfstate` in the working folder.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from activities.releases.unpacked import ERRORED_STATE
from apps.parts import part_shown
from contracts.errors import EngineFailed
from store.interface import ABSENT, ANY, Store

State = Mapping[str, Any]


def state_key(component: str) -> str:
    """Where a component's Terraform state lies in the store."""
    return f"terraform/{component}/terraform.tfstate"


def kept_key(component: str) -> str:
    """Where the newest copy of the whole state lies; empty where there was none."""
    return f"terraform/{component}/kept.tfstate"


def set_aside_key(component: str) -> str:
    """Where the state lies that was replaced by an `errored.tfstate`."""
    return f"terraform/{component}/before-errored.tfstate"


def read_state(file: Path) -> State | None:
    """The state in a file; None where there is none, or it is torn. Blocks."""
    return _parsed(file.read_bytes()) if file.exists() else None


def instances(state: State) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The objects of the state with their addresses; a deposed one has its current one's."""
    for resource in state.get("resources", []):
        module = f"{resource['module']}." if resource.get("module") else ""
        mode = "data." if resource.get("mode") == "data" else ""
        address = f"{module}{mode}{resource.get('type')}.{resource.get('name')}"
        for instance in resource.get("instances", []):
            key = instance.get("index_key")
            yield (address if key is None else f"{address}[{json.dumps(key)}]"), instance


@dataclass(frozen=True)
class StateFile:
    """The Terraform state of one part, in whichever store; all methods block."""

    store: Store
    part: str

    def content(self) -> bytes:
        """What is written there now; empty where there is none."""
        found = self.store.get(state_key(self.part))
        return found.data if found else b""

    def read(self) -> State | None:
        """The state, or None where it is missing, empty or torn."""
        return _parsed(self.content())

    def identity(self) -> str:
        """What changes whenever the state does: lineage, serial, and a digest of the content."""
        content = self.content()
        if not content:
            return "none"
        document = json.loads(content)
        digest = hashlib.sha256(content).hexdigest()
        return f"{document.get('lineage')} {document.get('serial')} {digest}"

    def where(self) -> str:
        """Where it lies, for a person."""
        place = self.store.s3_place()
        if place is not None:
            return f"s3://{place.bucket}/{place.object_key(state_key(self.part))}"
        return str(self.store.local_path(state_key(self.part)))

    def local_file(self) -> Path | None:
        """The file that Terraform writes in place, where it does."""
        return self.store.local_path(state_key(self.part))

    def restore(self, snapshot: Path) -> bool:
        """Put back the newest whole version of a state that a killed Terraform left torn or empty.

        For a Terraform whose supervisor saw it die: what it had not written then is what was in
        flight, and is planned again.

        Args:
            snapshot: The newest whole version that the supervisor saw; it may not be there.

        Returns:
            Whether anything had to be put back.
        """
        if _parsed(self.content()) is not None:
            return False
        newest = snapshot.read_bytes() if snapshot.exists() else self._kept()
        if not newest:
            # Nothing was ever written.
            return False
        self.store.put(state_key(self.part), newest, if_match=ANY)
        return True

    def require_whole(self) -> None:
        """Refuse to go on with a state that is torn, or empty though it was not before.

        Raises:
            EngineFailed: naming where it is, what is left of the state, and what to do.
        """
        content = self.content()
        if content:
            if _parsed(content) is None:
                raise self._damaged("is torn: it cannot be read as JSON")
            return
        if self._kept():
            raise self._damaged("is empty, and it was not before")

    def keep_copy(self) -> None:
        """Keep a copy of the whole state, before an apply writes it and after it did."""
        self.store.put(kept_key(self.part), self.content(), if_match=ANY)

    def take_errored(self, folder: Path) -> None:
        """Put an `errored.tfstate` that an apply left in the place of the state.

        Does nothing where there is none. The state that it replaces is set aside in the store. The
        caller holds the state's lock: another's Terraform that reads now writes over it later.

        Args:
            folder: The part's working folder.

        Raises:
            EngineFailed: it is not a newer state of this part.
            Conflict: somebody wrote the state meanwhile.
        """
        errored = folder / ERRORED_STATE
        if not errored.exists():
            return
        content = errored.read_bytes()
        found = self.store.get(state_key(self.part))
        now = found.data if found else b""
        if content != now:
            _require_newer(errored, content, _parsed(now) or _parsed(self._kept()))
            self.store.put(set_aside_key(self.part), now, if_match=ANY)
            # Not by `terraform state push`: that needs a folder that is initialised, looks at the
            # serial and writes later. This writes only over what was looked at.
            self.store.put(state_key(self.part), content, if_match=found.etag if found else ABSENT)
        errored.unlink()

    def _kept(self) -> bytes:
        found = self.store.get(kept_key(self.part))
        return found.data if found else b""

    def _damaged(self, what: str) -> EngineFailed:
        left = ""
        if self._kept():
            left += (
                f" In the store, {kept_key(self.part)} is the newest copy that was kept; remove it "
                "too if there shall be no state at all."
            )
        path = self.store.local_path(state_key(self.part))
        backup = path.with_name(f"{path.name}.backup") if path else None
        if backup and backup.exists():
            left += f" {backup} is Terraform's own backup."
        return EngineFailed(
            f"{part_shown(self.part)}: the Terraform state {self.where()} {what}. Terraform was "
            "probably killed, or its disk full, while it wrote it. Nothing was done with it. Put "
            "back the newest state that is right, import what the last apply made since "
            f"(`terraform import`), and deploy again.{left}"
        )


def _require_newer(errored: Path, content: bytes, state: State | None) -> None:
    found = _parsed(content)
    if found is None:
        raise _unusable(errored, "it is torn itself")
    if state is None:
        return
    if found.get("lineage") != state.get("lineage"):
        raise _unusable(errored, "it belongs to another state (its lineage differs)")
    if not _serial(found) > _serial(state):
        raise _unusable(
            errored, f"its serial {_serial(found)} is not above the state's {_serial(state)}"
        )


def _parsed(content: bytes) -> State | None:
    try:
        state = json.loads(content)
    except ValueError:
        return None
    return state if isinstance(state, dict) else None


def _serial(state: State) -> int:
    serial = state.get("serial")
    return serial if isinstance(serial, int) else -1


def _unusable(errored: Path, why: str) -> EngineFailed:
    return EngineFailed(
        f"Terraform could not write its state at the end of an apply and left it as {errored}, "
        f"which cannot take the state's place: {why}. Compare the two, keep the right one as the "
        "state, remove or rename the other, and deploy again."
    )
