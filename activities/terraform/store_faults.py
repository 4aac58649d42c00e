"""What a failed run says of the store that its state is in; Terraform tells it in words alone.

Terraform asks a store again by itself. What is left after that may still pass, and says nothing
about the module: it is not the end of an operation.
"""

import os
import re
from collections.abc import Callable
from typing import Final

from activities.operations.spec import OUTPUT_FILE
from activities.operations.status import ToolEnd
from store.left_files import open_left

_LINES: Final = 60
"""What Terraform says of a lock takes 30."""

_WORK: Final = re.compile(r": (Creating|Modifying|Destroying|Provisioning)\b")
_HEAD_BYTES: Final = 64 * 1024
"""Whoever printed more than this did not fail at the very beginning."""


def lost_the_lock(end: ToolEnd) -> bool:
    """Whether the run did nothing but find the state locked; blocks."""
    # A script of the module's own may run a Terraform, which says the same in its place.
    return _says(end, "acquiring") and _names_a_holder(end) and not _has_worked(end)


def may_pass(end: ToolEnd, tells_fault: Callable[[str], bool]) -> bool:
    """Whether the run failed by what the store did, and the next may go on; blocks.

    So it is where its state was not read, where the lock could not be taken, and where all was done
    and only the lock could not be removed. Of a state that could not be written, Terraform leaves
    a file: that is not asked here.

    Args:
        end: How the run ended.
        tells_fault: Whether its last lines, joined, tell of a fault of the store that may pass.
    """
    if end.outcome != "exited" or end.failed is None:
        return False
    if _says(end, "releasing"):
        return True
    if _says(end, "acquiring"):
        return not _names_a_holder(end) and not _has_worked(end)
    # Its lines are broken to fit a terminal.
    return tells_fault(" ".join(end.last_lines(_LINES).split()))


def _says(end: ToolEnd, what: str) -> bool:
    error = re.compile(rf"^Error: Error {what} the state lock", re.MULTILINE)
    return end.failed is not None and error.search(end.last_lines(_LINES)) is not None


def _names_a_holder(end: ToolEnd) -> bool:
    said = end.last_lines(_LINES)
    # The latter is a file's lock, whose holder had no time to write down who it is.
    return "Lock Info:" in said or "resource temporarily unavailable" in said


def _has_worked(end: ToolEnd) -> bool:
    with os.fdopen(open_left(end.folder / OUTPUT_FILE), "rb") as file:
        head = file.read(_HEAD_BYTES + 1)
    return len(head) > _HEAD_BYTES or _WORK.search(head.decode(errors="replace")) is not None
