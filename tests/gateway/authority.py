"""An authority for tests and measurements, and the certificate of a gateway that it signed."""

import datetime
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_CA = "an authority for tests"


@dataclass(frozen=True)
class Authority:
    """An authority, and the certificate for `localhost` that it signed, as files."""

    ca: Path
    certificate: Path
    key: Path

    @staticmethod
    def of(folder: Path) -> "Authority":
        return Authority(folder / "ca.pem", folder / "gateway.pem", folder / "gateway.key")

    @property
    def pem(self) -> bytes:
        return self.ca.read_bytes()


def make_authority(folder: Path, name: str = "localhost") -> Authority:
    files = Authority.of(folder)
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca = _certificate(_CA, ca_key, _CA, ca_key)
    leaf = _certificate(name, key, _CA, ca_key)
    files.ca.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    files.certificate.write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    files.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=key is issuer_key, path_length=None), critical=True)
        .sign(issuer_key, hashes.SHA256())
    )
