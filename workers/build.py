"""The build worker: one per org, in the control plane; it turns sources into releases."""

import argparse
from pathlib import Path

from temporalio.client import Client
from temporalio.worker import Worker

from activities.boundary import Boundary
from activities.build.release import BuildActivities
from artifacts.registry import Registry
from contracts.names import BUILD_QUEUE
from wire.connection import TemporalAddress
from wire.unreadable import Readable
from workers.flags import add_keys_flag, keys_of
from workers.process import DRAIN_TIMEOUT, Settings, run


def main() -> None:
    """Run until told to leave."""
    parser = argparse.ArgumentParser(prog="workers.build", description=__doc__)
    parser.add_argument("--address", help="Temporal's host:port (default: as temporal.toml says)")
    parser.add_argument("--namespace", help="the org")
    parser.add_argument("--registry", required=True, help="URL of the OCI registry, to push to")
    parser.add_argument("--data", required=True, type=Path, help="a folder of its own")
    add_keys_flag(parser)
    settings = parser.parse_args()
    where = TemporalAddress.from_environment(settings.address, settings.namespace)
    keys = keys_of(parser, settings)
    run(
        where,
        lambda client: make(client, settings.registry, settings.data),
        Settings(keys=lambda: keys),
    )


def make(client: Client, registry: str, data: Path) -> Worker:
    """The worker on a connected client."""
    build = BuildActivities(Registry(registry), data)
    return Worker(
        client,
        task_queue=BUILD_QUEUE,
        activities=[build.check, build.pack, build.assemble],
        interceptors=[Readable(), Boundary()],
        graceful_shutdown_timeout=DRAIN_TIMEOUT,
    )


if __name__ == "__main__":
    main()
