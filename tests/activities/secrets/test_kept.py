"""What was secret when an operation ran: kept for its owner alone, and never less than before."""

from pathlib import Path

from activities.secrets.kept import keep_secrets, kept_secrets


def test_what_is_kept_only_grows(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "net" / "apply"
    assert kept_secrets(folder) == frozenset()
    keep_secrets(folder, set())
    assert not folder.exists(), "most operations know no secret"
    keep_secrets(folder, {"first", "7"})
    keep_secrets(folder, {"second"})
    assert kept_secrets(folder) == {"first", "7", "second"}


def test_it_is_for_its_owner_alone(tmp_path: Path) -> None:
    keep_secrets(tmp_path / "new", {"first"})
    [file] = (tmp_path / "new").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_what_is_known_already_is_not_written_again(tmp_path: Path) -> None:
    keep_secrets(tmp_path, {"first", "second"})
    [file] = tmp_path.iterdir()
    before = file.stat().st_ino
    keep_secrets(tmp_path, {"first"})
    assert file.stat().st_ino == before
