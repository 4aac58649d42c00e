from dataclasses import replace

import pytest

from apps.config.app import AppConfig
from apps.config.inputs import Input
from apps.config.metadata import Metadata
from apps.input_values import InputErrors, effective_inputs
from apps.sensitivity import Sensitive
from apps.state import (
    ActionState,
    AppState,
    CloudAccount,
    ComponentState,
    Domains,
    OrgState,
    RunnerState,
    SandboxState,
    SecretState,
    StackState,
    StateDocument,
)
from apps.templates import TemplateError, parse

STATE = StateDocument(
    install_id="acme",
    org=OrgState("o1", "Org"),
    app=AppState("shop", "Shop", variables={"v": "w"}),
    inputs={"zone": "z", "license": Sensitive("key")},
    components={
        "my-db": ComponentState("active", {"url": "u"}, build_id="sha256:1", var_name="db"),
    },
    actions={"health": ActionState("succeeded", {"ok": True, "steps": {"one": {"ok": True}}})},
    sandbox=SandboxState("active", {"net": "n", "token": Sensitive("key")}, version="sha256:2"),
)


@pytest.mark.parametrize("root", ["nuon", "exclave"])
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("id", "acme"), ("name", "acme"), ("org.name", "Org"), ("org.status", "active"),
        ("app.id", "shop"), ("app.variables.v", "w"), ("install.id", "acme"),
        ("install.name", "acme"), ("install.inputs.zone", "z"), ("inputs.inputs.zone", "z"),
        ("inputs.inputs.license", "key"), ("components.db.outputs.url", "u"),
        ("components.db.build_id", "sha256:1"), ("components.db.component_id", "my-db"),
        ("components.db.install_component_id", "acme-my-db"),
        ("actions.workflows.health.populated", True),
        ("components.db.status", "active"), ("actions.workflows.health.outputs.ok", True),
        ("actions.workflows.health.id", "health"),
        ("actions.workflows.health.outputs.steps.one.ok", True),
        ("sandbox.status", "active"), ("sandbox.type", "terraform"),
        ("sandbox.version", "sha256:2"), ("sandbox.outputs.net", "n"),
        ("sandbox.outputs.token", "key"), ("install.sandbox.outputs.net", "n"),
        ("install.sandbox.outputs.token", "key"),
    ],
)  # fmt: skip
def test_templates_see_the_state(root: str, path: str, value: object) -> None:
    rendered = parse(f"{{{{ .{root}.{path} }}}}").render(STATE.template_data())
    assert rendered.value == value
    assert rendered.sensitive is (value == "key")


FULL = replace(
    STATE,
    stack=StackState("active", {"region": "r", "token": Sensitive("key")}, "https://q", "t", "c"),
    secrets={"password": SecretState(exists=True, arn="arn:x", length=63)},
    cloud_account=CloudAccount("gcp", {"project_id": "p", "region": "r"}),
    runner=RunnerState("w1", "active"),
    domains=Domains("acme.example.com", "internal.example.com"),
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("install_stack.outputs.region", "r"), ("install_stack.outputs.token", "key"),
        ("install_stack.quick_link_url", "https://q"), ("install_stack.checksum", "c"),
        ("secrets.password.exists", True), ("secrets.password.kubernetes_key", "value"),
        ("secrets.password.length", 63), ("secrets.password.name", "password"),
        ("cloud_account.gcp.project_id", "p"), ("runner.status", "active"),
        ("domain.public_domain", "acme.example.com"),
        ("install.internal_domain", "internal.example.com"),
        ("install.components.db.outputs.url", "u"), ("install.secrets.password.arn", "arn:x"),
        ("install.install_stack.outputs.region", "r"), ("install.app.name", "Shop"),
    ],
)  # fmt: skip
def test_what_becomes_known_later(path: str, value: object) -> None:
    rendered = parse(f"{{{{ .nuon.{path} }}}}").render(FULL.template_data())
    assert rendered.value == value
    assert rendered.sensitive is (value == "key")
    if path.split(".", maxsplit=1)[0] not in {"install"}:
        with pytest.raises(TemplateError):
            parse(f"{{{{ .nuon.{path} }}}}").render(STATE.template_data())


def test_sensitive_inputs_are_hidden() -> None:
    assert "key" not in repr(STATE)


@pytest.mark.parametrize("path", ["sandbox.status", "install.sandbox.status"])
def test_a_sandbox_that_is_not_provisioned_leads_to_nothing(path: str) -> None:
    bare = StateDocument("acme", OrgState("o1", "Org"), AppState("shop", "Shop"))
    with pytest.raises(TemplateError, match="has no `sandbox`"):
        parse(f"{{{{ .nuon.{path} }}}}").render(bare.template_data())


def config(*inputs: Input) -> AppConfig:
    return AppConfig(metadata=Metadata(version="v2"), inputs=list(inputs))


def declared(name: str, **more: object) -> Input:
    return Input.model_validate({"name": name, "display_name": "", "description": "", **more})


def test_defaults_are_filled_in_as_strings() -> None:
    app = config(
        declared("a", default="x"), declared("b", default=5, type="number"), declared("c"),
        declared("d", default=["y"], type="list"), declared("e", default=True, type="bool"),
        declared("f", default="x"), declared("g", type="number"),
    )  # fmt: skip
    assert effective_inputs(app, {"f": "given"}) == {
        "a": "x", "b": "5", "c": "", "d": '["y"]', "e": "true", "f": "given", "g": "",
    }  # fmt: skip


def test_sensitive_inputs_are_marked() -> None:
    app = config(declared("a", sensitive=True), declared("b"), declared("c", sensitive=True))
    found = effective_inputs(app, {"a": "1", "b": "2"}, {"b": "3"})
    assert found == {"a": Sensitive("1"), "b": Sensitive("3"), "c": Sensitive("")}


def test_all_problems_are_told_without_values() -> None:
    app = config(
        declared("zone", required=True),
        declared("n", type="number"),
        declared("j", type="json"),
        declared("ok", required=True, default="x"),
    )
    with pytest.raises(InputErrors) as caught:
        effective_inputs(app, {"zon": "1", "n": "hush"}, {"j": "{hush"})
    assert caught.value.problems == [
        "input `zon` is not declared by the app; did you mean `zone`?",
        "input `zone`: is required and has no value",
        "input `n`: must be a number",
        "input `j`: must be JSON, and cannot be read at line 1",
    ]
