"""An apply whose supervisor was killed: Terraform's own messages show how it ended."""

from pathlib import Path

import pytest

from activities.operations.spec import OUTPUT_FILE
from activities.operations.status import ToolEnd
from activities.secrets.masking import Mask
from activities.terraform.commands import failed_unseen, why_it_ended
from contracts.errors import EngineFailed, ToolLost

FAILED = """\
terraform_data.r: Creating...
terraform_data.r (local-exec): no space left on device

Error: local-exec provisioner error

  with terraform_data.r,
"""
KILLED = """\
terraform_data.r: Creating...
terraform_data.r (local-exec): Error: not Terraform's own word
"""


def end(folder: Path, said: str, outcome: str = "lost") -> ToolEnd:
    (folder / OUTPUT_FILE).write_text(said)
    return ToolEnd("apply", outcome, {}, "apply", folder)  # type: ignore[arg-type]


def test_it_failed_by_itself_if_terraform_says_so(tmp_path: Path) -> None:
    lost = end(tmp_path, FAILED)
    assert failed_unseen(lost)
    error = why_it_ended(lost, "net", Mask.of([]))
    assert isinstance(error, EngineFailed)
    assert "no space left on device" in error.message


@pytest.mark.parametrize(
    ("said", "outcome"), [(KILLED, "lost"), ("", "lost"), (FAILED, "signalled")]
)
def test_otherwise_what_is_left_is_done(tmp_path: Path, said: str, outcome: str) -> None:
    lost = end(tmp_path, said, outcome)
    assert not failed_unseen(lost)
    assert isinstance(why_it_ended(lost, "net", Mask.of([])), ToolLost)
