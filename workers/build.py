"""The build worker: one per org; it turns sources into releases.

    exclave-build-worker enrolment.toml --data DIR

It only makes outgoing connections, to the gateway: it polls its queue, pulls and pushes there. In
development it may also connect to Temporal and the registry directly, without encrypted payloads.
"""

import argparse
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import Client
from temporalio.worker import PollerBehaviorSimpleMaximum, Worker

from activities.build.release import BuildActivities
from activities.interceptor import ActivityInterceptor
from activities.spans import Tracer
from artifacts.registry import Registry
from contracts.engines import ENGINES, EngineSpec
from contracts.names import BUILD_QUEUE
from stacks.enrolment import BuildEnrolment, EnrolmentError
from wire.connection import TemporalAddress
from wire.encryption.keys import Keys
from wire.encryption.unreadable import Readable
from wire.enrolment.worker_identity import IdentityUnusable
from wire.network.egress import ProxyUnusable, except_this_machine
from wire.network.trust import Trust, TrustUnusable
from workers.gateway_access import reach_through_gateway
from workers.process import DRAIN_TIMEOUT, Settings, nothing, run
from workers.tracing import Tracing, tracing_of
from workers.version_flag import add_version_flag


@dataclass(frozen=True)
class _Way:
    """How to reach the control plane."""

    temporal: TemporalAddress
    registry: Registry
    keys: Callable[[], Keys | None]
    ready: Callable[[], Awaitable[None]] = nothing
    learn_keys: Callable[[], Awaitable[None]] = nothing
    tracing: Tracing | None = None


def main(engines: Sequence[EngineSpec] = ENGINES) -> None:
    """Run until a signal ends the process.

    Args:
        engines: The engines that may deploy its releases.
    """
    parser = argparse.ArgumentParser(
        prog="exclave-build-worker",
        description="Build the releases of one org.",
        epilog="example: cd /var/lib/exclave && exclave-build-worker /etc/exclave/enrolment.toml",
    )
    add_version_flag(parser)
    parser.add_argument(
        "enrolment",
        type=Path,
        nargs="?",
        help="the enrolment file, made by: exclave access build-worker DIR",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(),
        help="the worker's own folder, on a local disk (default: the current folder)",
    )
    direct = parser.add_argument_group("without a gateway, within the control plane")
    direct.add_argument("--address", help="Temporal's host:port (default: as temporal.toml says)")
    direct.add_argument("--namespace", help="the org")
    direct.add_argument("--registry", help="URL of the OCI registry, to push to")
    settings = parser.parse_args()
    os.umask(0o077)
    data = settings.data.resolve()
    if settings.enrolment is None:
        way = _direct(parser, settings)
    elif any((settings.address, settings.namespace, settings.registry)):
        parser.error("with an enrolment file, only --data may be given as well")
    else:
        way = _through_gateway(parser, settings.enrolment, data)
    run(
        way.temporal,
        lambda client: make(
            client, BuildActivities(way.registry, data, engines), way.learn_keys, way.tracing
        ),
        Settings(
            before=way.ready, keys=way.keys, after=way.tracing.leave if way.tracing else nothing
        ),
    )


def _direct(parser: argparse.ArgumentParser, settings: argparse.Namespace) -> _Way:
    if settings.registry is None:
        parser.error("name an enrolment file, or, without a gateway, --registry")
    where = TemporalAddress.from_environment(settings.address, settings.namespace)
    return _Way(where, Registry(settings.registry, keeps=True), lambda: None)


def _through_gateway(parser: argparse.ArgumentParser, file: Path, data: Path) -> _Way:
    try:
        enrolment = BuildEnrolment.read(file)
        except_this_machine()
        trust = Trust.read(enrolment.ca_bundle)
        control = reach_through_gateway(enrolment, file, data, trust)
        trust.spread(data / "trust")
    except (EnrolmentError, IdentityUnusable, TrustUnusable, ProxyUnusable) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    return _Way(
        control.temporal,
        control.releases(),
        control.keys,
        control.ready,
        control.learn_keys,
        tracing_of(control, "exclave-build-worker"),
    )


def make(
    client: Client,
    build: BuildActivities,
    learn_keys: Callable[[], Awaitable[None]],
    tracer: Tracer | None = None,
) -> Worker:
    """The worker on a connected client."""
    return Worker(
        client,
        task_queue=BUILD_QUEUE,
        activities=[build.check, build.pack, build.assemble],
        interceptors=[Readable(learn_keys), ActivityInterceptor(tracer=tracer)],
        # All build workers of an org share one identity, and the gateway limits its polls.
        activity_task_poller_behavior=PollerBehaviorSimpleMaximum(1),
        graceful_shutdown_timeout=DRAIN_TIMEOUT,
    )


if __name__ == "__main__":
    main()
