"""`exclave check`: prints like a compiler for people, and JSON for programs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exclave.main import app

SHOP = Path(__file__).resolve().parents[3] / "examples" / "shop"


def check(*arguments: str | Path, status: int = 0) -> str:
    done = CliRunner().invoke(app, ["check", *map(str, arguments)])
    assert done.exit_code == status, done.output
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "metadata.toml").write_text('version = "v2"\ndisplayname = "Shop"\n')
    (tmp_path / "inputs.toml").write_text('\n[[input]]\nname = "zone"\n')
    return tmp_path


def test_a_config_without_fault() -> None:
    [line] = check(SHOP).splitlines()
    assert line.startswith("no errors in ")


def test_each_problem_has_its_line_as_compilers_print_it(folder: Path) -> None:
    assert check(folder, status=1).splitlines() == [
        "inputs.toml:2: error: input[0].display_name: is required",
        "inputs.toml:2: error: input[0].description: is required",
        "metadata.toml:2: warning: displayname: unknown key, it has no effect; did you mean "
        "`display_name`?",
        "sandbox.toml: warning: is missing: the format asks for a sandbox, which prepares the "
        "customer's account; without one, components are deployed into what is there already",
        "2 errors, 2 warnings in 2 files.",
    ]


def test_warnings_alone_are_no_failure(folder: Path) -> None:
    (folder / "inputs.toml").unlink()
    assert check(folder).splitlines()[-1] == "no errors, 2 warnings in 1 file."


def test_programs_get_one_document(folder: Path) -> None:
    output = json.loads(check(folder, "--format", "json", status=1))
    assert (output["errors"], output["warnings"], output["notes"], output["files"]) == (2, 2, 0, 2)
    assert output["problems"][0] == {
        "file": "inputs.toml",
        "line": 2,
        "key": "input[0].display_name",
        "severity": "error",
        "message": "is required",
    }


def test_a_name_that_would_steer_the_terminal_is_shown_plain(folder: Path) -> None:
    (folder / "inputs.toml").unlink()
    (folder / "x\x1b[31m.toml").write_text("a = 1")
    assert "\x1b" not in check(folder)


def test_what_is_no_folder(tmp_path: Path) -> None:
    output = check(tmp_path / "nope", status=1)
    assert "is not a folder; name the folder that has metadata.toml" in output
    assert output.splitlines()[-1] == "1 error in no files."
