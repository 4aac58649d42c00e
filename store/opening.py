"""Opens the store that a description names: how a store is passed on to another process."""

from collections.abc import Mapping
from pathlib import Path

from store.folder import FolderStore
from store.interface import Store


def folder_description(root: Path) -> dict[str, str]:
    """The description of the store in the folder `root`."""
    return {"kind": "folder", "root": str(root.absolute())}


def open_store(description: Mapping[str, str]) -> Store:
    """Opens the described store; raises ValueError for a kind that is not known."""
    kind = description.get("kind")
    if kind == "folder":
        return FolderStore(Path(description["root"]))
    raise ValueError(f"a store of kind {kind!r} is not known; known: folder")
