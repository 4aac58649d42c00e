"""`exclave version`, and `--version` of each program."""

import json
import subprocess
import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from exclave.main import app

EXCLAVE = version("exclave")


def test_it_says_which_exclave_this_is() -> None:
    said = CliRunner().invoke(app, ["version"])
    assert said.exit_code == 0
    first, *others = said.stdout.splitlines()
    assert first.split() == ["exclave", EXCLAVE]
    assert [line.split()[0] for line in others][:1] == ["python"]


def test_programs_read_it_as_json() -> None:
    said = json.loads(CliRunner().invoke(app, ["version", "--output", "json"]).stdout)
    assert said["exclave"] == EXCLAVE
    assert said["temporal_sdk"] == version("temporalio")


@pytest.mark.parametrize(
    ("module", "program"),
    [
        ("workers.exclave_worker", "exclave-worker"),
        ("workers.build", "exclave-build-worker"),
        ("workers.gateway_main", "exclave-gateway"),
    ],
)
def test_every_program_says_its_version(module: str, program: str) -> None:
    said = subprocess.run(
        [sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True
    )
    assert said.stdout == f"{program} {EXCLAVE}\n"
