"""Each error has a stable type, and whether it is retryable never changes."""

import pytest

from contracts import errors
from contracts.errors import Bug, ExclaveError, by_type

RETRYABLE = {
    "BadInput": False, "BadConfig": False, "PolicyDenied": False, "Denied": False,
    "StalePlan": False, "TurnRefused": False, "EngineFailed": False, "OutcomeUnknown": False,
    "StoreBehind": False, "NotUnderstood": False, "ToolMissing": False, "DeployFailed": False,
    "ActionFailed": False, "Cancelled": False, "NotThere": False, "CredentialsRefused": False,
    "PayloadRefused": False, "BadAnswer": False, "Bug": False,
    "KeyMissing": True,
    "LockHeld": True, "Unreachable": True, "ToolLost": True, "Draining": True,
    "DiskFull": True,
}  # fmt: skip
"""Deployed versions record and match these: names are never removed nor changed."""

ALL = ExclaveError.__subclasses__()


def test_the_family_is_the_one_that_is_known() -> None:
    assert {one.__name__ for one in ALL} == RETRYABLE.keys()
    assert not [one for kind in ALL for one in kind.__subclasses__()], "by_type looks one deep"


@pytest.mark.parametrize("kind", ALL)
def test_type_and_retryability_reach_temporal(kind: type[ExclaveError]) -> None:
    error = kind("what failed", {"more": 1})
    assert error.type == kind.__name__
    assert error.non_retryable is not RETRYABLE[kind.__name__]
    assert error.message == "what failed"
    assert list(error.details) == [{"more": 1}]
    assert kind.__doc__


@pytest.mark.parametrize("kind", ALL)
def test_a_recorded_type_is_found_again(kind: type[ExclaveError]) -> None:
    assert by_type(kind.__name__) is kind


@pytest.mark.parametrize("name", ["", "ExclaveError", "OfANewerVersion", "object"])
def test_what_is_not_known_is_a_bug(name: str) -> None:
    assert by_type(name) is Bug


def test_the_tree_in_the_docstring_is_whole() -> None:
    text = errors.__doc__ or ""
    for name, retryable in RETRYABLE.items():
        [line] = [one for one in text.splitlines() if f"── {name} " in one]
        assert ("(retryable)" in line) == retryable
