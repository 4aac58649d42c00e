from pathlib import Path

from apps.graph import Graph
from apps.loader import load
from apps.terraform_modules import read_module

SHOP = Path(__file__).parents[2] / "examples/shop"


def test_the_example_app_is_without_fault() -> None:
    loaded = load(SHOP)
    assert loaded.warnings == []
    graph = Graph(loaded.config)
    assert graph.order() == ["network", "cache", "database", "api"]
    assert graph.dependencies("cache") == graph.dependencies("database") == ["network"]
    assert graph.dependencies("api") == ["cache", "database"]


def test_a_sensitive_output_feeds_a_variable_that_is_not_declared_sensitive() -> None:
    assert read_module(SHOP / "modules/database").outputs["password"].sensitive
    assert not read_module(SHOP / "modules/api").variables["database_password"].sensitive
    api = load(SHOP).config.component("api")
    assert api is not None
    assert api.vars["database_password"] == "{{ .nuon.components.database.outputs.password }}"
