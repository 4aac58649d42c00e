"""The gateway's process with what tells who may come in: credentials, enrolment, access.

    exclave-gateway gateway.toml

It serves only once it knows who may pass, and goes on by what it knew while Temporal is away.
"""

# First of all: gRPC reads environment variables as it is imported, which this one sets.
from workers.gateway import Admission, run  # isort: split

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.client import Client
from temporalio.service import TLSConfig

from gateway.access import AccessOfOrgs, AccessWatch
from gateway.credentials import CredentialKey, CredentialKeyUnusable, GatewayCredentials
from gateway.enrolment import Enrolment
from gateway.settings import GatewaySettings, SettingsError
from gateway.upstream import TemporalFrontend
from wire.connection import TemporalAddress, connect


def main() -> None:
    """Serve until told to leave."""
    parser = argparse.ArgumentParser(
        prog="exclave-gateway", description="The only door for workers in customers' accounts."
    )
    parser.add_argument("settings", type=Path, help="gateway.toml")
    try:
        settings = GatewaySettings.read(parser.parse_args().settings)
    except SettingsError as error:
        parser.exit(1, f"exclave-gateway: {error}\n")
    run(settings, admit)


@asynccontextmanager
async def admit(settings: GatewaySettings) -> AsyncIterator[Admission]:
    """What tells who may come in; it serves only once it knows who may.

    Raises:
        SettingsError: a credential key cannot be used.
    """
    try:
        keys = [CredentialKey.read(path) for path in settings.credential_keys]
    except CredentialKeyUnusable as error:
        raise SettingsError(str(error)) from error
    credentials = GatewayCredentials(keys)
    frontend = settings.door().frontend
    watches = [AccessWatch(await _connected(frontend, org)) for org in settings.orgs]
    running = [asyncio.create_task(one.run(), name=f"access of {one.org}") for one in watches]
    try:
        await asyncio.gather(*(one.ready() for one in watches))
        access = AccessOfOrgs(watches)
        yield Admission(credentials, access, Enrolment(access, credentials).routes())
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class _Fixed:
    """A credential for Temporal that is never renewed."""

    def __init__(self, token: str) -> None:
        self.token = token

    def attach(self, client: Client) -> None:
        """It stays as it is."""


async def _connected(frontend: TemporalFrontend, org: str) -> Client:
    tls: TLSConfig | bool = frontend.tls
    if frontend.tls and (frontend.ca or frontend.certificate):
        tls = TLSConfig(
            server_root_ca_cert=frontend.ca,
            client_cert=frontend.certificate,
            client_private_key=frontend.key,
        )
    credential = _Fixed(frontend.api_key) if frontend.api_key else None
    return await connect(TemporalAddress(frontend.address, org, tls, credential))


if __name__ == "__main__":
    main()
