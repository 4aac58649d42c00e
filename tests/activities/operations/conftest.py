"""The fixture of the operations' tests."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.operations.processes import send_holders
from tests.activities.operations.operation_site import Site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    assert shutil.which("bash"), "the tools of these tests are bash scripts"
    made = Site(tmp_path)
    yield made
    send_holders(made.locks / "tree.lock", signal.SIGKILL, but_groups=())
