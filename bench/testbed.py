"""A control plane and installs to measure, with the same processes as the end-to-end tests."""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import Client, WorkflowHandle

from bench.configs import write_config
from bench.histories import completed_activities
from contracts.deploys import Approval, DeployResult, Waiting, WaitingPlan
from contracts.installs import (
    DESCRIBE,
    DeployRequest,
    InstallInput,
    InstallStatus,
    RunStarted,
    SetInputs,
)
from contracts.names import CONTROL_QUEUE, install_workflow_id
from tests.e2e.plane import BIN, ROOT, EnrolledWorker, InstallWorker, Plane, until
from wire.connection import TemporalAddress, connect_once
from wire.encryption.key_settings import master_keys

__all__ = [
    "BIN",
    "ROOT",
    "Install",
    "InstallWorker",
    "Run",
    "Testbed",
    "approve",
    "testbed",
    "until",
]

Run = WorkflowHandle[object, DeployResult]


@dataclass
class Install:
    """An install with its own app and worker."""

    name: str
    client: Client
    worker: InstallWorker
    release: str

    @property
    def workflow(self) -> WorkflowHandle[object, object]:
        return self.client.get_workflow_handle(install_workflow_id(self.name))

    async def connected(self) -> None:
        """Wait until Install has read its release, and its worker has described itself."""
        async for name in completed_activities(self.workflow):
            if name == DESCRIBE.name:
                return

    async def set_round(self, component: str, value: str) -> None:
        """Make the next deploy plan this component."""
        await self.set_rounds([component], value)

    async def set_rounds(self, components: Iterable[str], value: str) -> None:
        """Make the next deploy plan these components."""
        change = SetInputs(values={f"{component}_round": value for component in components})
        await self.workflow.execute_update("set_inputs", change)

    async def deploy(self, update_id: str | None = None) -> Run:
        """Start a deploy of the release by the update on Install."""
        started = await self.workflow.execute_update(
            "deploy",
            DeployRequest(release=self.release),
            id=update_id,
            result_type=RunStarted,
        )
        return self.client.get_workflow_handle(
            started.workflow_id, run_id=started.run_id, result_type=DeployResult
        )

    async def status(self) -> InstallStatus:
        """Install's status, after it has handled all earlier messages."""
        found: InstallStatus = await self.workflow.query("status", result_type=InstallStatus)
        return found

    async def deploy_approved(self, plans: int = 1) -> Run:
        """Start a deploy, and approve so many plans as they appear."""
        run = await self.deploy()
        if plans:
            await approve(run, plans)
        return run


async def approve(run: Run, plans: int) -> None:
    """Approve so many plans of a run; queries the run only when its history has news."""
    approved: set[str] = set()
    async for _ in completed_activities(run):
        waiting = await run.query("waiting", result_type=Waiting)
        for plan in waiting.plans:
            if plan.digest not in approved:
                approval = Approval(digest=plan.digest, by="a measurement")
                await run.execute_update("approve", approval, result_type=WaitingPlan)
                approved.add(plan.digest)
        if len(approved) == plans:
            return
    raise RuntimeError(f"{run.id} ended with {len(approved)} of {plans} plans approved")


class Testbed:
    """`exclave dev` on free ports, with its own data folder."""

    def __init__(self, folder: Path, *, guarded: bool = False) -> None:
        self.folder = folder
        self.plane = Plane(folder, guarded=guarded)
        self._workers: list[InstallWorker] = []

    async def connect(self) -> Client:
        """A client connected to the control plane's Temporal like our own processes."""
        keys = self.plane.environment.get("EXCLAVE_KEYS") if self.plane.codec else None
        return await connect_once(
            TemporalAddress(self.plane.address, self.plane.namespace),
            master_keys(Path(keys)) if keys else None,
        )

    def worker(self, name: str, release: str | None = None) -> InstallWorker:
        """The worker of an install, not started.

        With a gateway, Install is started with this release, and the worker has its stack to enrol.
        """
        if self.plane.gateway is None:
            return InstallWorker(self.plane, name, self.folder)
        worker = EnrolledWorker(self.plane, name, self.folder)
        worker.apply_stack(name, release)
        return worker

    async def install(
        self,
        client: Client,
        name: str,
        components: Mapping[str, str],
        dependencies: Mapping[str, Sequence[str]] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Install:
        """Build an app of these components, and start its only install and the install's worker.

        Args:
            client: A client of the control plane's Temporal.
            name: The name of the app and of the install.
            components: As for `write_config`.
            dependencies: As for `write_config`.
            environment: Variables for the worker besides this process's own.
        """
        config = self.folder / f"config-{name}"
        write_config(config, components, dependencies)
        release = self.plane.build(name, config)
        worker = self.worker(name, release)
        worker.start(**(environment or {}))
        self._workers.append(worker)
        if self.plane.gateway is None:
            await client.start_workflow(
                "Install",
                InstallInput(install=name, app=name, release=release),
                id=install_workflow_id(name),
                task_queue=CONTROL_QUEUE,
            )
        install = Install(name, client, worker, release)
        await install.connected()
        return install

    def stop_workers(self) -> None:
        for worker in self._workers:
            worker.stop()


@contextlib.contextmanager
def testbed(*, guarded: bool = False) -> Iterator[Testbed]:
    """A running testbed. Its folder is removed afterwards, unless something failed.

    Args:
        guarded: Whether payloads are encrypted and workers connect through a gateway.
    """
    # Otherwise every workflow and every supervisor would compile its modules again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    folder = Path(tempfile.mkdtemp(prefix="exclave-bench-"))
    bed = Testbed(folder, guarded=guarded)
    try:
        bed.plane.start()
        with contextlib.ExitStack() as ending:
            ending.callback(bed.plane.stop)
            ending.callback(bed.stop_workers)
            yield bed
    except BaseException:
        print(f"The logs of this run are kept in {folder}", file=sys.stderr)
        raise
    shutil.rmtree(folder)
