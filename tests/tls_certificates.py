"""Certificates of an authority of the test's own."""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

NAME = "gateway.internal"
"""A name that no name server knows."""


@dataclass(frozen=True)
class Certificate:
    """Of 127.0.0.1, and the authority's."""

    file: Path
    key: Path
    ca: Path


def make_certificate(
    folder: Path,
    *,
    names: Sequence[str] = ("127.0.0.1", "localhost", NAME),
    issuer: str = "authority of the tests",
    ended: bool = False,
) -> Certificate:
    folder.mkdir(exist_ok=True)
    authority = generate_private_key(SECP256R1())
    own = generate_private_key(SECP256R1())
    by = _name(issuer)
    ca = (
        _builder(by, by, authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs=True), critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(authority.public_key()), critical=False
        )
        .sign(authority, SHA256())
    )
    leaf = (
        _builder(_name("gateway"), by, own, ended=ended)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs=False), critical=True)
        .add_extension(x509.SubjectAlternativeName([_san(one) for one in names]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()),
            critical=False,
        )
        .sign(authority, SHA256())
    )
    found = Certificate(folder / "gateway.pem", folder / "gateway.key", folder / "ca.pem")
    found.file.write_bytes(leaf.public_bytes(Encoding.PEM))
    found.ca.write_bytes(ca.public_bytes(Encoding.PEM))
    found.key.write_bytes(own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return found


def _san(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def key_usage(*, signs: bool) -> x509.KeyUsage:
    """Of a key that signs other certificates, or of one that only proves whose it is."""
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: EllipticCurvePrivateKey,
    *,
    ended: bool = False,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=2))
        .not_valid_after(now + datetime.timedelta(days=-1 if ended else 30))
    )
