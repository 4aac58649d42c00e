"""Serves an ASGI app on a loopback port that the system chooses, for as long as a block runs."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.tls_certificates import key_usage


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate, trusted only by those who are told to."""

    file: Path
    key: Path


def make_certificate(folder: Path) -> Certificate:
    """A certificate for 127.0.0.1, written into a folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    address = x509.IPAddress(ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(key_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    found = Certificate(folder / "certificate.pem", folder / "key.pem")
    found.file.write_bytes(made.public_bytes(Encoding.PEM))
    found.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return found


@contextmanager
def served(app: ASGIApp, certificate: Certificate | None = None) -> Iterator[str]:
    """The address of the app, which accepts connections at once; https if given a certificate."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        # From here on connections queue up, so nobody needs to wait until the server runs.
        listener.listen(64)
        config = uvicorn.Config(
            app,
            log_level="critical",
            lifespan="off",
            access_log=False,
            ssl_certfile=certificate.file if certificate else None,
            ssl_keyfile=certificate.key if certificate else None,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            scheme = "https" if certificate else "http"
            yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class Cut:
    """Breaks the connection of each of the first answers to `GET …/blobs/…` after some bytes."""

    def __init__(self, app: ASGIApp, *, after: int, times: int) -> None:
        self.app = app
        self.after = after
        self.left = times
        self.ranges: list[str | None] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or "/blobs/" not in scope["path"]:
            await self.app(scope, receive, send)
            return
        self.ranges.append(dict(scope["headers"]).get(b"range", b"").decode() or None)
        budget = self.after if self.left > 0 else None
        self.left -= 1

        async def cutting(message: Message) -> None:
            nonlocal budget
            if budget is not None and message["type"] == "http.response.body":
                body = message.get("body", b"")[:budget]
                budget -= len(body)
                await send({"type": "http.response.body", "body": body, "more_body": True})
                if budget == 0:
                    raise ConnectionAbortedError("cut by the test")
            else:
                await send(message)

        await self.app(scope, receive, cutting)
