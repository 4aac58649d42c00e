"""An install worker stands idle for weeks; what it does not use, it does not hold in memory."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

OF_OTHERS = {
    *("boto3", "botocore"),  # for a store in S3 alone
    *("hcl2", "lark"),  # where an app is built
    *("yaml", "typer", "starlette", "uvicorn"),  # the command, and the registry
    *("rich", "pygments", "click"),  # httpx would take them in for a command line of its own
}


def imported_by(module: str) -> set[str]:
    """The packages that a fresh process has once it has imported the module."""
    script = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


def test_an_install_worker_imports_nothing_that_only_others_use() -> None:
    assert not imported_by("workers.install") & OF_OTHERS


def test_a_supervisor_imports_the_standard_library_alone() -> None:
    # One starts for each run of a tool, and lives as long.
    ours = imported_by("activities.operations.supervisor") - {"activities", "store"}
    assert ours <= sys.stdlib_module_names | imported_by("sys")
