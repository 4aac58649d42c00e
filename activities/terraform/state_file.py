"""A component's Terraform state: it must be complete before use, and is copied around an apply.

Terraform overwrites a local state in place, so a kill or a full disk can leave it torn or empty,
and Terraform takes an empty state to mean that nothing was ever created. If Terraform cannot write
the state at all, it leaves the newest one as `errored.tfstate` in the working folder; if it cannot
write even that, it prints it. None of these is removed before its content is in place, and an
unreadable one never counts as missing.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from activities.operations.log_file import last_printed_state, printed_states
from activities.operations.spec import OUTPUT_FILE
from activities.terraform.backends.interface import Backend
from activities.terraform.backends.registry import backend_of
from activities.terraform.state_keys import kept_key, set_aside_key, state_folder, state_key
from apps.parts import part_shown
from contracts.engines import ERRORED_STATE
from contracts.errors import EngineFailed
from store.files import replace_private
from store.interface import ABSENT, ANY, Store
from store.left_files import read_left

State = Mapping[str, Any]

UNSAVED = "state-unsaved"
"""A file in the folder of an apply's run: the apply could not write its state. The state is kept,
and the next attempt puts it in place, so the apply's failure is not final."""

_RESCUED = "state-rescued"
"""A file in the folder of an apply's run: the state that it printed was saved as
`errored.tfstate`."""

_UNREADABLE = f"{ERRORED_STATE}.unreadable"
"""In the same folder: an incomplete `errored.tfstate` that Terraform left before it printed the
state."""


def read_state(file: Path) -> State | None:
    """The state in a file; None if there is no file, or if it is torn. Blocks."""
    return _parsed(read_left(file)) if file.exists() else None


def instances(state: State) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The objects in the state, by address; a deposed one has the current one's address."""
    for resource in state.get("resources", []):
        module = f"{resource['module']}." if resource.get("module") else ""
        mode = "data." if resource.get("mode") == "data" else ""
        address = f"{module}{mode}{resource.get('type')}.{resource.get('name')}"
        for instance in resource.get("instances", []):
            key = instance.get("index_key")
            yield (address if key is None else f"{address}[{json.dumps(key)}]"), instance


@dataclass(frozen=True)
class StateFile:
    """The Terraform state of one part, in any kind of store; all methods block."""

    store: Store
    part: str

    def content(self) -> bytes:
        """The current content; empty if there is none."""
        found = self.store.get(state_key(self.part))
        return found.data if found else b""

    def read(self) -> State | None:
        """The state; None if it is missing, empty or torn."""
        return _parsed(self.content())

    def identity(self) -> str:
        """Lineage, serial and digest, which change whenever the state does."""
        content = self.content()
        if not content:
            return "none"
        document = json.loads(content)
        digest = hashlib.sha256(content).hexdigest()
        return f"{document.get('lineage')} {document.get('serial')} {digest}"

    @cached_property
    def backend(self) -> Backend:
        """The backend through which Terraform writes it."""
        return backend_of(self.store, self.part)

    def restore(self, snapshot: Path) -> bool:
        """Put back the newest complete version of a state that a killed Terraform left torn or
        empty.

        Only if the supervisor saw Terraform die: then only changes that were in progress are
        missing from that version, and they are planned again.

        Args:
            snapshot: The newest complete version that the supervisor saw; may not exist.

        Returns:
            Whether anything had to be put back.
        """
        if _parsed(self.content()) is not None:
            return False
        newest = read_left(snapshot) if snapshot.exists() else self._kept()
        if not newest:
            # Nothing was ever written, so the empty file can only come from the kill: remove it.
            self._drop_empty()
            return False
        self.store.put(state_key(self.part), newest, if_match=ANY)
        return True

    def drop_untouched(self) -> None:
        """Remove an empty state that Terraform only created in order to lock it.

        Terraform removes such a file when it ends, but not if it is killed. It is told apart from a
        state that was truncated to be written by its time, which is not after that of the file
        with the lock's info.
        """
        file = self.backend.file_in_place
        if file is None or not file.exists() or file.stat().st_size > 0:
            return
        note = file.with_name(f".{file.name}.lock.info")
        if note.exists() and file.stat().st_mtime_ns <= note.stat().st_mtime_ns:
            self._drop_empty()

    def _drop_empty(self) -> None:
        file = self.backend.file_in_place
        if file is not None and file.exists() and file.stat().st_size == 0:
            file.unlink()

    def require_whole(self) -> None:
        """Refuse to go on with a state that is torn, or that is empty although it was not before.

        If nothing was ever created, there is no file. An empty file may mean that an apply created
        everything, but found the disk full when it wrote the state, and was lost.

        Raises:
            EngineFailed: names the state, what is left of it, and what to do.
        """
        content = self.content()
        if content:
            if _parsed(content) is None:
                raise self._damaged("is torn: it cannot be read as JSON")
            return
        if self._kept():
            raise self._damaged("is empty, and it was not before")
        file = self.backend.file_in_place
        if file is not None and file.exists():
            raise self._damaged("is empty, and it is not known how it became so")

    def keep_copy(self) -> None:
        """Keep a copy of the complete state, before and after an apply writes it."""
        self.store.put(kept_key(self.part), self.content(), if_match=ANY)

    def forget(self) -> None:
        """Delete the state of a part that was torn down, and everything kept with it."""
        for key in self.store.list(state_folder(self.part)):
            self.store.delete(key)

    def take_errored(self, folder: Path, run: Path | None = None) -> None:
        """Replace the state by an `errored.tfstate` that an apply left.

        Does nothing if there is none. The replaced state is set aside in the store. The caller must
        hold the state's lock, since another Terraform that has read the state would overwrite it.

        Args:
            folder: The part's working folder.
            run: The folder of the part's newest run, whose log says what went wrong.

        Raises:
            EngineFailed: it cannot be read, or is not a newer state of this part.
            Conflict: somebody wrote the state meanwhile.
        """
        errored = folder / ERRORED_STATE
        if not errored.exists():
            return
        content = read_left(errored)
        if _parsed(content) is None:
            raise unreadable(self.part, errored, run)
        found = self.store.get(state_key(self.part))
        now = found.data if found else b""
        if content != now:
            _require_newer(errored, content, _parsed(now) or _parsed(self._kept()))
            self.store.put(set_aside_key(self.part), now, if_match=ANY)
            # Not with `terraform state push`, which needs an initialised folder, and checks the
            # serial before it writes. This replaces only the version that was read.
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
                "too if there should be no state at all."
            )
        path = self.backend.file_in_place
        backup = path.with_name(f"{path.name}.backup") if path else None
        if backup and backup.exists():
            left += f" {backup} is Terraform's own backup."
        where = f"{part_shown(self.part)}: the Terraform state {self.backend.where()}"
        return EngineFailed(
            f"{where} {what}. Terraform was probably killed, or its disk was full, while it wrote "
            "the state. It was left untouched. Put back the newest correct state, import what the "
            "last apply created since (`terraform import`), and deploy again. If nothing was "
            f"created, remove the file.{left}"
        )


def left_unsaved(folder: Path, run: Path) -> bool:
    """Whether an apply could not write its state where it belongs; blocks.

    Args:
        folder: The part's working folder.
        run: The folder of the apply's run.
    """
    return (folder / ERRORED_STATE).exists() or printed_unsaved(run)


def printed_unsaved(run: Path) -> bool:
    """Whether the log of an apply's run holds a state that was not saved from it yet; blocks."""
    return not (run / _RESCUED).exists() and bool(printed_states(run / OUTPUT_FILE))


def rescue_printed(folder: Path, run: Path) -> None:
    """Save a state that an apply printed, since it could not write it, as `errored.tfstate`.

    Does nothing if it printed none, or if Terraform left a readable `errored.tfstate`. Blocks.

    Args:
        folder: The part's working folder.
        run: The folder of the apply's run.

    Raises:
        EngineFailed: the printed state is incomplete, and nothing else has the state.
        OSError: there is no space for it.
    """
    log, errored = run / OUTPUT_FILE, folder / ERRORED_STATE
    if (run / _RESCUED).exists() or not printed_states(log):
        return
    if read_state(errored) is None:
        content = last_printed_state(log)
        if content is None or _parsed(content) is None:
            raise EngineFailed(
                f"Terraform could not write its state anywhere and printed it into {log}, where "
                "its end is missing: the disk was probably full. It was left untouched. Repair "
                f"what is there (from the first {{ on), save it as {errored}, and deploy again."
            )
        if errored.exists():
            errored.replace(run / _UNREADABLE)
        replace_private(
            errored, content, incoming=folder / f".{ERRORED_STATE}.incoming", may_take_reserve=True
        )
    (run / _RESCUED).touch()


def unreadable(part: str, errored: Path, run: Path | None) -> EngineFailed:
    """The error about an `errored.tfstate` that cannot be read; blocks.

    Args:
        part: The part.
        errored: The file.
        run: The folder of the apply's run, if it is known.
    """
    is_torn = errored.exists() and errored.stat().st_size > 0
    what = "torn: it cannot be read as JSON" if is_torn else "empty"
    look = f" Terraform's output is in {run / OUTPUT_FILE}." if run else ""
    return EngineFailed(
        f"{part_shown(part)}: Terraform could not write its state at the end of an apply and left "
        f"{errored}, which is {what}. The disk of the worker's machine was probably full. The file "
        "was left untouched, since it may be the only record of what that apply created."
        f"{look} Free space, put the newest correct state in place, import what that apply created "
        "(`terraform import`), remove that file, and deploy again."
    )


def _require_newer(errored: Path, content: bytes, state: State | None) -> None:
    found = _parsed(content) or {}
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
        f"which cannot replace the state: {why}. Compare the two, keep the right one as the state, "
        "remove or rename the other, and deploy again."
    )
