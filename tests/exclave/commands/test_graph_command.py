"""`exclave graph` draws the graph for people and programs, with what a change affects."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exclave.main import app

ROOT = Path(__file__).resolve().parents[3]
SHOP = ROOT / "examples" / "shop"


def graph(*arguments: str | Path, status: int = 0) -> str:
    done = CliRunner().invoke(app, ["graph", *map(str, arguments)])
    assert done.exit_code == status, done.output
    return done.output


def test_each_stands_below_what_it_needs() -> None:
    assert graph(SHOP).splitlines() == [
        "sandbox",
        "├─ network",
        "│  ├─ cache",
        "│  │  └─ api",
        "│  └─ database",
        "│     └─ api",
        "└─ api",
    ]


def test_what_an_input_touches_is_marked_with_its_reason() -> None:
    output = graph(SHOP, "--input", "cache_mb")
    assert "│  ├─ cache *" in output
    assert "│  └─ database\n" in output
    assert "* cache is planned: it refers to the input cache_mb" in output
    assert "* api is planned: it depends on cache" in output


@pytest.mark.parametrize("form", ["mermaid", "dot"])
def test_other_programs_can_draw_it(form: str) -> None:
    output = graph(SHOP, "--as", form, "--component", "cache")
    assert output.count("->") + output.count("-->") in {6, 12}
    assert output.startswith("flowchart TD" if form == "mermaid" else "digraph app {")


def test_a_config_against_another(tmp_path: Path) -> None:
    new = tmp_path / "new"
    shutil.copytree(SHOP, new)
    shutil.copytree(ROOT / "examples" / "changes" / "second", new, dirs_exist_ok=True)
    for gone in (new / "removed.txt").read_text().split():
        path = new / gone
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    output = json.loads(graph(new, "--against", SHOP, "--output", "json"))
    assert [(one["part"], one["verb"]) for one in output["touched"]] == [
        ("search", "plan"),
        ("api", "plan"),
        ("cache", "teardown"),
    ]
    assert output["needed_by"]["network"] == ["database", "search"]


def test_what_the_app_does_not_have_is_reported(tmp_path: Path) -> None:
    assert "it has: cache_mb, greeting" in graph(SHOP, "--input", "nothing", status=1)
    assert "it has: api" in graph(SHOP, "--component", "nothing", status=1)
    assert "only one of" in graph(SHOP, "--input", "region", "--component", "api", status=1)
    assert "metadata.toml" in graph(tmp_path, status=1)
