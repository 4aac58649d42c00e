"""What an artifact was unpacked to, on this machine, and the marker file that says so."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Unpacked:
    """An artifact's files on this machine."""

    artifact: str
    """Its digest."""
    folder: Path
    """Where work is done: what was unpacked, or a folder of it."""


def unpacked_at(destination: Path) -> Unpacked | None:
    """What was unpacked there, if anything was, and as a whole."""
    marker = marker_of(destination)
    if not destination.is_dir() or not marker.is_file():
        return None
    digest, _, directory = marker.read_text().partition(" ")
    return Unpacked(digest, destination / directory)


def marker_of(destination: Path) -> Path:
    """The file beside a folder that tells what was unpacked there, once it is whole."""
    return destination.with_name(f".{destination.name}.artifact")
