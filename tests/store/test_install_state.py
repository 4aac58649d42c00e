"""The state of an install in its store."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from apps.config.app import AppConfig
from apps.config.inputs import Input
from apps.config.metadata import Metadata
from apps.input_values import InputErrors
from apps.parts import SANDBOX
from apps.sensitivity import Sensitive
from contracts.deploys import Inputs
from contracts.errors import StoreBehind
from store.folder import FolderStore
from store.install_records import (
    ActionRecord,
    ComponentRecord,
    DeployedRelease,
    Output,
    ProvisionedRelease,
)
from store.install_state import InstallState
from store.interface import ANY, Store

SECRET = "hunter2hunter2"


def input_of(name: str, **more: Any) -> Input:
    return Input.model_validate({"name": name, "display_name": "", "description": "", **more})


CONFIG = AppConfig(
    metadata=Metadata(version="v2"),
    inputs=[input_of("zone", default="a"), input_of("license", sensitive=True)],
)


def component(name: str, **more: Any) -> ComponentRecord:
    base = {
        "component": name, "type": "terraform_module", "status": "done", "app": "shop",
        "release": "r1", "artifact": "sha256:a", "config": "sha256:c",
    }  # fmt: skip
    return ComponentRecord.model_validate(base | more)


@pytest.fixture
def state(store: Store) -> InstallState:
    return InstallState(store, "acme", "dev")


def test_an_empty_store(state: InstallState) -> None:
    assert state.revision() == 0
    assert state.components() == {}
    assert state.component("net") is None
    assert state.action("health") is None
    assert state.component(SANDBOX) is None
    assert (state.deployed(), state.provisioned(), state.app()) == (None, None, None)
    state.require_revision(0)


def test_each_change_raises_the_revision_and_returns_it(state: InstallState) -> None:
    found = [
        state.put_component(component("net")),
        state.put_component(component("net", status="applying")),
        state.put_action(ActionRecord(action="health", status="done")),
        state.put_deployed(DeployedRelease(app="shop", release="r1")),
        state.remove_component("net"),
    ]
    assert found == [1, 2, 3, 4, 5]
    state.set_sensitive_input("license", SECRET)
    assert state.revision() == 6


def test_a_store_that_is_behind_is_refused_with_both_revisions(state: InstallState) -> None:
    state.put_component(component("net"))
    state.require_revision(1)
    with pytest.raises(StoreBehind, match=r"acme is at revision 1, .* 2\. "):
        state.require_revision(2)


def test_records_are_read_back_whole(state: InstallState) -> None:
    record = component(
        "net",
        inputs={"zone": "abc"},
        dependencies=["base"],
        var_name="the_net",
        outputs={"id": Output(value={"a": [1, None]}), "p": Output(value=SECRET, sensitive=True)},
    )
    state.put_component(record)
    state.put_component(component("db"))
    assert state.component("net") == record
    assert state.components() == {"net": record, "db": component("db")}
    assert state.remove_component("db") == 3
    assert state.components().keys() == {"net"}
    state.remove_component("db")
    deployed = DeployedRelease(app="shop", release="r1")
    state.put_deployed(deployed)
    assert state.deployed() == deployed


def test_the_sandbox_is_no_component(state: InstallState, store: Store) -> None:
    sandbox = component(SANDBOX)
    assert state.put_component(sandbox) == 1
    state.put_component(component("net"))
    assert state.component(SANDBOX) == sandbox
    assert state.components().keys() == {"net"}
    assert store.get("sandbox.json") is not None
    assert state.remove_component(SANDBOX) == 3
    assert state.component(SANDBOX) is None
    assert state.components().keys() == {"net"}


def test_the_app_is_known_from_the_first_run_on(state: InstallState) -> None:
    state.put_deployed(DeployedRelease(app="shop", release="r1"))
    assert state.app() == "shop", "an older worker recorded no more"
    state.put_app("other")
    assert state.app() == "other"
    provisioned = ProvisionedRelease(app="shop", release="r1")
    state.put_provisioned(provisioned)
    assert state.provisioned() == provisioned


def test_what_a_newer_version_wrote_is_tolerated(state: InstallState, store: Store) -> None:
    state.put_component(component("net"))
    found = store.get("components/net.json")
    assert found is not None
    newer = json.loads(found.data) | {"of_a_newer_version": 1}
    store.put("components/net.json", json.dumps(newer).encode(), if_match=ANY)
    assert state.component("net") == component("net")


def test_only_newer_inputs_are_stored(state: InstallState) -> None:
    for revision, value, expected in (
        (5, "b", "b"),
        (4, "old", "b"),
        (5, "same", "b"),
        (6, "c", "c"),
    ):
        state.update_inputs(Inputs(revision=revision, values={"zone": value}))
        assert state.inputs(CONFIG)["zone"] == expected


def test_an_install_that_began_again_keeps_what_it_does_not_know(state: InstallState) -> None:
    state.update_inputs(Inputs(revision=5, values={"zone": "b", "size": "9"}))
    state.update_inputs(Inputs(revision=7, values={"size": "1"}))
    assert stored(state) == {"zone": "b", "size": "1"}
    state.update_inputs(Inputs(revision=8, values={"size": "1"}, removed=["zone"]))
    assert stored(state) == {"size": "1"}


def test_what_was_taken_back_stays_so_over_later_revisions(state: InstallState) -> None:
    state.update_inputs(Inputs(revision=5, values={"zone": "b", "size": "9"}))
    state.update_inputs(Inputs(revision=6, values={"zone": "b"}, removed=["size"]))
    state.update_inputs(Inputs(revision=7, values={"zone": "c"}, removed=["size"]))
    assert stored(state) == {"zone": "c"}


def test_what_an_install_began_from_is_all_its_own(state: InstallState) -> None:
    state.update_inputs(Inputs(revision=5, values={"zone": "b", "size": "9"}))
    state.update_inputs(Inputs(revision=6, values={"zone": "b"}, base=5))
    assert stored(state) == {"zone": "b"}


def stored(state: InstallState) -> dict[str, str]:
    config = CONFIG.model_copy(update={"inputs": [input_of("zone"), input_of("size")]})
    found = state.inputs(config)
    return {name: str(value) for name, value in found.items() if value}


def test_inputs_have_defaults_and_marks(state: InstallState) -> None:
    assert state.inputs(CONFIG) == {"zone": "a", "license": Sensitive("")}
    state.set_sensitive_input("license", SECRET)
    state.update_inputs(Inputs(revision=1, values={"zone": "b", "of_another_release": "x"}))
    assert state.inputs(CONFIG) == {"zone": "b", "license": Sensitive(SECRET)}
    state.set_sensitive_input("zone", "c")
    assert state.inputs(CONFIG)["zone"] == Sensitive("c"), "what is set here is a secret"


def test_inputs_that_are_missing_are_reported(state: InstallState) -> None:
    config = CONFIG.model_copy(update={"inputs": [input_of("size", required=True)]})
    with pytest.raises(InputErrors, match="size"):
        state.inputs(config)


def test_the_document_is_what_templates_see(state: InstallState) -> None:
    outputs = {"id": Output(value="vpc-1"), "p": Output(value=SECRET, sensitive=True)}
    state.put_component(component("net", outputs=outputs, var_name="the_net"))
    state.put_component(component("db", status="applying"))
    state.put_action(ActionRecord(action="health", status="done", outputs=outputs))
    nuon: Any = state.document(CONFIG, "shop").template_data()["nuon"]
    assert nuon["install"]["id"] == "acme"
    assert (nuon["org"]["id"], nuon["app"]["id"]) == ("dev", "shop")
    net = nuon["components"]["net"]
    assert net["outputs"] == {"id": "vpc-1", "p": Sensitive(SECRET)}
    assert (net["status"], net["build_id"]) == ("active", "sha256:a")
    assert nuon["components"]["the_net"] == net
    assert nuon["components"]["db"]["status"] == "applying"
    assert nuon["actions"]["workflows"]["health"]["outputs"]["p"] == Sensitive(SECRET)
    assert SECRET not in repr(nuon)


def test_the_document_holds_the_sandbox_once_it_is_there(state: InstallState) -> None:
    assert "sandbox" not in nuon_of(state)
    outputs = {"vpc": Output(value="v"), "p": Output(value=SECRET, sensitive=True)}
    state.put_component(component(SANDBOX, outputs=outputs))
    state.put_component(component("net"))
    expected = {
        "status": "active", "type": "terraform", "version": "sha256:a",
        "outputs": {"vpc": "v", "p": Sensitive(SECRET)},
    }  # fmt: skip
    nuon = nuon_of(state)
    assert nuon["sandbox"] == nuon["install"]["sandbox"] == expected
    assert nuon["components"].keys() == {"net"}


def test_the_sandboxs_templates_see_nothing_that_is_deployed(state: InstallState) -> None:
    state.put_component(component(SANDBOX))
    state.put_component(component("net"))
    state.put_action(ActionRecord(action="health", status="done"))
    found: Any = state.sandbox_document(CONFIG, "shop").template_data()["nuon"]
    assert found["inputs"]["inputs"]["zone"] == "a"
    assert (found["install"]["id"], found["app"]["id"], found["org"]["id"]) == (
        "acme", "shop", "dev",
    )  # fmt: skip
    assert (found["components"], found["actions"]) == ({}, {"workflows": {}})
    assert "sandbox" not in found


def nuon_of(state: InstallState) -> Any:
    return state.document(CONFIG, "shop").template_data()["nuon"]


def test_every_sensitive_value_is_known_for_masking(state: InstallState) -> None:
    state.set_sensitive_input("license", "in-a-license")
    outputs = {"p": Output(value=SECRET, sensitive=True), "id": Output(value="vpc-1")}
    state.put_component(component("net", outputs=outputs))
    hidden = {"t": Output(value={"token": "a-token"}, sensitive=True)}
    state.put_action(ActionRecord(action="health", status="failed", outputs=hidden))
    of_sandbox = {"p": Output(value="of-the-sandbox", sensitive=True)}
    state.put_component(component(SANDBOX, outputs=of_sandbox))
    found = state.secrets(CONFIG)
    assert "of-the-sandbox" in found
    assert SECRET in found
    assert "in-a-license" in found
    assert {"token": "a-token"} in found
    assert "vpc-1" not in found


def test_a_sensitive_input_of_another_release_is_still_a_secret(state: InstallState) -> None:
    """A component that is torn down with an older release may still contain it."""
    state.set_sensitive_input("old_license", SECRET)
    assert SECRET in state.secrets(CONFIG)


def test_secrets_are_not_shown(state: InstallState) -> None:
    record = component("net", outputs={"p": Output(value=SECRET, sensitive=True)})
    assert SECRET not in repr(record)
    assert SECRET not in str(record)


def test_the_digest_key_is_made_once_and_is_long(store: Store, state: InstallState) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: InstallState(store, "acme", "dev").digest_key(), range(16)))
    assert len(keys) == 1
    assert len(keys.pop()) == 32


def test_components_that_are_recorded_at_once_lose_nothing(
    store: Store, state: InstallState
) -> None:
    def put(number: int) -> int:
        return InstallState(store, "acme", "dev").put_component(component(f"c{number}"))

    with ThreadPoolExecutor(8) as pool:
        revisions = list(pool.map(put, range(24)))
    assert sorted(revisions) == list(range(1, 25))
    assert len(state.components()) == 24


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    state = InstallState(store, "acme", "dev")
    state.set_sensitive_input("license", SECRET)
    state.put_component(component("net"))
    state.digest_key()
    files = [path for path in store.root.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
