"""An authority for tests and measurements, and the certificate of a gateway that it signed."""

import datetime
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.tls_certificates import key_usage

_CA = "an authority for tests"


@dataclass(frozen=True)
class Authority:
    """An authority, and the certificate for `localhost` that it signed, as files."""

    ca: Path
    ca_key: Path
    certificate: Path
    key: Path

    @staticmethod
    def of(folder: Path) -> "Authority":
        return Authority(
            folder / "ca.pem", folder / "ca.key", folder / "gateway.pem", folder / "gateway.key"
        )

    @property
    def pem(self) -> bytes:
        return self.ca.read_bytes()


def make_authority(folder: Path) -> Authority:
    """A new authority, and a certificate that it signed."""
    files = Authority.of(folder)
    key = ec.generate_private_key(ec.SECP256R1())
    files.ca_key.write_bytes(_pem(key))
    files.ca.write_bytes(_certificate(_CA, key, key).public_bytes(serialization.Encoding.PEM))
    return renew(folder)


def renew(folder: Path) -> Authority:
    """A new key and certificate, signed by the same authority."""
    files = Authority.of(folder)
    ca_key = serialization.load_pem_private_key(files.ca_key.read_bytes(), None)
    assert isinstance(ca_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    leaf = _certificate("localhost", key, ca_key)
    files.key.write_bytes(_pem(key))
    files.certificate.write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    return files


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _CA)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=key is issuer_key, path_length=None), critical=True)
        .add_extension(key_usage(signs=key is issuer_key), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
        .sign(issuer_key, hashes.SHA256())
    )
