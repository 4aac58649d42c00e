"""Where the story takes place: its own control plane, and the machine of one customer."""

import asyncio
import contextlib
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from exclave.dev.data import PidFile, hold
from exclave.dev.declaration import Address, Declaration, read_declaration
from exclave.dev.programs import ROOT, Program
from exclave.dev.supervisor import Supervisor

EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Stage:
    """The folders and addresses of a story."""

    declaration: Declaration
    folder: Path
    """It contains all data of the story."""

    @property
    def logs(self) -> Path:
        """A log file for each process."""
        return self.folder / "logs"

    @property
    def vendor(self) -> Path:
        """The vendor's machine: copies of app configs."""
        return self.folder / "vendor"

    def customer(self, install: str) -> Path:
        """The customer's machine: the stack that was applied, and the worker's data folder."""
        return self.folder / "customer" / install

    @property
    def ui(self) -> str:
        """The Temporal UI's address."""
        return f"http://{self.declaration.temporal.ui}/namespaces/{self.declaration.namespace}"


@contextlib.contextmanager
def empty_stage(folder: Path, *, usual_ports: bool = True) -> Iterator[tuple[Stage, PidFile, int]]:
    """A fresh stage; the data of an earlier story is removed.

    Args:
        folder: It will contain all data of the story.
        usual_ports: Whether to use the ports of `exclave dev` if they are free. Several stages that
            are prepared at the same time would all find them free.

    Raises:
        DataFolderInUse: another story is running there.
        DeclarationError: the declaration cannot be used.
    """
    declared = read_declaration(ROOT / "temporal-dev.yaml")
    folder = folder.absolute()
    with hold(folder) as (pids, lock):
        for left in folder.iterdir():
            if left.name not in {"lock", "pids.json"}:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        stage = Stage(_elsewhere(declared, folder / "plane", usual_ports), folder)
        for made in (stage.logs, stage.vendor, stage.declaration.data):
            made.mkdir(parents=True)
        yield stage, pids, lock


def _elsewhere(declared: Declaration, data: Path, usual_ports: bool) -> Declaration:
    """The same control plane with other data folders, at free ports."""

    def free(address: Address) -> Address:
        return _first_free(address.host, (address.port, 0) if usual_ports else (0,))

    temporal = declared.temporal.model_copy(
        update={
            "address": free(declared.temporal.address),
            "ui": free(declared.temporal.ui),
            "database": data / declared.temporal.database.name,
        }
    )
    registry = declared.registry.model_copy(
        update={
            "push": free(declared.registry.push),
            "pull": free(declared.registry.pull),
        }
    )
    return declared.model_copy(
        update={
            "data": data,
            "temporal": temporal,
            "registry": registry,
            "gateway": free(declared.gateway) if declared.gateway else None,
            "codec": free(declared.codec) if declared.codec else None,
        }
    )


def _first_free(host: str, ports: tuple[int, ...]) -> Address:
    """The first of these ports that is free; 0 stands for any free port."""
    for port in ports:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            return Address(host=host, port=probe.getsockname()[1])
    raise OSError(f"no port is free on {host}")


@contextlib.asynccontextmanager
async def control_plane(
    stage: Stage, pids: PidFile, lock: int, say: Callable[[str], None]
) -> AsyncIterator[tuple[Supervisor, "asyncio.Task[None]"]]:
    """The stage's control plane, once it is up; drained afterwards.

    Yields:
        The control plane, and a task that ends when it ends: by a signal, or by a failure.

    Raises:
        FailedToStart: a process could not be started.
    """
    supervisor = Supervisor(stage.declaration, pids, lock, say, logs=stage.logs)
    running = asyncio.create_task(supervisor.run())
    up = asyncio.create_task(supervisor.up.wait())
    try:
        await asyncio.wait({running, up}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        yield supervisor, running
    finally:
        up.cancel()
        supervisor.stop()
        await running


def install_worker(stage: Stage, install: str, stack: Path) -> Program:
    """The customer's install worker, which needs only its stack; here without systemd."""
    data = stage.customer(install) / "data"
    data.mkdir(mode=0o700, exist_ok=True)
    worker = Path(sys.executable).with_name("exclave-worker")
    return replace(
        Program(
            name=f"install-{install}",
            title=f"install worker of {install}",
            argv=(str(worker), str(stack / "enrolment.toml"), "--data", str(data)),
            works=True,
        ),
        log=stage.logs / f"install-{install}.log",
        folder=data,
    )


def lay_over(changes: str, config: Path) -> None:
    """Change an app config as a vendor would: copy the example's changes over it."""
    source = EXAMPLES / "changes" / changes
    removed = source / "removed.txt"
    for line in removed.read_text().split() if removed.exists() else ():
        gone = config / line
        shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    shutil.copytree(
        source, config, dirs_exist_ok=True, ignore=shutil.ignore_patterns("removed.txt")
    )
