"""Opens stores by a description, which can be passed to another process."""

from collections.abc import Mapping
from pathlib import Path

from store.folder import FolderStore
from store.interface import Store
from store.s3_place import S3Place


def folder_description(root: Path) -> dict[str, str]:
    """The description of the store in the folder `root`."""
    return {"kind": "folder", "root": str(root.absolute())}


def s3_description(place: S3Place) -> dict[str, str]:
    """The description of the store in a bucket. It contains no credentials: the process that opens
    the store finds its own, as every AWS tool does (a role, AWS_* variables, ~/.aws)."""
    return {"kind": "s3", **place.describe()}


def open_store(description: Mapping[str, str]) -> Store:
    """Opens the described store; raises ValueError for an unknown kind."""
    kind = description.get("kind")
    if kind == "folder":
        return FolderStore(Path(description["root"]))
    if kind == "s3":
        # Imported only if needed: it takes more memory than all the rest of a worker.
        from store.s3 import S3Store  # noqa: PLC0415

        return S3Store(S3Place.of(description))
    raise ValueError(f"a store of kind {kind!r} is not known; known: folder, s3")
