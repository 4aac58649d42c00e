"""Terraform's record of the backend that `init` uses."""

from pathlib import Path

import pytest

from activities.terraform.backends.override import drop_torn_record


@pytest.mark.parametrize(("written", "stays"), [("", False), ('{"back', False), ("{}", True)])
def test_a_note_that_an_init_was_killed_at_is_dropped(
    tmp_path: Path, written: str, stays: bool
) -> None:
    drop_torn_record(tmp_path)
    record = tmp_path / ".terraform" / "terraform.tfstate"
    record.parent.mkdir()
    record.write_text(written)
    drop_torn_record(tmp_path)
    assert record.exists() is stays
