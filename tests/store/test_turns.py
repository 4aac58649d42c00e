"""Turns: the highest one counts, and the first of two with the same number."""

import pytest

from store.errors import Malformed
from store.interface import ANY, Store
from store.turns import TURN_KEY, TurnIsHeld, check_turn


def test_turns_only_grow(store: Store) -> None:
    check_turn(store, 5, "deploy/acme/1")
    check_turn(store, 5, "deploy/acme/1")
    with pytest.raises(TurnIsHeld, match="5 of deploy/acme/1"):
        check_turn(store, 5, "deploy/acme/2")
    check_turn(store, 9, "deploy/acme/2")
    with pytest.raises(TurnIsHeld) as refused:
        check_turn(store, 5, "deploy/acme/1")
    assert (refused.value.number, refused.value.workflow_id) == (9, "deploy/acme/2")
    check_turn(store, 9, "deploy/acme/2")


def test_what_is_no_turn_is_reported(store: Store) -> None:
    store.put(TURN_KEY, b"{}", if_match=ANY)
    with pytest.raises(Malformed):
        check_turn(store, 1, "deploy/acme/1")


def test_a_turn_that_an_older_worker_recorded_counts(store: Store) -> None:
    former = b'{"number": 5, "workflow_id": "deploy/acme/1"}'
    store.put("turn.json", former, if_match=ANY)
    with pytest.raises(TurnIsHeld, match="5 of deploy/acme/1"):
        check_turn(store, 4, "deploy/acme/0")
    check_turn(store, 5, "deploy/acme/1")
    check_turn(store, 6, "deploy/acme/2")
    with pytest.raises(TurnIsHeld, match="6 of deploy/acme/2"):
        check_turn(store, 5, "deploy/acme/1")


def test_the_turn_lies_among_what_stays(store: Store) -> None:
    check_turn(store, 1, "deploy/acme/1")
    assert store.list("") == [TURN_KEY]
    assert TURN_KEY.startswith("journals/")
