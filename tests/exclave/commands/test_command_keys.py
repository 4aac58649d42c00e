"""`exclave keys`: makes, adds and switches keys, and writes those for gateways."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from exclave.commands.keys import keys
from wire.encryption.keys import MasterKeys, WorkerKeys
from wire.encryption.subjects import ACCESS


def said(*words: object, status: int = 0) -> str:
    result = CliRunner().invoke(keys, [str(word) for word in words])
    assert result.exit_code == status, result.output
    return result.output.strip()


def test_the_life_of_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPORAL_NAMESPACE", "acme-org")
    file, out = tmp_path / "keys.json", tmp_path / "access-keys.json"
    first = said("new", file)
    second = said("add", file)
    assert first != second
    assert MasterKeys.read(file).current == first
    assert said("use", file, second) == ""
    assert MasterKeys.read(file).current == second
    said("gateway", file, out)
    given = WorkerKeys.read(out)
    assert (given.namespace, given.subject, given.current) == ("acme-org", ACCESS, second)
    assert given.keys.keys() == {first, second}
    assert out.stat().st_mode & 0o777 == 0o600


def test_refusals_are_sentences(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    assert "is not there" in said("add", file, status=1)
    first = said("new", file)
    before = file.read_bytes()
    assert "is there already" in said("new", file, status=1)
    assert f"the keys are: {first}" in said("use", file, "other", status=1)
    assert file.read_bytes() == before
    file.chmod(0o644)
    assert "chmod 600" in said("add", file, status=1)
