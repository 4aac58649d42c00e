"""`exclave schema`: prints one schema, writes all, or lists the kinds."""

import json
from pathlib import Path

from typer.testing import CliRunner

from apps.schema import SCHEMAS
from exclave.main import app


def schema(*arguments: str | Path, status: int = 0) -> str:
    done = CliRunner().invoke(app, ["schema", *map(str, arguments)])
    assert done.exit_code == status, done.output
    return done.output


def test_one_is_printed() -> None:
    assert json.loads(schema("action"))["title"] == "action"


def test_without_a_kind_they_are_listed() -> None:
    assert schema().split() == sorted(SCHEMAS)


def test_all_are_written(tmp_path: Path) -> None:
    assert f"{len(SCHEMAS)} schemas" in schema("--all", tmp_path / "deep" / "schemas")
    files = sorted(path.stem for path in (tmp_path / "deep" / "schemas").iterdir())
    assert files == sorted(SCHEMAS)


def test_what_there_is_not(tmp_path: Path) -> None:
    assert "There is no kind 'actoin'; did you mean `action`?" in schema("actoin", status=1)
    (tmp_path / "file").touch()
    assert "cannot be written" in schema("--all", tmp_path / "file" / "x", status=1)
