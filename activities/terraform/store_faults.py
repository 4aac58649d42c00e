"""Recognises, from Terraform's messages, runs that failed because of the state's store.

Terraform itself retries requests to a store. A fault that remains may still pass, and says nothing
about the module, so it must not end the operation.
"""

import os
import re
from collections.abc import Callable
from typing import Final

from activities.operations.spec import OUTPUT_FILE
from activities.operations.status import ToolEnd
from store.left_files import open_left

_LINES: Final = 60
"""Terraform's message about a lock takes 30 lines."""

_WORK: Final = re.compile(r": (Creating|Modifying|Destroying|Provisioning)\b")
_HEAD_BYTES: Final = 64 * 1024
"""A run that printed more than this did not fail at its very beginning."""


def lost_the_lock(end: ToolEnd) -> bool:
    """Whether the run found the state locked and did nothing else; blocks."""
    # A script of the module may run Terraform itself, and print the same message.
    return _says(end, "acquiring") and _names_a_holder(end) and not _has_worked(end)


def may_pass(end: ToolEnd, tells_fault: Callable[[str], bool]) -> bool:
    """Whether the run failed because of the store, so that the next one may succeed; blocks.

    That is the case if the state could not be read, if the lock could not be taken, or if
    everything was done and only the lock could not be removed. If the state could not be written,
    Terraform leaves a file; that case is not handled here.

    Args:
        end: How the run ended.
        tells_fault: Whether its last lines, joined, describe a fault of the store that may pass.
    """
    if end.outcome != "exited" or end.failed is None:
        return False
    if _says(end, "releasing"):
        return True
    if _says(end, "acquiring"):
        return not _names_a_holder(end) and not _has_worked(end)
    # Terraform breaks its lines to fit a terminal.
    return tells_fault(" ".join(end.last_lines(_LINES).split()))


def _says(end: ToolEnd, what: str) -> bool:
    error = re.compile(rf"^Error: Error {what} the state lock", re.MULTILINE)
    return end.failed is not None and error.search(end.last_lines(_LINES)) is not None


def _names_a_holder(end: ToolEnd) -> bool:
    said = end.last_lines(_LINES)
    # The latter is the lock of a file whose holder had no time to write its name.
    return "Lock Info:" in said or "resource temporarily unavailable" in said


def _has_worked(end: ToolEnd) -> bool:
    with os.fdopen(open_left(end.folder / OUTPUT_FILE), "rb") as file:
        head = file.read(_HEAD_BYTES + 1)
    return len(head) > _HEAD_BYTES or _WORK.search(head.decode(errors="replace")) is not None
