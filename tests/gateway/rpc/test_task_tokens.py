"""Who can open a sealed task token."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.identity import Identity
from gateway.rpc.task_tokens import NotTheirs, TaskTokens
from tests.gateway.gateway_parts import build, install

OLD, NEW = b"o" * 32, b"n" * 32
ACME = install("acme")


@given(st.binary(max_size=500))
def test_who_it_was_sealed_to_opens_it_at_any_gateway_with_the_secret(token: bytes) -> None:
    sealed = TaskTokens([OLD]).seal(token, ACME, "activity")
    assert TaskTokens([OLD]).open(sealed, ACME, "activity") == token


def test_the_same_token_is_sealed_to_the_same_bytes_by_every_gateway() -> None:
    # Temporal's command to cancel names the activity by its token.
    first, second = (TaskTokens([OLD]).seal(b"token", ACME, "activity") for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    "other",
    [
        install("other"),
        install("acme", org="other"),
        build(),
        Identity("install", "dev", "", "a-key", 0),
        Identity("install", "deva", "cme", "a-key", 0),
    ],
    ids=lambda identity: f"{identity.org} {identity.shown}",
)
def test_no_other_identity_opens_it(other: Identity) -> None:
    tokens = TaskTokens([OLD])
    with pytest.raises(NotTheirs, match="not given to"):
        tokens.open(tokens.seal(b"token", ACME, "activity"), other, "activity")


def test_a_worker_with_a_new_key_finishes_what_it_was_given() -> None:
    tokens = TaskTokens([OLD])
    sealed = tokens.seal(b"token", ACME, "activity")
    again = Identity("install", "dev", "acme", "another-key", ACME.expires + 1)
    assert tokens.open(sealed, again, "activity") == b"token"


def test_the_token_of_a_command_is_none_of_an_activity() -> None:
    tokens = TaskTokens([OLD])
    with pytest.raises(NotTheirs):
        tokens.open(tokens.seal(b"token", ACME, "command"), ACME, "activity")


@given(st.data())
def test_one_changed_bit_spoils_it(data: st.DataObject) -> None:
    tokens = TaskTokens([OLD])
    sealed = bytearray(tokens.seal(b"a token", ACME, "activity"))
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(NotTheirs):
        tokens.open(bytes(sealed), ACME, "activity")


@given(st.binary(max_size=200))
def test_what_no_gateway_sealed_is_nobodys(made_up: bytes) -> None:
    with pytest.raises(NotTheirs):
        TaskTokens([OLD]).open(made_up, ACME, "activity")


def test_a_secret_is_rotated_without_losing_what_runs() -> None:
    before = TaskTokens([OLD]).seal(b"token", ACME, "activity")
    for ring in ([OLD, NEW], [NEW, OLD]):
        assert TaskTokens(ring).open(before, ACME, "activity") == b"token"
    after = TaskTokens([NEW, OLD]).seal(b"token", ACME, "activity")
    assert TaskTokens([OLD, NEW]).open(after, ACME, "activity") == b"token"
    with pytest.raises(NotTheirs):
        TaskTokens([OLD]).open(after, ACME, "activity")


@pytest.mark.parametrize("secrets", [[], [b"short"]])
def test_secrets_that_protect_nothing_are_refused(secrets: list[bytes]) -> None:
    with pytest.raises(ValueError, match="secret"):
        TaskTokens(secrets)
