"""A certificate for the development gateway, issued by an authority made for it."""

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from wire.private_files import write_private

_LIFETIME = datetime.timedelta(days=3650)


@dataclass(frozen=True)
class Certificates:
    """The files, all of them PEM."""

    authority: Path
    certificate: Path
    key: Path
    """The certificate's key, readable only by its owner. The authority's key is not kept."""

    def usable(self) -> bool:
        """Whether the files exist and pass the checks of the running Python version.

        From 3.13 on, Python checks authorities by RFC 5280; one made by an older `exclave dev`
        lacks its key's usage. With an older Python it stays in use: enrolled workers trust it.

        Raises:
            OSError: a file cannot be read.
        """
        if not self.certificate.exists():
            return False
        if not ssl.create_default_context().verify_flags & ssl.VERIFY_X509_STRICT:
            return True
        found = x509.load_pem_x509_certificate(self.authority.read_bytes()).extensions
        return any(isinstance(each.value, x509.KeyUsage) for each in found)


def make_certificates(files: Certificates) -> None:
    """Write an authority and a certificate for this machine's loopback addresses.

    Raises:
        OSError: a file cannot be written.
    """
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = _name("exclave dev")
    authority = (
        _builder(issuer, issuer, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(authority_key, SHA256())
    )
    names = x509.SubjectAlternativeName(
        [
            x509.DNSName("localhost"),
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
            x509.IPAddress(ipaddress.ip_address("::1")),
        ]
    )
    certificate = (
        _builder(_name("localhost"), issuer, key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(names, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
        .sign(authority_key, SHA256())
    )
    files.authority.write_bytes(authority.public_bytes(Encoding.PEM))
    write_private(files.key, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    # Written last, so that its existence means that all files are there.
    files.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
