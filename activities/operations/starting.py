"""Starts the supervisor of a run: a process in its own session, which outlives the worker."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from activities.operations.file_lock import Lock
from activities.operations.spec import SPEC_FILE, SUPERVISOR_LOG, Spec
from activities.tools.environment import defaults, passed_on
from apps.display_text import shown
from store.left_files import read_left
from wire.private_files import open_private, write_private

_ROOT: Final = Path(__file__).resolve().parents[2]
"""The folder of the top-level packages, so that the supervisor can import them from any folder."""

NEEDED: Final = frozenset(
    {
        *("HOME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE"),
        # Where this Python finds its libraries, as set by whoever started the worker.
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE"),
    }
)
"""Environment variables that Python itself needs."""


def write_spec(spec: Spec) -> None:
    """Writes the specification, which the supervisor removes once it has read it."""
    write_private(spec.folder / SPEC_FILE, spec.encode())


def start_supervisor(spec: Spec, lock: Lock) -> None:
    """Starts the supervisor on the written specification; it inherits the held lock.

    Not through asyncio, which kills its child processes when the loop is closed.
    """
    with Lock(open_private(spec.folder / SUPERVISOR_LOG, os.O_WRONLY | os.O_APPEND)) as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "activities.operations.supervisor", _spec_path(spec)],
            cwd=spec.folder,
            env=supervisors_environment(spec),
            stdin=subprocess.DEVNULL,
            stdout=log.descriptor,
            stderr=log.descriptor,
            pass_fds=(lock.descriptor,),
            start_new_session=True,
        )
    # Collects the exit status, so that the supervisor does not stay a zombie of this process.
    threading.Thread(target=process.wait, name="supervisor", daemon=True).start()


def supervisors_environment(spec: Spec) -> dict[str, str]:
    """The supervisor's environment: what its Python needs of the worker's, and for a store in S3
    the AWS variables. The tool's environment is in the specification."""
    prefixes = ("AWS_",) if spec.store.get("kind") == "s3" else ()
    given = {
        name: value
        for name, value in os.environ.items()
        if name in NEEDED or name.startswith(prefixes)
    }
    path = os.environ.get("PYTHONPATH")
    found = {"PYTHONPATH": f"{_ROOT}{os.pathsep}{path}" if path else str(_ROOT)}
    return {**defaults(), **passed_on(), **given, **found}


def why_not_started(folder: Path) -> str:
    """The last line that a supervisor wrote before it ended without having started its tool."""
    log = read_left(folder / SUPERVISOR_LOG).decode(errors="replace")
    lines = log.strip().split("\n")
    return shown(lines[-1]) if lines[-1] else "it wrote no message; it may have been killed"


def _spec_path(spec: Spec) -> str:
    return str(spec.folder / SPEC_FILE)
