"""A store passed on by its description, and what its import costs."""

import subprocess
import sys
from pathlib import Path

import pytest

from store.folder import FolderStore
from store.interface import ABSENT
from store.opening import folder_description, open_store

ROOT = Path(__file__).resolve().parents[2]


def test_a_described_store_is_the_same_store(tmp_path: Path) -> None:
    FolderStore(tmp_path).put("a", b"1", if_match=ABSENT)
    found = open_store(folder_description(tmp_path)).get("a")
    assert found is not None
    assert found.data == b"1"


def test_an_unknown_kind_is_told() -> None:
    with pytest.raises(ValueError, match="'tape' is not known"):
        open_store({"kind": "tape"})


def test_what_the_supervisor_imports_is_small() -> None:
    code = "import sys, activities.operations.supervisor; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert "store.leases" in loaded
    assert not {"pydantic", "temporalio", "contracts", "asyncio"} & set(loaded)
