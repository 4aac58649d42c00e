"""Limits of one call of a function: how much it may make, and how deep a value may be."""

from apps.templates.errors import FunctionError

MAX_TEXT = 16 * 1024 * 1024
MAX_WALKED = 1024 * 1024
"""For functions that look at each character."""
MAX_ITEMS = 1_000_000
MAX_DEPTH = 100


def check_text(length: int) -> None:
    """Refuses text of more than 16 MB.

    Raises:
        FunctionError: it would be longer.
    """
    if length > MAX_TEXT:
        raise FunctionError(f"the text would be longer than {MAX_TEXT} characters")


def check_walked(length: int) -> None:
    """Refuses texts that take too long to go through character by character.

    Raises:
        FunctionError: it is longer than 1 MB.
    """
    if length > MAX_WALKED:
        raise FunctionError(f"the text is longer than {MAX_WALKED} characters")


def check_items(count: int) -> None:
    """Refuses lists of more than a million items.

    Raises:
        FunctionError: there would be more.
    """
    if count > MAX_ITEMS:
        raise FunctionError(f"there would be more than {MAX_ITEMS} items")


def check_depth(depth: int) -> None:
    """Refuses values that are nested more than a hundred levels deep.

    Raises:
        FunctionError: it is deeper, or contains itself.
    """
    if depth > MAX_DEPTH:
        raise FunctionError(f"a value is nested deeper than {MAX_DEPTH}, or contains itself")


class Budget:
    """Counts the items that are visited, since a list may hold one list many times."""

    def __init__(self) -> None:
        self._left = MAX_ITEMS

    def visit(self, count: int, depth: int) -> None:
        """To be called before `count` items at `depth` are visited.

        Raises:
            FunctionError: there are too many, or they are too deep.
        """
        check_depth(depth)
        self._left -= count
        if self._left < 0:
            check_items(MAX_ITEMS + 1)
