"""How the parts of an install, and the steps of actions, are named.

A component is what the vendor describes in `components/`. A part is whatever an engine plans,
applies and tears down, with a state of its own: each component, by its name, and the sandbox. A
release has an artifact for each part, and for each step of an action that runs in a folder.
"""

from typing import Final

SANDBOX: Final = "_sandbox"
"""The sandbox's name among those of components; no component's name begins with `_`."""


def part_shown(part: str) -> str:
    """A part as people read it."""
    return "sandbox" if part == SANDBOX else part


def part_named(part: str) -> str:
    """A part within a sentence: `sandbox`, or `component api`."""
    return "sandbox" if part == SANDBOX else f"component {part}"


def step_name(action: str, index: int) -> str:
    """The name of a step's artifact, by the step's index: the names of steps are for people."""
    return f"{action}/{index}"
