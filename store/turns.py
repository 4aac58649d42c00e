"""The turn: the right to change the install, as recorded in its store.

The Install workflow grants turns with numbers that only grow. The store keeps the highest number,
so that a run that has lost its turn (terminated, or restarted) is refused here, even if it does not
know. The record lies among the journals, which stay when everything else of an install is deleted.
"""

from typing import Final

from store.documents import Document, change_document, read_document
from store.errors import Malformed, StoreError
from store.interface import Store

TURN_KEY: Final = "journals/turn.json"

_FORMER_KEY: Final = "turn.json"
"""Where older workers stored it."""


class TurnIsHeld(StoreError):
    """Another run holds the install's turn, or held a later one."""

    def __init__(self, number: int, workflow_id: str) -> None:
        super().__init__(
            f"the install's turn is {number} of {workflow_id}; "
            "start the run again, so that it gets a turn of its own"
        )
        self.number = number
        self.workflow_id = workflow_id


def check_turn(store: Store, number: int, workflow_id: str) -> None:
    """Records a turn with a new highest number; also accepts the current highest one again.

    Raises:
        TurnIsHeld: the number is lower than the highest, or equal but held by another workflow.
    """

    def advance(document: Document | None) -> Document | None:
        standing = _former(store) if document is None else document
        if standing is not None:
            held, holder = _parse(standing)
            if number < held or (number == held and workflow_id != holder):
                raise TurnIsHeld(held, holder)
            if number == held and document is not None:
                return None
        return {"number": number, "workflow_id": workflow_id}

    change_document(store, TURN_KEY, advance)


def highest_turn(store: Store) -> int:
    """The number of the highest turn that the store has seen; 0 if there was none."""
    found = read_document(store, TURN_KEY)
    standing = found[0] if found else _former(store)
    return _parse(standing)[0] if standing else 0


def _former(store: Store) -> Document | None:
    found = read_document(store, _FORMER_KEY)
    return found[0] if found else None


def _parse(document: Document) -> tuple[int, str]:
    try:
        return int(document["number"]), str(document["workflow_id"])
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"{TURN_KEY} is not a turn: {error!r}; restore it from a backup") from error
