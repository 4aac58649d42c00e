"""The Terraform (or OpenTofu) on this machine: where it is, its version, its environment."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from contracts.errors import BadConfig, EngineFailed, ToolMissing

_ASK_SECONDS = 60
"""`terraform version` takes 0.1 s; a machine that swaps takes longer."""

_PASSED_ON = ("PATH", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "TZ")
"""What a tool gets of the worker's own environment: no secret is in these."""


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

    def require(self, minimum: str, component: str) -> None:
        """Refuse a version below the component's minimum, or of another major version.

        Raises:
            BadConfig: naming both versions.
        """
        if self.name != "terraform":
            return
        wanted, here = _numbers(minimum), _numbers(self.version)
        if here[0] != wanted[0] or here < wanted:
            raise BadConfig(
                f"{component} needs Terraform {minimum} or newer within {wanted[0]}.x, and this "
                f"worker has {self.version}. Install a newer Terraform on the worker's machine, "
                f"or lower `terraform_version` in the component."
            )


def find_terraform() -> TerraformTool:
    """The tool on the PATH: `terraform`, else `tofu`.

    Raises:
        ToolMissing: there is none.
        EngineFailed: it does not tell its version.
    """
    for name in ("terraform", "tofu"):
        found = shutil.which(name)
        if found is not None:
            return _ask(Path(found), name)
    raise ToolMissing(
        "Terraform is not installed on this worker: put `terraform` (or `tofu`) on its PATH, from "
        "https://developer.hashicorp.com/terraform/install."
    )


def _ask(path: Path, name: str) -> TerraformTool:
    try:
        answer = subprocess.run(
            [str(path), "version", "-json"],
            capture_output=True,
            check=True,
            timeout=_ASK_SECONDS,
            env={**passed_on(), "CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull},
        )
        told = json.loads(answer.stdout)
        return TerraformTool(path, name, told["terraform_version"], told["platform"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise EngineFailed(
            f"`{path} version -json` does not tell a version ({type(error).__name__}); "
            "is it Terraform 1.x or OpenTofu?"
        ) from None


def environment(data: Path, home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of the tool: nothing of the worker's own but what every tool needs.

    Args:
        data: The worker's data folder, which holds the CLI config.
        home: A folder of the run's own.
        extra: The component's `env_vars`, rendered.
    """
    return {
        **passed_on(),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
        "CHECKPOINT_DISABLE": "1",
        "TF_CLI_CONFIG_FILE": str(_cli_config(data)),
        **extra,
    }


def passed_on() -> dict[str, str]:
    """The part of the worker's environment that tools get."""
    return {name: value for name in _PASSED_ON if (value := os.environ.get(name))}


def _cli_config(data: Path) -> Path:
    """The operator's own CLI config where one is set and there, else an empty one of ours."""
    named = os.environ.get("TF_CLI_CONFIG_FILE")
    if named and Path(named).is_file():
        return Path(named)
    ours = data / "terraform.rc"
    if not ours.exists():
        ours.write_text("disable_checkpoint = true\n")
    return ours


def _numbers(version: str) -> tuple[int, ...]:
    release = version.removeprefix("v").split("-")[0].split("+")[0]
    return tuple(int(part) for part in release.split("."))
