"""A component's Terraform state: whole before anything is done with it, and kept around an apply.

Terraform writes it in place, so a tool that was killed or a disk that is full can leave it torn or
empty; and an empty state means to Terraform that nothing was ever made. Where Terraform could not
write it at all, it leaves the newest state as `errored.tfstate` in the working folder; and where it
cannot write even that, it prints it. None of these is removed before what it holds lies in its
place, and none that cannot be read counts as one that is not there.
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
"""In the folder of an apply's run: it could not write its state, which is kept and put in its place
by the next attempt. So its failure says nothing final."""

_RESCUED = "state-rescued"
"""In the folder of an apply's run: the state that it printed was made an `errored.tfstate`."""

_UNREADABLE = f"{ERRORED_STATE}.unreadable"
"""In the same place: what Terraform had left of it when it printed the state instead."""


def read_state(file: Path) -> State | None:
    """The state in a file; None where there is none, or it is torn. Blocks."""
    return _parsed(read_left(file)) if file.exists() else None


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

    @cached_property
    def backend(self) -> Backend:
        """Where Terraform writes it."""
        return backend_of(self.store, self.part)

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
        newest = read_left(snapshot) if snapshot.exists() else self._kept()
        if not newest:
            # Nothing was ever written. The empty file goes, which only such an end explains.
            self._drop_empty()
            return False
        self.store.put(state_key(self.part), newest, if_match=ANY)
        return True

    def drop_untouched(self) -> None:
        """Remove an empty state in which Terraform has written nothing since it locked it.

        It makes an empty file to lock, and removes that at its end; one that was killed leaves it,
        beside the note of its lock. Once it has emptied the file to write it, the file is newer.
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
        """Refuse to go on with a state that is torn, or empty though it was not before.

        An empty file is not the state of nothing, which has no file: an apply that nobody saw being
        killed may have made everything, and found the disk full when it wrote that down.

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
        file = self.backend.file_in_place
        if file is not None and file.exists():
            raise self._damaged("is empty, which no Terraform of ours was seen to leave")

    def keep_copy(self) -> None:
        """Keep a copy of the whole state, before an apply writes it and after it did."""
        self.store.put(kept_key(self.part), self.content(), if_match=ANY)

    def forget(self) -> None:
        """Delete the state of a part that was torn down, and all that is kept beside it."""
        for key in self.store.list(state_folder(self.part)):
            self.store.delete(key)

    def take_errored(self, folder: Path, run: Path | None = None) -> None:
        """Put an `errored.tfstate` that an apply left in the place of the state.

        Does nothing where there is none. The state that it replaces is set aside in the store. The
        caller holds the state's lock: another's Terraform that reads now writes over it later.

        Args:
            folder: The part's working folder.
            run: The folder of the part's newest run, which says what went wrong.

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
        path = self.backend.file_in_place
        backup = path.with_name(f"{path.name}.backup") if path else None
        if backup and backup.exists():
            left += f" {backup} is Terraform's own backup."
        where = f"{part_shown(self.part)}: the Terraform state {self.backend.where()}"
        return EngineFailed(
            f"{where} {what}. Terraform was "
            "probably killed, or its disk full, while it wrote it. Nothing was done with it. Put "
            "back the newest state that is right, import what the last apply made since "
            f"(`terraform import`), and deploy again. If nothing was made, remove the file.{left}"
        )


def left_unsaved(folder: Path, run: Path) -> bool:
    """Whether an apply could not write its state to its place; blocks.

    Args:
        folder: The part's working folder.
        run: The folder of the apply's run.
    """
    return (folder / ERRORED_STATE).exists() or printed_unsaved(run)


def printed_unsaved(run: Path) -> bool:
    """Whether the log of an apply's run holds a state that was not taken from it; blocks."""
    return not (run / _RESCUED).exists() and bool(printed_states(run / OUTPUT_FILE))


def rescue_printed(folder: Path, run: Path) -> None:
    """Make the state that an apply printed, since it could write it nowhere, an `errored.tfstate`.

    Does nothing where it printed none, or where Terraform left one that can be read. Blocks.

    Args:
        folder: The part's working folder.
        run: The folder of the apply's run.

    Raises:
        EngineFailed: what it printed is torn, and nothing else has the state.
        OSError: there is no room for it.
    """
    log, errored = run / OUTPUT_FILE, folder / ERRORED_STATE
    if (run / _RESCUED).exists() or not printed_states(log):
        return
    if read_state(errored) is None:
        content = last_printed_state(log)
        if content is None or _parsed(content) is None:
            raise EngineFailed(
                f"Terraform could write its state nowhere and printed it into {log}, where its end "
                "is missing: the disk was probably full. Nothing was done with it. Mend what is "
                f"there of it (from the first {{ on) and keep it as {errored}, and deploy again."
            )
        if errored.exists():
            errored.replace(run / _UNREADABLE)
        replace_private(
            errored, content, incoming=folder / f".{ERRORED_STATE}.incoming", may_take_reserve=True
        )
    (run / _RESCUED).touch()


def unreadable(part: str, errored: Path, run: Path | None) -> EngineFailed:
    """What is told of an `errored.tfstate` that cannot be read; blocks.

    Args:
        part: The part.
        errored: The file.
        run: The folder of the apply's run, where it is known.
    """
    is_torn = errored.exists() and errored.stat().st_size > 0
    what = "torn: it cannot be read as JSON" if is_torn else "empty"
    look = f" What Terraform said then is in {run / OUTPUT_FILE}." if run else ""
    return EngineFailed(
        f"{part_shown(part)}: Terraform could not write its state at the end of an apply and left "
        f"{errored}, which is {what}. The disk of the worker's machine was probably full. Nothing "
        f"was done with it, since what that apply made may be known nowhere else.{look} Free "
        "space, put the newest state that is right in its place, import what that apply made "
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
        f"which cannot take the state's place: {why}. Compare the two, keep the right one as the "
        "state, remove or rename the other, and deploy again."
    )
