"""The gateway's main program: the process with credentials, enrolment and access put together.

    exclave-gateway gateway.toml

It serves only once it knows who may pass. While Temporal is away, it uses what it last read.
"""

# First of all, since this module sets environment variables that gRPC reads when it is imported.
from workers.gateway import Admission, run  # isort: split

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from starlette.routing import BaseRoute
from temporalio.client import Client
from temporalio.service import TLSConfig

from gateway.audit import Audit
from gateway.enrolment.access import AccessOfOrgs, AccessWatch
from gateway.enrolment.credentials import CredentialKey, CredentialKeyUnusable, GatewayCredentials
from gateway.enrolment.routes import Enrolment
from gateway.rpc.upstream import TemporalFrontend
from gateway.settings import GatewaySettings, SettingsError
from gateway.telemetry.store import StoreUnusable
from wire.connection import TemporalAddress, connect
from wire.encryption.key_files import KeyFileError
from wire.encryption.key_ring import KeyRing, worker_ring
from wire.encryption.keys import WorkerKeys
from wire.encryption.subjects import ACCESS
from workers.version_flag import add_version_flag


def main() -> None:
    """Serve until a signal comes."""
    parser = argparse.ArgumentParser(
        prog="exclave-gateway", description="The only door for workers in customers' accounts."
    )
    add_version_flag(parser)
    parser.add_argument("settings", type=Path, help="gateway.toml")
    try:
        settings = GatewaySettings.read(parser.parse_args().settings)
    except SettingsError as error:
        parser.exit(1, f"exclave-gateway: {error}\n")
    run(settings, admit)


@asynccontextmanager
async def admit(settings: GatewaySettings) -> AsyncIterator[Admission]:
    """Open all that decides who may come in; ready once the org's Access was read.

    Raises:
        SettingsError: a file that the settings name cannot be used.
    """
    try:
        keys = [CredentialKey.read(path) for path in settings.credential_keys]
        readable = _payload_keys(settings)
    except (CredentialKeyUnusable, KeyFileError) as error:
        raise SettingsError(str(error)) from error
    credentials = GatewayCredentials(keys)
    frontend = settings.door().frontend
    clients = {org: await _connected(frontend, org, readable.get(org)) for org in settings.orgs}
    watches = [AccessWatch(client) for client in clients.values()]
    running = [asyncio.create_task(one.run(), name=f"access of {one.org}") for one in watches]
    try:
        await asyncio.gather(*(one.ready() for one in watches))
        access, audit = AccessOfOrgs(watches), Audit()
        routes: list[BaseRoute] = [*Enrolment(access, credentials).routes()]
        async with AsyncExitStack() as serving:
            if settings.artifacts is not None:
                # The lists of installs' releases are not encrypted, so no key is needed.
                asking = {org: await _connected(frontend, org, None) for org in settings.orgs}
                secrets = settings.read_secrets()
                pulls = settings.artifacts.serving(credentials, access, audit, asking, secrets)
                routes += await serving.enter_async_context(pulls)
            if settings.telemetry is not None:
                intake = settings.telemetry.serving(credentials, access, audit)
                routes += await serving.enter_async_context(intake)
            yield Admission(credentials, access, routes, audit)
    except (OSError, StoreUnusable) as error:
        raise SettingsError(f"[artifacts] or [telemetry]: {error}") from error
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class _Fixed:
    """A credential for Temporal that is never renewed."""

    def __init__(self, token: str) -> None:
        self.token = token

    def attach(self, client: Client) -> None:
        """Nothing to do: the credential never changes."""

    async def renew(self) -> None:
        """Nothing to do: there is no other credential."""


def _payload_keys(settings: GatewaySettings) -> dict[str, KeyRing]:
    """By org, the keys that read its Access workflow.

    Raises:
        KeyFileError: a file cannot be used.
    """
    found: dict[str, KeyRing] = {}
    for path in settings.payload_keys:
        keys = WorkerKeys.read(path)
        if keys.subject != ACCESS:
            raise KeyFileError(
                f"{path} contains the keys of {keys.subject}, which a gateway cannot use; make the "
                "file with: exclave keys gateway"
            )
        found[keys.namespace] = worker_ring(path)
    return found


async def _connected(frontend: TemporalFrontend, org: str, keys: KeyRing | None) -> Client:
    tls: TLSConfig | bool = frontend.tls
    if frontend.tls and (frontend.ca or frontend.certificate):
        tls = TLSConfig(
            server_root_ca_cert=frontend.ca,
            client_cert=frontend.certificate,
            client_private_key=frontend.key,
        )
    credential = _Fixed(frontend.api_key) if frontend.api_key else None
    return await connect(TemporalAddress(frontend.address, org, tls, credential), keys)


if __name__ == "__main__":
    main()
