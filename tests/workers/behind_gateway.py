"""Processes behind a real gateway, with the control side of the gateway's own tests."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.enrolment.credentials import CredentialKey
from tests.gateway.enrolment_site import ORG, soon
from tests.tls_certificates import make_certificate

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Running:
    """One of our processes, and its output."""

    process: subprocess.Popen[bytes]
    log: Path

    async def says(self, words: str) -> None:
        async def look() -> None:
            while words not in self.log.read_text():
                assert self.process.poll() is None, self.log.read_text()
                await asyncio.sleep(0.05)

        await soon(look())


@contextmanager
def running(log: Path, *argv: str) -> Iterator[Running]:
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", *argv],
            cwd=ROOT,
            stderr=file,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    try:
        yield Running(process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def gateway_settings(folder: Path, port: int, temporal: str, more: str = "") -> Path:
    """The settings of one gateway.

    Args:
        folder: The folder for the settings and a certificate; its authority is `ca.pem`.
        port: The port to listen on.
        temporal: Temporal's address.
        more: Sections besides `[temporal]`.
    """
    certificate = make_certificate(folder)
    secret = folder / "secret"
    secret.write_bytes(secrets.token_bytes(32))
    for private in (secret, certificate.key):
        private.chmod(0o600)
    CredentialKey.make(folder / "credentials.pem")
    settings = folder / "gateway.toml"
    settings.write_text(f"""
listen = "127.0.0.1:{port}"
certificate = "{certificate.file.name}"
key = "{certificate.key.name}"
secrets = ["secret"]
credential_keys = ["credentials.pem"]
orgs = ["{ORG}"]
[temporal]
address = "{temporal}"
{more}""")
    return settings
