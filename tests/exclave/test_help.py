"""`--help` of all commands and of each one, and how few modules it imports."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exclave.exits import MEANINGS
from exclave.main import COMMANDS, app

ROOT = Path(__file__).parents[2]

run = CliRunner().invoke
NAMES = [listed.name for listed in COMMANDS]


def test_all_commands_and_exit_statuses_are_listed() -> None:
    result = run(app, ["--help"])
    assert result.exit_code == 0
    for listed in COMMANDS:
        assert f"{listed.name} " in result.stdout
        assert listed.help in result.stdout
    for status, meaning in MEANINGS.items():
        assert f"{int(status)}: {meaning}" in result.stdout


@pytest.mark.parametrize("command", [name for name in NAMES if name != "worker"])
def test_each_has_a_purpose_and_examples(command: str) -> None:
    result = run(app, [command, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    before, _, examples = result.stdout.partition("Example")
    assert f"exclave {command}" in examples
    assert len(before.split()) > len(["Usage:", "exclave", command, "[OPTIONS]"])


def test_groups_of_commands_are_reached_as_well() -> None:
    result = run(app, ["worker", "--help"])
    assert result.exit_code == 0
    assert "set-input" in result.stdout


def test_the_right_spelling_of_a_command_is_suggested() -> None:
    result = run(app, ["depoly"])
    assert result.exit_code == 2
    assert "Did you mean 'deploy'" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["deploy", "Acme Inc", "sha256:ab"],
        ["install", "acme", "--app", "shop", "--release", "sha256:ab"],
        ["install", "acme", "--app", "shop", "--store-region", "eu-central-1"],
        ["set-inputs", "acme"],
        ["set-inputs", "acme", "region"],
        ["approve", "deploy/acme/1"],
        ["status", "acme", "--output", "xml"],
    ],
)
def test_wrong_usage_is_reported_before_anything_is_asked(arguments: list[str]) -> None:
    result = run(app, arguments, env={"TEMPORAL_ADDRESS": "127.0.0.1:1"})
    assert result.exit_code == 2, result.output
    assert "does not answer" not in result.output


def test_the_list_of_commands_needs_nothing_that_is_slow_to_read() -> None:
    look = (
        "import sys, exclave.main\n"
        "print([m for m in ('temporalio', 'pydantic', 'httpx', 'yaml') if m in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n"
