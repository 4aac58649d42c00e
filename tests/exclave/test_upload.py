"""`exclave upload`, run like a person would."""

import json
import re
import shutil
from pathlib import Path

import httpx
from typer.testing import CliRunner

from contracts.names import DIGEST_PATTERN
from exclave.main import app

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "examples" / "shop"

run = CliRunner().invoke


def test_the_digest_stands_alone_on_stdout_and_is_in_the_registry(registry: dict[str, str]) -> None:
    result = run(app, ["upload", str(SHOP), "--registry", registry["push"]])
    digest = result.stdout.strip()
    assert result.exit_code == 0, result.output
    assert re.match(DIGEST_PATTERN, digest)
    assert "temporal workflow start --type Build" in result.stderr
    assert f'--input \'{{"app": "shop", "source": "{digest}"}}\'' in result.stderr
    manifest = httpx.get(f"{registry['pull']}/v2/sources/manifests/{digest}")
    assert manifest.status_code == 200


def test_the_same_folder_has_the_same_digest_as_json_too(registry: dict[str, str]) -> None:
    flags = ["upload", str(SHOP), "--registry", registry["push"]]
    digest = run(app, flags).stdout.strip()
    result = run(app, [*flags, "--output", "json"])
    assert json.loads(result.stdout) == {"source": digest, "warnings": []}


def test_the_pull_address_takes_no_upload(registry: dict[str, str]) -> None:
    result = run(app, ["upload", str(SHOP), "--registry", registry["pull"]])
    assert result.exit_code == 1
    assert "405" in result.stderr
    assert result.stdout == ""


def test_every_problem_is_reported_one_a_line_and_nothing_is_uploaded(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    shutil.copytree(SHOP, folder)
    (folder / "metadata.toml").write_text('version = "v9"\n')
    (folder / "inputs.toml").write_text("[[input]\n")
    # Nothing listens there: with a broken config, the command does not even connect.
    result = run(app, ["upload", str(folder), "--registry", "http://127.0.0.1:1"])
    lines = result.stderr.splitlines()
    assert result.exit_code == 1
    assert any(line.startswith("metadata.toml:1: error: version: ") for line in lines)
    assert any(line.startswith("inputs.toml:") for line in lines)
    assert "does not answer" not in result.stderr
    assert result.stdout == ""


def test_an_unreachable_registry_is_one_sentence(free_ports: list[int]) -> None:
    address = f"http://127.0.0.1:{free_ports[0]}"
    result = run(app, ["upload", str(SHOP), "--registry", address])
    assert result.exit_code == 4
    assert address in result.stderr
    assert "exclave dev" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_folder_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    result = run(app, ["upload", str(tmp_path / "nowhere")])
    assert result.exit_code == 1
    assert "nowhere" in result.stderr


def test_wrong_usage_has_a_status_of_its_own() -> None:
    assert run(app, ["upload"]).exit_code == 2
    assert run(app, ["upload", str(SHOP), "--output", "xml"]).exit_code == 2
