"""A token proves what it says, and nothing that was altered proves anything."""

import contextlib
import json
import os
import string
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.access.authority import EnrolmentAuthority, EnrolmentKey, EnrolmentKeyUnusable
from wire.enrolment.client import ControlKeys
from wire.enrolment.sealing import CannotUnseal, decoded, encoded, seal, unseal
from wire.enrolment.token import EnrolmentToken, InvalidToken, TokenId
from wire.enrolment.worker_identity import IdentityUnusable, WorkerIdentity
from wire.network.gateway_address import GatewayAddress, NoGatewayAddress

KEY = EnrolmentKey(bytes(range(32)))
AUTHORITY = EnrolmentAuthority([KEY])
WORKER = WorkerIdentity.generate()
OTHER = WorkerIdentity.generate()
TOKEN = AUTHORITY.mint(TokenId("vendor", "install/acme", "n1", 1_800_000_000))
BASE64URL = string.ascii_letters + string.digits + "-_"


def holds(id: str, proof: str) -> bool:
    """Whether the control side would accept it as a proof of WORKER's keys."""
    try:
        TokenId.parse(id)
    except InvalidToken:
        return False
    made = AUTHORITY.which_made(id, lambda token: token.proves(proof, WORKER.public))
    return made is not None


def test_what_was_minted_is_read_back_and_proves() -> None:
    read = EnrolmentToken.parse(TOKEN.render() + "\n")
    assert read == TOKEN
    named = TokenId.parse(read.id)
    assert replace(named, signature="") == TokenId("vendor", "install/acme", "n1", 1_800_000_000)
    assert str(named) == read.id
    assert holds(read.id, read.prove(WORKER.public))


def test_everybody_can_tell_a_token_of_the_control_side_and_nobody_else_can_make_one() -> None:
    """With public keys only, as gateways have them."""
    keys = [Ed25519PublicKey.from_public_bytes(decoded(one)) for one in AUTHORITY.token_keys]
    others = EnrolmentAuthority([EnrolmentKey(bytes(32))])
    named = TokenId.parse(TOKEN.id)
    assert named.is_signed_by_one_of(keys)
    for forged in (
        replace(named, subject="install/other"),
        replace(named, expires=named.expires + 1),
        replace(named, number="n2"),
        replace(named, org="other"),
        replace(named, signature=""),
        replace(named, signature="A" * 86),
        TokenId.parse(others.mint(replace(named, signature="")).id),
    ):
        assert not forged.is_signed_by_one_of(keys)
    assert not named.is_signed_by_one_of([])


def test_a_token_of_before_is_still_read() -> None:
    """Workers may have old tokens in a file, and the control side verifies them by their secret."""
    named = TokenId("vendor", "install/acme", "n1", 1_800_000_000)
    assert TokenId.parse(str(named)) == named
    old = EnrolmentKey(bytes(32)).token(str(named))
    assert EnrolmentToken.parse(old.render()) == old


def test_a_proof_is_of_one_pair_of_keys() -> None:
    proof = TOKEN.prove(WORKER.public)
    assert not TOKEN.proves(proof, OTHER.public)
    mixed = WORKER.public.model_copy(update={"sealing": OTHER.public.sealing})
    assert not TOKEN.proves(proof, mixed)


@given(st.data())
def test_no_change_of_an_id_proves(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(TOKEN.id) - 1))
    letter = data.draw(st.sampled_from(BASE64URL))
    changed = TOKEN.id[:place] + letter + TOKEN.id[place + 1 :]
    assert holds(changed, TOKEN.prove(WORKER.public)) is (changed == TOKEN.id)


@given(st.data())
def test_no_change_of_a_proof_proves(data: st.DataObject) -> None:
    proof = TOKEN.prove(WORKER.public)
    place = data.draw(st.integers(0, len(proof)))
    changed = data.draw(
        st.one_of(
            st.text(BASE64URL, max_size=1).map(
                lambda one: proof[:place] + one + proof[place + 1 :]
            ),
            st.just(proof[:place]),
            st.text(max_size=60),
        )
    )
    assert holds(TOKEN.id, changed) is (changed == proof)


@given(st.text(max_size=300))
def test_any_text_is_a_token_or_is_refused_as_none(text: str) -> None:
    with contextlib.suppress(InvalidToken):
        EnrolmentToken.parse(text)
    with pytest.raises(InvalidToken) as caught:
        EnrolmentToken.parse(TOKEN.id + "." + text[:20])
    assert TOKEN.id not in str(caught.value)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=20) | st.booleans(),
        lambda inner: st.dictionaries(st.sampled_from(["v", "org", "for", "n", "exp"]), inner),
    )
)
def test_any_id_is_read_or_refused(value: object) -> None:
    try:
        found = TokenId.parse(encoded(json.dumps(value).encode()))
    except InvalidToken:
        return
    assert isinstance(found.expires, int)


def test_another_control_plane_s_token_is_none_and_an_older_key_s_is_good() -> None:
    newer = EnrolmentKey(bytes(32))
    both = EnrolmentAuthority([newer, KEY])
    proof = TOKEN.prove(WORKER.public)
    assert both.which_made(TOKEN.id, lambda one: one.proves(proof, WORKER.public)) == KEY
    alone = EnrolmentAuthority([newer])
    assert alone.which_made(TOKEN.id, lambda one: one.proves(proof, WORKER.public)) is None
    minted = both.mint(TokenId.parse(TOKEN.id))
    assert minted == newer.token(minted.id)


def test_secrets_are_in_no_repr() -> None:
    secret = TOKEN.render().partition(".")[2]
    for shown in (repr(TOKEN), repr(KEY), repr(WORKER)):
        assert secret not in shown
        assert encoded(KEY.secret) not in shown
    assert "PRIVATE" not in repr(WORKER)


@given(st.binary(max_size=200), st.binary(max_size=20))
@settings(max_examples=50)
def test_only_the_holder_of_the_key_unseals_and_only_for_what_it_is_about(
    data: bytes, about: bytes
) -> None:
    key = WORKER.sealing
    sealed = seal(data, key.public_key().public_bytes_raw(), about)
    assert unseal(sealed, key, about) == data
    with pytest.raises(CannotUnseal):
        unseal(sealed, X25519PrivateKey.generate(), about)
    with pytest.raises(CannotUnseal):
        unseal(sealed, key, about + b"x")


@given(st.data())
@settings(max_examples=50)
def test_what_was_changed_is_not_unsealed(data: st.DataObject) -> None:
    key = WORKER.sealing
    raw = bytearray(decoded(seal(b"secret", key.public_key().public_bytes_raw(), b"")))
    place = data.draw(st.integers(0, len(raw) * 8 - 1))
    # The top bit of an X25519 key is ignored by definition, but is part of the key derivation.
    raw[place // 8] ^= 1 << (place % 8)
    with pytest.raises(CannotUnseal):
        unseal(encoded(bytes(raw)), key, b"")


@given(st.text(max_size=40))
def test_base64url_has_one_form(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert encoded(decoded(text)) == text


def test_keys_are_made_once_and_are_the_owner_s_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "identity"
    umask = os.umask(0)
    try:
        first = WorkerIdentity.open(folder)
    finally:
        os.umask(umask)
    assert WorkerIdentity.open(folder).public == first.public
    assert (folder / "keys.pem").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [one.name for one in folder.iterdir()] == ["keys.pem"]


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", WORKER._pem()[:100]], ids=["empty", "nonsense", "cut off"]
)
def test_damaged_keys_say_what_to_do(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "keys.pem").write_bytes(content)
    with pytest.raises(IdentityUnusable, match="Remove it"):
        WorkerIdentity.open(tmp_path)


def test_an_enrolment_key_file(tmp_path: Path) -> None:
    path = tmp_path / "enrolment.key"
    made = EnrolmentKey.make(path)
    assert EnrolmentKey.read(path) == made
    assert path.stat().st_mode & 0o777 == 0o600
    keys = ControlKeys.parse(made.public)
    assert keys.signing == made.signing.public_key().public_bytes_raw()
    with pytest.raises(FileExistsError):
        EnrolmentKey.make(path)
    for content in ("", "short", "!" * 43):
        path.write_text(content)
        with pytest.raises(EnrolmentKeyUnusable, match="is not an enrolment key"):
            EnrolmentKey.read(path)
    path.chmod(0o604)
    with pytest.raises(EnrolmentKeyUnusable, match="chmod 600"):
        EnrolmentKey.read(path)
    with pytest.raises(EnrolmentKeyUnusable, match="is not there"):
        EnrolmentKey.read(tmp_path / "not-there")
    with pytest.raises(EnrolmentKeyUnusable):
        EnrolmentAuthority([])


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://gateway.example.com", "gateway.example.com:443"),
        ("https://gateway.example.com:8443/", "gateway.example.com:8443"),
        ("https://[2001:db8::1]", "[2001:db8::1]:443"),
        ("https://[2001:db8::1]:8443", "[2001:db8::1]:8443"),
        ("http://127.0.0.1:5090", "127.0.0.1:5090"),
    ],
)
def test_a_gateway_s_address(url: str, target: str) -> None:
    assert GatewayAddress.parse(url).target == target


@pytest.mark.parametrize(
    "url",
    ["http://gateway.example.com", "https://a@b", "https://a/b", "a:1", "https://a:0", "ftp://a"],
)
def test_what_is_no_gateway_s_address(url: str) -> None:
    with pytest.raises(NoGatewayAddress):
        GatewayAddress.parse(url)
