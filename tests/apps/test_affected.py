"""What a change touches: no less than a deploy plans, with the reason of each."""

from pathlib import Path
from typing import Any

from apps.affected import Touched, between, by_inputs, by_part
from apps.config.app import AppConfig
from apps.config.components import TerraformComponent
from apps.config.metadata import Metadata
from apps.config.terraform import Sandbox
from apps.loader import load
from apps.parts import SANDBOX
from tests.shipped import DEPLOYABLE

SHOP = Path(__file__).resolve().parents[2] / "examples" / "shop"


def component(name: str, **vars: Any) -> TerraformComponent:
    repo = {"repo": ".", "directory": name}
    return TerraformComponent.model_validate(
        {
            "type": "terraform_module",
            "name": name,
            "terraform_version": "1.5",
            "public_repo": repo,
            "vars": vars,
        }
    )


def app(*components: TerraformComponent, sandbox: dict[str, Any] | None = None) -> AppConfig:
    repo = {"repo": ".", "directory": "sandbox"}
    return AppConfig(
        metadata=Metadata(version="v2"),
        components=list(components),
        sandbox=None
        if sandbox is None
        else Sandbox.model_validate(
            {"terraform_version": "1.5", "public_repo": repo, "vars": sandbox}
        ),
    )


def verbs(touched: list[Touched]) -> list[tuple[str, str]]:
    return [(one.part, one.verb) for one in touched]


def test_an_input_touches_what_refers_to_it_and_what_depends_on_that() -> None:
    config = load(SHOP, DEPLOYABLE).config
    assert verbs(by_inputs(config, ["cache_mb"])) == [("cache", "plan"), ("api", "plan")]
    assert by_inputs(config, ["greeting"]) == [
        Touched("api", "plan", "refers to the input greeting")
    ]
    assert by_inputs(config, ["region"])[0].part == SANDBOX


def test_the_sandbox_touches_what_reads_it_and_what_depends_on_that() -> None:
    config = app(
        component("net", id="{{ .nuon.sandbox.outputs.id }}"),
        component("api", net="{{ .nuon.components.net.outputs.id }}"),
        component("alone"),
        sandbox={},
    )
    assert by_part(config, SANDBOX) == [
        Touched(SANDBOX, "plan", "is what changes"),
        Touched("net", "plan", "depends on sandbox"),
        Touched("api", "plan", "depends on net"),
    ]
    assert verbs(by_part(config, "api")) == [("api", "plan")]


def test_between_two_configs() -> None:
    before = app(
        component("net"),
        component("old", net="{{ .nuon.components.net.outputs.id }}"),
        component("older", old="{{ .nuon.components.old.outputs.id }}"),
        component("same"),
        sandbox={},
    )
    after = app(
        component("net", size=2),
        component("api", net="{{ .nuon.components.net.outputs.id }}"),
        component("files"),
        component("same"),
    )
    files = {"files": "1", "net": "1", "same": "1"}
    touched = between(before, after, {**files, "files": "0"}, files)
    assert touched == [
        Touched("files", "plan", "is new"),
        Touched("net", "plan", "has another config"),
        Touched("api", "plan", "is new"),
        Touched("older", "teardown", "is no longer in the config"),
        Touched("old", "teardown", "is no longer in the config"),
        Touched(SANDBOX, "teardown", "is no longer in the config"),
    ]


def test_other_files_are_a_change() -> None:
    config = app(component("net"))
    assert between(config, config, {"net": "1"}, {"net": "2"}) == [
        Touched("net", "plan", "has other files")
    ]
    assert between(config, config, {"net": "1"}, {"net": "1"}) == []
