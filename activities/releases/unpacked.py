"""Where an artifact was unpacked on this machine, and the marker file that records it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Unpacked:
    """An artifact's files on this machine."""

    artifact: str
    """The artifact's digest."""
    folder: Path
    """The folder to work in: the unpacked folder, or a folder within it."""


def unpacked_at(destination: Path) -> Unpacked | None:
    """What was unpacked there; None if nothing was, or not completely."""
    marker = marker_of(destination)
    if not destination.is_dir() or not marker.is_file():
        return None
    digest, _, directory = marker.read_text().partition(" ")
    return Unpacked(digest, destination / directory)


def marker_of(destination: Path) -> Path:
    """The file beside a folder that records what was unpacked there, once that is complete."""
    return destination.with_name(f".{destination.name}.artifact")
