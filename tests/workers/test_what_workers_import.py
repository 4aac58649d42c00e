"""An install worker is idle for weeks, so it must not keep unused modules in memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

OF_OTHERS = {
    *("boto3", "botocore"),  # only for a store in S3
    *("hcl2", "lark"),  # only where apps are built
    *("yaml", "typer", "starlette", "uvicorn"),  # the command, and the registry
    *("rich", "pygments", "click"),  # httpx would import these for its own command line
    "grpc",  # the gateway
    "jwt",  # only for those who check what a worker signs
    "jsonschema",  # tests
}

OF_ENGINES = {
    *(
        "workers.run_activities",
        "apps.templates",
        "apps.checks.unsupported",
        "activities.action.script",
    ),
    # For releases; not needed to ask the gateway for a credential.
    *("activities.releases.reader", "artifacts.registry", "httpx", "apps.config"),
}
"""Modules that a worker imports with its first task."""

OF_TRACES = {"workers.span_traces", "workers.span_exporter", "opentelemetry", "opentelemetry.sdk"}
"""The same, for a worker behind a gateway."""


def loaded_by(*modules: str) -> list[set[str]]:
    """The modules in a fresh process after importing all of these."""
    script = (
        "import importlib, json, sys\n"
        "for module in sys.argv[1:]:\n"
        "    importlib.import_module(module)\n"
        "    print(json.dumps([name for name, found in sys.modules.items() if found is not None]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *modules],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [set(json.loads(line)) for line in done.stdout.splitlines()]


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.mark.long
def test_an_install_worker_imports_nothing_that_only_others_use() -> None:
    idle, busy = loaded_by(
        "workers.exclave_worker", "workers.run_activities", "workers.span_traces"
    )[::2]
    assert not idle & (OF_ENGINES | OF_TRACES)
    assert busy >= OF_ENGINES | OF_TRACES
    assert not packages(busy) & OF_OTHERS
    assert "httpx._main" not in busy
    # Large parts of Temporal's SDK and of cryptography that are not used here.
    assert "temporalio.api.cloud.cloudservice.v1.request_response_pb2" not in busy
    assert "cryptography.hazmat.primitives.serialization" not in idle


def test_a_supervisor_imports_the_standard_library_alone() -> None:
    # One supervisor starts for each run of a tool, and lives as long.
    bare, loaded = loaded_by("sys", "activities.operations.supervisor")
    below = {name for name in loaded if name.startswith(("apps.", "wire."))}
    assert below == {"apps.display_text", "wire.backoff", "wire.private_files"}
    ours = packages(loaded) - {"activities", "apps", "store", "wire"}
    assert ours <= sys.stdlib_module_names | packages(bare)
