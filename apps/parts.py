"""What a release has artifacts of: parts that an engine deploys, and steps of actions.

The parts are the components, by name, and the sandbox.
"""

from typing import Final

SANDBOX: Final = "_sandbox"
"""What the sandbox is called where components are; no component's name begins with `_`."""


def part_shown(part: str) -> str:
    """A part as people read it."""
    return "sandbox" if part == SANDBOX else part


def part_named(part: str) -> str:
    """A part within a sentence: `sandbox`, or `component api`."""
    return "sandbox" if part == SANDBOX else f"component {part}"


def step_name(action: str, index: int) -> str:
    """A step of an action, by its place among them: names of steps are for people."""
    return f"{action}/{index}"
