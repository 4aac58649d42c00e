from pathlib import Path

import pytest

from tests.apps.app_folder import App


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App(tmp_path)
