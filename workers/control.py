"""The control worker: every workflow, and the activities that read the control plane."""

import argparse
import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from activities.access.activities import AccessActivities, PayloadKeys, no_payload_keys
from activities.access.authority import EnrolmentAuthority, EnrolmentKey, EnrolmentKeyUnusable
from activities.installs.runs import InstallRuns
from activities.installs.schedules import ScheduleActivities
from activities.installs.stack import StackActivities, WorkerAddresses
from activities.interceptor import ActivityInterceptor
from activities.proofs import KeyProofs
from activities.releases.read import ReleaseActivities
from artifacts.registry import Registry
from contracts.access import AccessInput, TokenKeys
from contracts.engines import ENGINES, EngineSpec, by_type
from contracts.names import CONTROL_QUEUE, access_workflow_id
from wire.arguments import ArgumentCount
from wire.connection import TemporalAddress, delays
from wire.encryption.key_settings import keys_for_worker
from wire.encryption.unreadable import Readable
from wire.network.gateway_address import GatewayAddress, NoGatewayAddress
from workers.attributes_check import has_attributes
from workers.flags import add_keys_flag, keys_of
from workers.process import Settings, run
from workflows.access import Access
from workflows.action import Action
from workflows.build import Build
from workflows.deploy import Deploy
from workflows.deprovision import Deprovision
from workflows.install import Install
from workflows.provision import Provision
from workflows.runs.install_run import InstallRun
from workflows.unknown import Unknown

_log = logging.getLogger(__name__)

_ACTIVITIES = 10_000
"""Activities at a time. While a run waits for its turn, watching the run that holds it takes a
slot, perhaps for weeks, but nothing else."""

_DRAIN_TIMEOUT = timedelta(seconds=5)
"""Short, since nothing here runs a tool, and another control worker goes on watching runs."""
_STICKY = timedelta(seconds=2)
"""How long a run's task waits for the worker that has the run in memory. If that worker was killed,
an approval takes effect only after this time, by default 10 s. If it were very short, runs of a
busy worker would be replayed elsewhere."""
_LEAVES_WITHIN_SECONDS = 10.0
"""Limits the drain, since a run whose workflow tasks keep failing would prolong it for ever."""

WORKFLOWS = (Build, Install, Provision, Deploy, Deprovision, Action, Access, Unknown)

SANDBOX = SandboxedWorkflowRunner(
    restrictions=SandboxRestrictions.default.with_passthrough_modules(
        # These hold no state, and executing them again for each run would cost more than the run.
        # tests/workflows/test_determinism.py checks in their source that they use no clock, no
        # randomness and no I/O.
        "contracts",
        "apps",
        "workflows",
        "pydantic",
        "pydantic_core",
        "annotated_types",
    )
)


def main(engines: Sequence[EngineSpec] = ENGINES) -> None:
    """Run until a signal ends the process.

    Args:
        engines: The engines that runs deploy with.
    """
    parser = argparse.ArgumentParser(prog="workers.control", description=__doc__)
    parser.add_argument("--address", help="Temporal's host:port (default: as temporal.toml says)")
    parser.add_argument("--namespace", help="the org")
    parser.add_argument("--releases", required=True, help="URL of the OCI registry")
    parser.add_argument(
        "--worker-temporal",
        help="HOST:PORT of Temporal, as workers in customers' accounts dial it",
    )
    parser.add_argument(
        "--worker-releases",
        help="URL from which workers in customers' accounts pull releases",
    )
    parser.add_argument(
        "--worker-gateway",
        help="URL of the gateway, through which workers reach both; needs --enrolment-key",
    )
    parser.add_argument(
        "--worker-gateway-ca",
        type=Path,
        help="PEM file of the gateway's authority (default: the worker's system authorities)",
    )
    parser.add_argument(
        "--enrolment-key",
        type=Path,
        action="append",
        default=[],
        help="file with a key that checks enrolment tokens; the first one also makes them",
    )
    add_keys_flag(parser)
    settings = parser.parse_args()
    keys = keys_of(parser, settings)
    InstallRun.engines = by_type(engines)
    where = TemporalAddress.from_environment(settings.address, settings.namespace)
    try:
        authority = _authority(settings.enrolment_key)
        addresses = _addresses(settings, authority)
    except (EnrolmentKeyUnusable, NoGatewayAddress, OSError) as error:
        parser.exit(1, f"workers.control: {error}\n")
    run(
        where,
        lambda client: make(
            client,
            settings.releases,
            addresses,
            authority,
            partial(keys_for_worker, client.namespace, file=settings.keys),
        ),
        Settings(
            before=partial(has_attributes, where),
            keys=lambda: keys,
            leaves_within_seconds=_LEAVES_WITHIN_SECONDS,
            connected=partial(publish_token_keys, authority=authority) if authority else None,
        ),
    )


async def publish_token_keys(client: Client, authority: EnrolmentAuthority) -> None:
    """Send the keys that check enrolment tokens to the org's Access workflow, for its gateways."""
    for delay in delays():
        try:
            await client.start_workflow(
                "Access",
                AccessInput(org=client.namespace),
                id=access_workflow_id(client.namespace),
                task_queue=CONTROL_QUEUE,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                start_signal="token_keys",
                start_signal_args=[TokenKeys(keys=authority.token_keys)],
                static_summary="which workers may pass the gateway",
            )
        except RPCError as error:
            _log.warning("The gateways do not know the enrolment keys yet: %s", error)
            await asyncio.sleep(delay)
        else:
            return


def _authority(keys: list[Path]) -> EnrolmentAuthority | None:
    return EnrolmentAuthority([EnrolmentKey.read(path) for path in keys]) if keys else None


def _addresses(
    settings: argparse.Namespace, authority: EnrolmentAuthority | None
) -> WorkerAddresses:
    if settings.worker_gateway is None:
        if settings.worker_temporal is None or settings.worker_releases is None:
            raise NoGatewayAddress(
                "name --worker-gateway, or --worker-temporal and --worker-releases"
            )
        return WorkerAddresses(settings.worker_temporal, settings.worker_releases)
    if authority is None:
        raise NoGatewayAddress("--worker-gateway needs --enrolment-key: workers enrol there")
    ca = settings.worker_gateway_ca
    gateway = GatewayAddress.parse(settings.worker_gateway, ca.read_text() if ca else None)
    return WorkerAddresses.behind(gateway, authority.public)


def make(
    client: Client,
    releases: str,
    addresses: WorkerAddresses,
    authority: EnrolmentAuthority | None = None,
    payload_keys: PayloadKeys = no_payload_keys,
) -> Worker:
    """The worker on a connected client.

    Args:
        client: Connected to the org's namespace.
        releases: The URL of the registry.
        addresses: The addresses for the stacks of installs.
        authority: The enrolment keys, if workers enrol at this control plane.
        payload_keys: Gives the payload keys for a worker that enrols.
    """
    runs, read = InstallRuns(client), ReleaseActivities(Registry(releases))
    access = AccessActivities(
        authority,
        client.namespace,
        payload_keys=payload_keys,
        build_enrolment=addresses.build_enrolment(client.namespace),
    )
    return Worker(
        client,
        task_queue=CONTROL_QUEUE,
        workflows=WORKFLOWS,
        workflow_runner=SANDBOX,
        activities=[
            runs.open_runs,
            runs.watch_run,
            read.read,
            ScheduleActivities(client, read.config).set_schedules,
            StackActivities(addresses, client.namespace).render,
            access.verify_enrolment,
            access.mint_token,
            KeyProofs(client).prove,
        ],
        interceptors=[ArgumentCount(), Readable(), ActivityInterceptor()],
        max_concurrent_activities=_ACTIVITIES,
        graceful_shutdown_timeout=_DRAIN_TIMEOUT,
        sticky_queue_schedule_to_start_timeout=_STICKY,
    )


if __name__ == "__main__":
    main()
