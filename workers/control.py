"""The control worker: every workflow, and the activities that read the control plane."""

import argparse

from temporalio.client import Client
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from activities.boundary import Boundary
from activities.installs.runs import InstallRuns
from activities.installs.schedules import ScheduleActivities
from activities.installs.stack import StackActivities, WorkerAddresses
from activities.releases.read import ReleaseActivities
from artifacts.registry import Registry
from contracts.names import CONTROL_QUEUE
from wire.arguments import ArgumentCount
from wire.connection import TemporalAddress
from workers.process import DRAIN_TIMEOUT, run
from workflows.access import Access
from workflows.action import Action
from workflows.build import Build
from workflows.deploy import Deploy
from workflows.deprovision import Deprovision
from workflows.install import Install
from workflows.provision import Provision
from workflows.unknown import Unknown

_ACTIVITIES = 10_000
"""At a time: a look at a run that holds a turn takes a slot for as long as another run waits, which
may be weeks, and needs nothing else."""

WORKFLOWS = (Build, Install, Provision, Deploy, Deprovision, Action, Access, Unknown)

SANDBOX = SandboxedWorkflowRunner(
    restrictions=SandboxRestrictions.default.with_passthrough_modules(
        # None of these holds state: to execute them anew for each run would cost more than the run.
        # That they call no clock, no randomness and no I/O is held in their source, by
        # tests/workflows/test_determinism.py.
        "contracts",
        "apps",
        "workflows",
        "pydantic",
        "pydantic_core",
        "annotated_types",
    )
)


def main() -> None:
    """Run until told to leave."""
    parser = argparse.ArgumentParser(prog="workers.control", description=__doc__)
    parser.add_argument("--address", help="Temporal's host:port (default: as temporal.toml says)")
    parser.add_argument("--namespace", help="the org")
    parser.add_argument("--releases", required=True, help="URL of the OCI registry")
    parser.add_argument(
        "--worker-temporal",
        required=True,
        help="HOST:PORT that workers in customers' accounts dial for their tasks",
    )
    parser.add_argument(
        "--worker-releases",
        required=True,
        help="URL that workers in customers' accounts pull releases from",
    )
    settings = parser.parse_args()
    where = TemporalAddress.from_environment(settings.address, settings.namespace)
    addresses = WorkerAddresses(settings.worker_temporal, settings.worker_releases)
    run(where, lambda client: make(client, settings.releases, addresses))


def make(client: Client, releases: str, addresses: WorkerAddresses) -> Worker:
    """The worker on a connected client.

    Args:
        client: Connected to the org's namespace.
        releases: The URL of the registry.
        addresses: What the stacks of installs name.
    """
    runs = InstallRuns(client)
    return Worker(
        client,
        task_queue=CONTROL_QUEUE,
        workflows=WORKFLOWS,
        workflow_runner=SANDBOX,
        activities=[
            runs.open_runs,
            runs.watch_run,
            ReleaseActivities(Registry(releases)).read,
            ScheduleActivities(client).set_schedules,
            StackActivities(addresses, client.namespace).render,
        ],
        interceptors=[ArgumentCount(), Boundary()],
        max_concurrent_activities=_ACTIVITIES,
        graceful_shutdown_timeout=DRAIN_TIMEOUT,
    )


if __name__ == "__main__":
    main()
