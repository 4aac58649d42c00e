from pathlib import Path

from apps.config.components import TerraformComponent
from apps.graph import Graph
from apps.loader import load
from apps.parts import SANDBOX
from apps.terraform.modules import read_module
from apps.triggers import triggered_actions
from tests.shipped import DEPLOYABLE

SHOP = Path(__file__).parents[2] / "examples/shop"


def test_the_example_app_is_without_fault() -> None:
    loaded = load(SHOP, DEPLOYABLE)
    assert loaded.warnings == []
    graph = Graph(loaded.config)
    assert graph.order() == ["network", "cache", "database", "api"]
    assert graph.dependencies("cache") == graph.dependencies("database") == ["network"]
    assert graph.dependencies("api") == ["cache", "database"]


def test_what_each_input_touches() -> None:
    graph = Graph(load(SHOP, DEPLOYABLE).config)
    assert graph.parts_referencing_input("region") == [SANDBOX]
    assert graph.parts_referencing_input("cache_mb") == ["cache"]
    assert graph.parts_referencing_input("greeting") == ["api"]
    assert [name for name in graph.order() if graph.reads_sandbox(name)] == ["network", "api"]


def test_what_runs_by_itself() -> None:
    config = load(SHOP, DEPLOYABLE).config
    assert [(action.name, trigger.type) for action, trigger in triggered_actions(config)] == [
        ("backup", "pre-deprovision"),
        ("health", "cron"),
        ("health", "post-deploy-all-components"),
        ("preflight", "pre-provision"),
        ("welcome", "post-provision"),
    ]
    health = config.action("health")
    assert health is not None
    assert len(health.steps) == 2


def test_a_sensitive_output_feeds_a_variable_that_is_not_declared_sensitive() -> None:
    assert read_module(SHOP / "modules/database").outputs["password"].sensitive
    assert not read_module(SHOP / "modules/api").variables["database_password"].sensitive
    api = load(SHOP, DEPLOYABLE).config.component("api")
    assert isinstance(api, TerraformComponent)
    assert api.vars["database_password"] == "{{ .nuon.components.database.outputs.password }}"
