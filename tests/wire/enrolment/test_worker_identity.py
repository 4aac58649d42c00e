"""A worker's keys: the tokens that they sign are accepted by any JSON Web Token library."""

from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from wire.enrolment.worker_identity import WorkerIdentity

IDENTITY = WorkerIdentity.generate()


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=20) | st.integers(0, 2**53)))
def test_what_is_signed_is_read_by_a_library(claims: dict[str, object]) -> None:
    claims = {key: value for key, value in claims.items() if key not in REGISTERED}
    token = IDENTITY.signed(claims)
    assert jwt.decode(token, IDENTITY.signing.public_key(), ["EdDSA"]) == claims
    assert jwt.get_unverified_header(token)["kid"] == IDENTITY.thumbprint


REGISTERED = {"exp", "iat", "nbf", "aud", "iss", "sub", "jti"}
"""Claims that the library interprets itself."""


def test_another_key_did_not_sign_it() -> None:
    token = IDENTITY.signed({"org": "dev"})
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(token, WorkerIdentity.generate().signing.public_key(), ["EdDSA"])


def test_the_file_is_as_a_library_writes_and_reads_it(tmp_path: Path) -> None:
    opened = WorkerIdentity.open(tmp_path)
    written = (tmp_path / "keys.pem").read_bytes()
    form = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    keys = (opened.signing, opened.sealing)
    assert written == b"".join(key.private_bytes(*form) for key in keys)
