"""The parts of an install that an engine deploys: its components, by name, and the sandbox."""

from typing import Final

SANDBOX: Final = "_sandbox"
"""What the sandbox is called where components are; no component's name begins with `_`."""


def part_shown(part: str) -> str:
    """A part as people read it."""
    return "sandbox" if part == SANDBOX else part


def part_named(part: str) -> str:
    """A part within a sentence: `sandbox`, or `component api`."""
    return "sandbox" if part == SANDBOX else f"component {part}"
