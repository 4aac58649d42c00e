"""Every certificate that Exclave makes passes the checks of Python 3.13 and later."""

import shutil
import ssl
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from exclave.dev.certificates import Certificates, make_certificates
from tests import tls_certificates
from tests.artifacts import serving
from tests.gateway.authority import make_authority, renew


@dataclass(frozen=True)
class Served:
    """A server's certificate and key, and the authority by which clients check it."""

    ca: Path
    certificate: Path
    key: Path
    name: str


def files(folder: Path) -> Certificates:
    return Certificates(folder / "ca.pem", folder / "certificate.pem", folder / "key.pem")


def dev(folder: Path) -> Served:
    made = files(folder)
    make_certificates(made)
    return Served(made.authority, made.certificate, made.key, "localhost")


def gateway_of_tests(folder: Path) -> Served:
    made = make_authority(folder)
    return Served(made.ca, made.certificate, made.key, "localhost")


def gateway_of_tests_renewed(folder: Path) -> Served:
    make_authority(folder)
    made = renew(folder)
    return Served(made.ca, made.certificate, made.key, "localhost")


def host_of_tests(folder: Path) -> Served:
    made = tls_certificates.make_certificate(folder)
    return Served(made.ca, made.file, made.key, tls_certificates.NAME)


def server_of_tests(folder: Path) -> Served:
    made = serving.make_certificate(folder)
    return Served(made.file, made.file, made.key, "127.0.0.1")


EVERY_AUTHORITY = [
    dev,
    gateway_of_tests,
    gateway_of_tests_renewed,
    host_of_tests,
    server_of_tests,
]


def strict(ca: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca)
    # Python 3.13 sets this by default.
    context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def handshake(served: Served) -> None:
    """Make a TLS handshake with a strict client, without a network.

    Raises:
        ssl.SSLError: the server's certificate is refused.
    """
    there = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    there.load_cert_chain(served.certificate, served.key)
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = there.wrap_bio(up, down, server_side=True)
    client = strict(served.ca).wrap_bio(down, up, server_hostname=served.name)
    left = [client, server]
    while left:
        for side in tuple(left):
            try:
                side.do_handshake()
                left.remove(side)
            except ssl.SSLWantReadError:
                continue


@pytest.mark.parametrize("made_by", EVERY_AUTHORITY)
def test_certificates_pass_strict_verification(
    tmp_path: Path, made_by: Callable[[Path], Served]
) -> None:
    handshake(made_by(tmp_path))


@pytest.mark.parametrize("made_by", EVERY_AUTHORITY)
def test_certificates_pass_openssl_s_strict_verification(
    tmp_path: Path, made_by: Callable[[Path], Served]
) -> None:
    assert shutil.which("openssl"), "install openssl (Debian: apt-get install openssl)"
    served = made_by(tmp_path)
    argv: list[str | Path] = [
        "openssl",
        "verify",
        "-x509_strict",
        "-purpose",
        "sslserver",
        "-CAfile",
        served.ca,
    ]
    ran = subprocess.run([*argv, served.certificate], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def of_an_older_version(folder: Path) -> Certificates:
    """Certificates of an older `exclave dev`, whose authority lacks its key's usage."""
    made = files(folder)
    make_certificates(made)
    key = generate_private_key(SECP256R1())
    now = x509.load_pem_x509_certificate(made.authority.read_bytes())
    older = x509.CertificateBuilder(
        now.issuer,
        now.subject,
        key.public_key(),
        now.serial_number,
        now.not_valid_before_utc,
        now.not_valid_after_utc,
    ).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    made.authority.write_bytes(older.sign(key, SHA256()).public_bytes(Encoding.PEM))
    return made


@pytest.mark.parametrize("checks_strictly", [True, False])
def test_what_an_older_version_made_is_kept_where_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checks_strictly: bool
) -> None:
    older = of_an_older_version(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    flags = context.verify_flags & ~ssl.VERIFY_X509_STRICT
    context.verify_flags = flags | (ssl.VERIFY_X509_STRICT if checks_strictly else 0)
    monkeypatch.setattr(ssl, "create_default_context", lambda: context)
    assert older.usable() is not checks_strictly
    make_certificates(older)
    assert older.usable()


def test_what_is_not_there_is_not_usable(tmp_path: Path) -> None:
    assert not files(tmp_path).usable()
