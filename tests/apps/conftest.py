from pathlib import Path

import pytest
from app_folder import App


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App(tmp_path)
