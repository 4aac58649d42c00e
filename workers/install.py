"""The install worker: one per install, in the customer's account, started with a single file.

    exclave-worker enrolment.toml

The command is `workers.exclave_worker`.

It only makes outgoing connections: to the gateway, or, without one, to Temporal for its own queue
and to the registry of releases.
"""

import argparse
import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from temporalio.client import Client
from temporalio.worker import PollerBehaviorSimpleMaximum, Worker

from activities.customer.guard import CustomersGuard
from activities.customer.rules import Rules, rules_of
from activities.engines import Engine, specs
from activities.heartbeats import cancelled_by_person
from activities.installs.description import DescribeActivities, features
from activities.interceptor import ActivityInterceptor
from activities.operations.opening import Operations
from activities.operations.stop_activity import StopActivities
from activities.spans import Tracer
from activities.unregistered import refuse_unknown
from activities.workplace import Workplace
from contracts.engines import only_copies
from contracts.names import install_queue
from stacks.enrolment import Enrolment, EnrolmentError
from store.install_state import InstallState
from store.machine import Machine
from store.opening import open_store
from store.pausing import is_paused
from store.reserve import keep_reserve
from wire.encryption.unreadable import Readable
from wire.enrolment.worker_identity import IdentityUnusable
from wire.network.egress import ProxyUnusable, except_this_machine
from wire.network.trust import Trust, TrustUnusable
from workers.engines import ENGINES
from workers.gateway_access import reach
from workers.lazy_activities import activities_of_runs
from workers.process import DRAIN_TIMEOUT, Settings, nothing, run
from workers.store_check import usable
from workers.tracing import tracing_of
from workers.version_flag import add_version_flag

if TYPE_CHECKING:
    from activities.releases.reader import ReleaseReader
    from artifacts.registry import Registry

_SLOTS = 100
"""Activities at a time; many of them may only be waiting for a lease or a lock."""

_HEARTBEAT_THROTTLE = timedelta(seconds=5)
"""By default the SDK sends heartbeats at 0.8 of their timeout, too late for a busy machine."""

_log = logging.getLogger(__name__)


def main(engines: tuple[Engine, ...] = ENGINES) -> None:
    """Run until a signal ends the process.

    Args:
        engines: The engines that it deploys with.
    """
    parser = argparse.ArgumentParser(
        prog="exclave-worker",
        description="Serve one install, from within the customer's account.",
        epilog="example: cd /var/lib/exclave && exclave-worker /etc/exclave/enrolment.toml",
    )
    add_version_flag(parser)
    parser.add_argument("enrolment", type=Path, help="the enrolment file that the stack wrote")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(),
        help="the worker's own folder, on a local disk (default: the current folder)",
    )
    parser.add_argument(
        "--policy",
        type=Path,
        help="the customer's policy (default: policy.toml beside the enrolment file, if it exists)",
    )
    settings = parser.parse_args()
    try:
        enrolment = Enrolment.read(settings.enrolment)
    except EnrolmentError as error:
        parser.exit(1, f"exclave-worker: {error}\n")
    os.umask(0o077)
    data = settings.data.resolve()
    try:
        except_this_machine()
        control = reach(enrolment, settings.enrolment, data)
        Trust.read(enrolment.ca_bundle).spread(data / "trust")
    except (IdentityUnusable, TrustUnusable, ProxyUnusable) as error:
        parser.exit(1, f"exclave-worker: {error}\n")
    rules = rules_of(settings.enrolment, settings.policy)
    workplace = open_workplace(enrolment, data, control.releases, rules, engines)

    tracing = tracing_of(control, "exclave-worker", rules.allows_traces)

    async def ready() -> None:
        within_reach = await asyncio.to_thread(rules.why_not_out_of_reach)
        if within_reach:
            _log.warning("A release's code could change the customer's policy: %s.", within_reach)
        await asyncio.to_thread(keep_reserve, data)
        await control.ready()
        await usable(workplace.store)

    run(
        control.temporal,
        lambda client: make(client, workplace, control.learn_keys, tracing),
        Settings(
            before=ready,
            keys=control.keys,
            interrupt=workplace.operations.interrupt_all,
            after=tracing.leave if tracing else nothing,
            paused=partial(is_paused, data),
        ),
    )


def open_workplace(
    enrolment: Enrolment,
    data: Path,
    releases: "Callable[[], Registry]",
    rules: Rules,
    engines: tuple[Engine, ...] = ENGINES,
) -> Workplace:
    """The install's store and tools, in the worker's data folder.

    Args:
        enrolment: The worker's enrolment.
        data: The worker's data folder.
        releases: Opens the registry of releases; called for the first release.
        rules: What the customer allows.
        engines: The engines that deploy components here.
    """

    def open_releases() -> "ReleaseReader":
        # Imported with the first task of a run, like the engines (`workers.lazy_activities`).
        from activities.releases.reader import ReleaseReader  # noqa: PLC0415

        return ReleaseReader(releases(), data / "releases", only_copies(specs(engines)))

    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    described = enrolment.store_description(data)
    store = open_store(described)
    return Workplace(
        install=enrolment.install,
        org=enrolment.namespace,
        data=data,
        store=store,
        state=InstallState(store, enrolment.install, enrolment.namespace),
        operations=Operations(
            store,
            described,
            data,
            Machine.here(data),
            lambda waits: _log.info("%s", waits),
            cancelled_by_person=cancelled_by_person,
        ),
        open_releases=open_releases,
        engines=engines,
        rules=rules,
    )


def make(
    client: Client,
    workplace: Workplace,
    learn_keys: Callable[[], Awaitable[None]],
    tracer: Tracer | None = None,
) -> Worker:
    """The worker on a connected client."""
    return Worker(
        client,
        task_queue=install_queue(workplace.install),
        activities=[
            DescribeActivities(workplace.rules, workplace.engines).describe,
            StopActivities(workplace).stop,
            refuse_unknown,
            *activities_of_runs(workplace),
        ],
        interceptors=[
            Readable(learn_keys),
            ActivityInterceptor(
                features(workplace.engines), workplace.install, CustomersGuard(workplace), tracer
            ),
        ],
        max_concurrent_activities=_SLOTS,
        # One poll, since a frontend allows 1,200 of a kind for all workers of a namespace.
        activity_task_poller_behavior=PollerBehaviorSimpleMaximum(1),
        max_heartbeat_throttle_interval=_HEARTBEAT_THROTTLE,
        graceful_shutdown_timeout=DRAIN_TIMEOUT,
    )
