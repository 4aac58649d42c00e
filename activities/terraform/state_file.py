"""A component's Terraform state: whole before anything is done with it, and kept around an apply.

Terraform writes it in place, so a tool that was killed or a disk that is full can leave it torn or
empty; and an empty state means to Terraform that nothing was ever made. Where Terraform could not
write it at all, it leaves the newest state as `errored.tfstate` in the working folder.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from activities.releases.reader import ERRORED_STATE
from apps.parts import part_shown
from contracts.errors import EngineFailed
from store.interface import ANY, Store

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


def read_state(path: Path) -> State | None:
    """The state, or None where the file is missing, empty or torn."""
    try:
        return _parsed(path.read_bytes())
    except FileNotFoundError:
        return None


def instances(state: State) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The objects of the state with their addresses; a deposed one has its current one's."""
    for resource in state.get("resources", []):
        module = f"{resource['module']}." if resource.get("module") else ""
        mode = "data." if resource.get("mode") == "data" else ""
        address = f"{module}{mode}{resource.get('type')}.{resource.get('name')}"
        for instance in resource.get("instances", []):
            key = instance.get("index_key")
            yield (address if key is None else f"{address}[{json.dumps(key)}]"), instance


def require_whole(store: Store, component: str, path: Path) -> None:
    """Refuse to go on with a state that is torn, or empty though it was not before; blocks.

    Raises:
        EngineFailed: naming the file, what is left of the state, and what to do.
    """
    content = path.read_bytes() if path.exists() else b""
    if content:
        if _parsed(content) is None:
            raise _damaged(store, component, path, "is torn: it cannot be read as JSON")
        return
    if _kept(store, component):
        raise _damaged(store, component, path, "is empty, and it was not before")


def keep_copy(store: Store, component: str, path: Path) -> None:
    """Keep a copy of the whole state, before an apply writes it and after it did; blocks."""
    content = path.read_bytes() if path.exists() else b""
    store.put(kept_key(component), content, if_match=ANY)


def take_errored(store: Store, component: str, folder: Path, path: Path) -> None:
    """Put an `errored.tfstate` that an apply left in the place of the state; blocks.

    Does nothing where there is none. The state that it replaces is set aside in the store.

    Args:
        store: The install's store.
        component: Whose state it is.
        folder: The component's working folder.
        path: The state's file.

    Raises:
        EngineFailed: it is not a newer state of this component.
    """
    errored = folder / ERRORED_STATE
    if not errored.exists():
        return
    content = errored.read_bytes()
    now = path.read_bytes() if path.exists() else b""
    if content != now:
        _require_newer(errored, content, _parsed(now) or _parsed(_kept(store, component)))
        store.put(set_aside_key(component), now, if_match=ANY)
        store.put(state_key(component), content, if_match=ANY)
    errored.unlink()


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


def _kept(store: Store, component: str) -> bytes:
    found = store.get(kept_key(component))
    return found.data if found else b""


def _damaged(store: Store, component: str, path: Path, what: str) -> EngineFailed:
    left = ""
    if _kept(store, component):
        left += (
            f" In the store, {kept_key(component)} is the newest copy that was kept; remove it too "
            "if there shall be no state at all."
        )
    backup = path.with_name(f"{path.name}.backup")
    if backup.exists():
        left += f" {backup} is Terraform's own backup."
    return EngineFailed(
        f"{part_shown(component)}: the Terraform state {path} {what}. Terraform was probably "
        "killed, or its disk full, while it wrote it. Nothing was done with it. Put back the "
        "newest state that is right, import what the last apply made since (`terraform import`), "
        "and deploy again."
        f"{left}"
    )


def _unusable(errored: Path, why: str) -> EngineFailed:
    return EngineFailed(
        f"Terraform could not write its state at the end of an apply and left it as {errored}, "
        f"which cannot take the state's place: {why}. Compare the two, keep the right one as the "
        "state, remove or rename the other, and deploy again."
    )
