"""The site of tests of the customer's side."""

from pathlib import Path

import pytest

from activities.customer import gate as gate_module
from tests.activities.customer.guard_site import Site


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(gate_module, "LOOK_AGAIN_SECONDS", 0.01)
    return Site(tmp_path)
