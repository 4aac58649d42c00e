"""Credentials: those that were signed are recognized, and nothing else is."""

import string
from datetime import timedelta
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from gateway.enrolment.address_limits import AddressLimits
from gateway.enrolment.credentials import (
    AUDIENCE,
    CredentialKey,
    CredentialKeyUnusable,
    GatewayCredentials,
)
from gateway.front.peers import whose
from gateway.identity import Expired, Identity, Unauthenticated


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


OLD, NEW = (CredentialKey(Ed25519PrivateKey.generate()) for _ in range(2))
KEY = "0f" * 16
TOKEN = GatewayCredentials([OLD], clock=Clock()).issue("install", "vendor", "acme", KEY).token
IDENTITY = Identity("install", "vendor", "acme", KEY, 1_800_000_000 + 900)


def credentials(*keys: CredentialKey) -> GatewayCredentials:
    return GatewayCredentials(keys or (OLD,), clock=Clock())


def test_who_it_is_comes_back() -> None:
    made = credentials()
    assert made.authenticate(f"Bearer {TOKEN}") == IDENTITY
    assert made.authenticate(f"bearer {TOKEN}") == IDENTITY
    build = made.issue("build", "vendor", "", KEY)
    assert made.authenticate(f"Bearer {build.token}").shown == "build"
    assert build.token not in repr(build)


def test_it_ends_with_a_grace_for_gateways_whose_clocks_differ() -> None:
    clock = Clock()
    made = GatewayCredentials([OLD], lifetime=timedelta(minutes=15), clock=clock)
    clock.now += 900 + 59
    assert made.authenticate(f"Bearer {TOKEN}") == IDENTITY
    clock.now += 2
    for one in (made, GatewayCredentials([OLD], clock=clock)):
        with pytest.raises(Expired, match=r"ended at .* install/acme|install/acme ended") as over:
            one.authenticate(f"Bearer {TOKEN}")
        assert over.value.identity == IDENTITY, "who it is, is still known"
    with pytest.raises(Unauthenticated) as stranger:
        GatewayCredentials([NEW], clock=clock).authenticate(f"Bearer {TOKEN}")
    assert not isinstance(stranger.value, Expired), "this gateway did not sign it"
    assert not made._known


def test_keys_are_exchanged_one_after_the_other() -> None:
    """The new key is added after the old one everywhere, then moved to the front, then is alone."""
    assert credentials(OLD, NEW).authenticate(f"Bearer {TOKEN}") == IDENTITY
    assert credentials(NEW, OLD).authenticate(f"Bearer {TOKEN}") == IDENTITY
    of_new = credentials(NEW, OLD).issue("install", "vendor", "acme", KEY).token
    assert credentials(OLD, NEW).authenticate(f"Bearer {of_new}") == IDENTITY
    with pytest.raises(Unauthenticated, match="taken away"):
        credentials(NEW).authenticate(f"Bearer {TOKEN}")


@given(st.data())
def test_no_change_of_a_credential_passes(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(TOKEN) - 1))
    letter = data.draw(st.sampled_from(string.ascii_letters + string.digits + "-_."))
    changed = TOKEN[:place] + letter + TOKEN[place + 1 :]
    try:
        # The last letter of base64 has unused bits.
        assert credentials().authenticate(f"Bearer {changed}") == IDENTITY
        assert changed.rpartition(".")[0] == TOKEN.rpartition(".")[0]
    except Unauthenticated as error:
        assert changed not in str(error)


@given(st.text(max_size=200) | st.none())
def test_any_header_is_answered(header: str | None) -> None:
    for value in (header, f"Bearer {header}", f"Bearer {TOKEN}{header}"):
        if value in (f"Bearer {TOKEN}",):
            continue
        with pytest.raises(Unauthenticated):
            credentials().authenticate(value)


def test_algorithms_are_pinned() -> None:
    claims = jwt.decode(TOKEN, options={"verify_signature": False})
    public = OLD.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    assert claims["aud"] == AUDIENCE
    headers = {"kid": OLD.id}
    for wrong in (
        jwt.encode(claims, "", "none", headers=headers),
        jwt.encode(claims, OLD.private.public_key().public_bytes_raw(), "HS256", headers=headers),
        jwt.encode({**claims, "aud": "another"}, OLD.private, "EdDSA", headers=headers),
        jwt.encode(claims, NEW.private, "EdDSA", headers=headers),
        jwt.encode(claims, OLD.private, "EdDSA", headers={"kid": NEW.id}),
        jwt.encode(claims, OLD.private, "EdDSA"),
        jwt.encode({"aud": AUDIENCE}, OLD.private, "EdDSA", headers=headers),
    ):
        with pytest.raises(Unauthenticated):
            credentials(OLD).authenticate(f"Bearer {wrong}")
    assert public


def test_a_key_file(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    assert CredentialKey.make(path).id == CredentialKey.read(path).id
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("nonsense")
    with pytest.raises(CredentialKeyUnusable, match="openssl genpkey"):
        CredentialKey.read(path)
    with pytest.raises(CredentialKeyUnusable, match="is not there"):
        CredentialKey.read(tmp_path / "not-there")
    path.chmod(0o640)
    with pytest.raises(CredentialKeyUnusable, match="chmod 600"):
        CredentialKey.read(path)


def test_a_bucket_for_each_address() -> None:
    clock = Clock()
    limits = AddressLimits(2, 0.5, clock)
    assert [limits.wait_seconds("a") for _ in range(3)] == [0.0, 0.0, 2.0]
    assert limits.wait_seconds("b") == 0.0
    clock.now += 2
    assert [limits.wait_seconds("a") for _ in range(2)] == [0.0, 2.0]
    clock.now += 3600
    assert [limits.wait_seconds("a") for _ in range(3)] == [0.0, 0.0, 2.0]
    for number in range(20_000):
        limits.wait_seconds(str(number))
    assert len(limits._buckets) == 10_000


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_who_has_every_address_of_a_net_is_counted_once(host: str, counted: str) -> None:
    assert whose(host) == counted
    limits = AddressLimits(1, 1, Clock())
    assert limits.wait_seconds(host) == 0.0
    assert limits.wait_seconds(counted.removesuffix("/64")) > 0
