"""Turns: the highest one counts, and of two with one number the first."""

from pathlib import Path

import pytest

from store.folder import FolderStore
from store.interface import ANY, Malformed
from store.turns import TurnIsHeld, check_turn


def test_turns_only_grow(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    check_turn(store, 5, "deploy/acme/1")
    check_turn(store, 5, "deploy/acme/1")
    with pytest.raises(TurnIsHeld, match="5 of deploy/acme/1"):
        check_turn(store, 5, "deploy/acme/2")
    check_turn(store, 9, "deploy/acme/2")
    with pytest.raises(TurnIsHeld) as refused:
        check_turn(store, 5, "deploy/acme/1")
    assert (refused.value.number, refused.value.workflow_id) == (9, "deploy/acme/2")
    check_turn(store, 9, "deploy/acme/2")


def test_what_is_no_turn_is_told(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.put("turn.json", b"{}", if_match=ANY)
    with pytest.raises(Malformed):
        check_turn(store, 1, "deploy/acme/1")
