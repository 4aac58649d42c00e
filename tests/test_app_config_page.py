"""Checks the app that docs/app-config.md writes, exactly as the page shows it."""

import re
from pathlib import Path

import pytest

from apps.graph import Graph
from apps.loader import CheckedApp, check
from tests.shipped import DEPLOYABLE

PAGE = Path(__file__).parents[1] / "docs" / "app-config.md"
FILE = re.compile(r"^```(?:toml|hcl)\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def checked(tmp_path: Path) -> CheckedApp:
    text = PAGE.read_text()
    files = FILE.findall(text)
    assert len(files) == len(re.findall("^```(?:toml|hcl)$", text, re.MULTILINE))
    for name, content in files:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return check(tmp_path, DEPLOYABLE)


def test_the_app_of_the_page_has_no_fault(checked: CheckedApp) -> None:
    assert checked.problems == []


def test_its_graph_is_as_the_page_says(checked: CheckedApp) -> None:
    assert checked.app is not None
    graph = Graph(checked.app.config)
    assert graph.dependencies("web") == ["storage"]
    assert graph.parts_referencing_input("title") == ["web"]
