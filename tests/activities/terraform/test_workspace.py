"""A component's working folder: can be rebuilt at any time, and only its owner can read it."""

import json
import shutil
from pathlib import Path
from typing import Any, cast

import pytest

from activities.operations.opening import Operations
from activities.releases.reader import ReleaseReader
from activities.releases.unpacked import Unpacked
from activities.secrets.masking import MASK
from activities.terraform import commands
from activities.terraform.state_keys import state_key
from activities.terraform.tool import TerraformTool
from activities.terraform.workspace import Workspace, prepare
from activities.workplace import Workplace
from apps.config.app import AppConfig
from apps.config.components import TerraformComponent
from apps.config.inputs import Input
from apps.config.metadata import Metadata
from apps.config.terraform import Sandbox
from apps.parts import SANDBOX
from contracts.errors import BadConfig, BadInput, EngineFailed, NotThere
from contracts.messages import OperationInput, Turn
from store.folder import FolderStore
from store.install_records import ComponentRecord, Output
from store.install_state import InstallState
from store.interface import ANY
from workers.engines import ENGINES

SECRET = "hunter2hunter2"
TOOL = TerraformTool(Path("/bin/terraform"), "terraform", "1.11.4", "linux_amd64")
RELEASE = "sha256:" + "1" * 64
SANDBOXED = {"type": "terraform"}


class FakeReader:
    """A release whose component and sandbox have one file each."""

    def __init__(self, sandbox: dict[str, Any] | None = None, **component: Any) -> None:
        base = {
            "type": "terraform_module", "name": "net", "terraform_version": "1.11",
            "public_repo": {"repo": ".", "directory": "m"},
        }  # fmt: skip
        named = {"display_name": "", "description": ""}
        self._config = AppConfig(
            metadata=Metadata(version="v2"),
            components=[TerraformComponent.model_validate(base | component)],
            sandbox=None if sandbox is None else Sandbox.model_validate(base | SANDBOXED | sandbox),
            inputs=[
                Input.model_validate({"name": "zone", "default": "a", **named}),
                Input.model_validate({"name": "license", "sensitive": True, **named}),
                Input.model_validate({"name": "must", "type": "number", "default": 1, **named}),
            ],
        )

    def config(self, app: str, release: str) -> AppConfig:
        return self._config

    def unpack_module(self, app: str, release: str, component: str, destination: Path) -> Unpacked:
        destination.mkdir(parents=True, exist_ok=True)
        (destination / "main.tf").write_text('terraform { backend "s3" {} }\n')
        return Unpacked("sha256:artifact", destination)


class Site:
    def __init__(self, root: Path) -> None:
        self.data = root / "data"
        self.data.mkdir()
        self.store = FolderStore(root / "store")
        self.state = InstallState(self.store, "acme", "dev")

    def prepare(self, component: str = "net", **fields: Any) -> Workspace:
        workplace = Workplace(
            engines=ENGINES,
            install="acme",
            org="dev",
            data=self.data,
            store=self.store,
            state=self.state,
            operations=cast(Operations, None),
            open_releases=lambda: cast(ReleaseReader, FakeReader(**fields)),
        )
        turn = Turn(number=1, workflow_id="deploy/acme/1")
        return prepare(
            workplace,
            OperationInput(
                install="acme", app="shop", release=RELEASE, component=component, key="k", turn=turn
            ),
        )


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def variables(space: Workspace) -> Any:
    return json.loads((space.folder / "exclave-vars.auto.tfvars.json").read_bytes())


def test_variables_are_rendered_from_the_state(site: Site) -> None:
    space = site.prepare(
        vars={"zone": "{{ .nuon.inputs.inputs.zone }}", "n": 3, "l": ["{{ .nuon.install.id }}"]}
    )
    assert variables(space) == {"zone": "a", "n": 3, "l": ["acme"]}
    assert (space.folder / "main.tf").exists()
    assert (space.artifact, space.part) == ("sha256:artifact", "net")


def test_the_backend_is_the_store_whatever_the_module_says(site: Site) -> None:
    space = site.prepare()
    override = json.loads((space.folder / "exclave_backend_override.tf.json").read_bytes())
    assert override == {"terraform": {"backend": {"local": {"path": str(state_file(space))}}}}
    assert state_file(space) == site.store.root / state_key("net")
    assert state_file(space).parent.is_dir()


def test_everything_rendered_is_for_its_owner_alone(site: Site) -> None:
    site.state.set_sensitive_input("license", SECRET)
    space = site.prepare(
        vars={"key": "{{ .nuon.inputs.inputs.license }}"},
        var_file=[{"contents": 'other = "{{ .nuon.inputs.inputs.license }}"'}],
    )
    holding = [p for p in space.folder.rglob("*") if p.is_file() and SECRET in p.read_text()]
    assert sorted(path.name for path in holding) == [
        "exclave-000.auto.tfvars",
        "exclave-vars.auto.tfvars.json",
    ]
    ours = [path for path in space.folder.iterdir() if path.name.startswith("exclave")]
    assert {path.stat().st_mode & 0o777 for path in ours} == {0o600}
    assert state_file(space).parent.stat().st_mode & 0o777 == 0o700


def test_secrets_reach_the_mask_however_they_are_used(site: Site) -> None:
    site.state.set_sensitive_input("license", SECRET)
    site.state.put_component(
        ComponentRecord(
            component="db", type="terraform_module", status="done", app="shop", release="r",
            artifact="a", config="c",
            outputs={"password": Output(value="db-password", sensitive=True)},
        )
    )  # fmt: skip
    space = site.prepare(
        vars={"url": "u:{{ .nuon.inputs.inputs.license }}@h"},
        env_vars={"TOKEN": "t-{{ .nuon.inputs.inputs.license }}-t"},
    )
    assert variables(space)["url"] == f"u:{SECRET}@h"
    for secret in (SECRET, "db-password", f"u:{SECRET}@h", f"t-{SECRET}-t"):
        assert space.mask.text(f"it says {secret} there") == f"it says {MASK} there"
    assert space.environment["TOKEN"] == f"t-{SECRET}-t"


def test_files_of_another_release_are_gone(site: Site) -> None:
    files = [{"contents": "a = 1"}, {"contents": '{"b": 2}'}]
    space = site.prepare(var_file=files, vars={"zone": "b"})
    names = {path.name for path in space.folder.glob("exclave-*")}
    assert names == {
        "exclave-000.auto.tfvars", "exclave-001.auto.tfvars.json", "exclave-vars.auto.tfvars.json",
    }  # fmt: skip
    assert sorted(names)[-1] == "exclave-vars.auto.tfvars.json", "vars win over files"
    space = site.prepare()
    assert {path.name for path in space.folder.glob("exclave-*")} == {
        "exclave-vars.auto.tfvars.json"
    }
    assert variables(space) == {}


def test_it_is_rebuilt_when_it_is_gone(site: Site) -> None:
    first = site.prepare(vars={"zone": "a"})
    shutil.rmtree(first.folder)
    assert variables(site.prepare(vars={"zone": "a"})) == {"zone": "a"}


def test_what_cannot_be_rendered_is_reported_with_the_component(site: Site) -> None:
    with pytest.raises(BadConfig, match="net: "):
        site.prepare(vars={"x": "{{ .nuon.components.nothing.outputs.id }}"})


def test_an_input_that_does_not_fit_is_bad_input(site: Site) -> None:
    site.store.put("inputs/current.json", b'{"revision": 1, "values": {"must": "x"}}', if_match=ANY)
    with pytest.raises(BadInput, match="must"):
        site.prepare()


def test_a_component_that_is_not_in_the_release(site: Site) -> None:
    with pytest.raises(NotThere, match="'other'"):
        site.prepare(component="other")
    with pytest.raises(NotThere, match="has no sandbox"):
        site.prepare(SANDBOX)


def test_the_sandbox_has_a_folder_and_a_state_of_its_own(site: Site) -> None:
    space = site.prepare(SANDBOX, sandbox={"vars": {"zone": "{{ .nuon.inputs.inputs.zone }}"}})
    assert variables(space) == {"zone": "a"}
    assert space.folder == site.data / "work" / "acme" / SANDBOX
    assert state_file(space) == site.store.root / state_key(SANDBOX)
    assert state_file(space) != state_file(site.prepare())


def test_the_sandbox_sees_nothing_that_comes_after_it(site: Site) -> None:
    site.state.put_component(
        ComponentRecord(
            component="net", type="terraform_module", status="done", app="shop", release="r",
            artifact="a", config="c", outputs={"id": Output(value="1")},
        )
    )  # fmt: skip
    sees: dict[str, Any] = {"vars": {"x": "{{ .nuon.components.net.outputs.id }}"}}
    with pytest.raises(BadConfig, match="sandbox: "):
        site.prepare(SANDBOX, sandbox=sees)
    assert variables(site.prepare(sandbox={}, **sees)) == {"x": "1"}


def test_what_is_set_by_the_worker_is_reported_with_the_sandbox(site: Site) -> None:
    with pytest.raises(BadConfig, match=r"sandbox: env_vars\.TF_WORKSPACE is set by the worker"):
        site.prepare(SANDBOX, sandbox={"env_vars": {"TF_WORKSPACE": "other"}})


def state_file(space: Workspace) -> Path:
    return Path(space.backend.where())


def initialised(space: Workspace, backend: dict[str, Any]) -> None:
    record = space.folder / ".terraform" / "terraform.tfstate"
    record.parent.mkdir(exist_ok=True)
    record.write_text(json.dumps({"backend": backend}))


def test_init_is_remembered_for_its_plan_and_artifact_alone(site: Site) -> None:
    space = site.prepare()
    assert not space.is_initialised_for("plan/1")
    initialised(space, {"type": "local", "config": {"path": str(state_file(space))}})
    space.initialised_for("plan/1")
    assert space.is_initialised_for("plan/1")
    assert not space.is_initialised_for("plan/2")
    assert site.prepare().is_initialised_for("plan/1")


@pytest.mark.parametrize(
    "backend", [{}, {"type": "s3", "config": {}}, {"type": "local", "config": {"path": "x"}}]
)
def test_another_backend_than_ours_is_refused(site: Site, backend: dict[str, Any]) -> None:
    space = site.prepare()
    initialised(space, backend)
    with pytest.raises(EngineFailed, match=r"(?s)net: .*backend"):
        space.initialised_for("plan/1")
    assert not space.is_initialised_for("plan/1")


@pytest.mark.parametrize("name", ["TF_WORKSPACE", "TF_CLI_ARGS_plan", "PATH", "LD_PRELOAD"])
def test_what_would_change_how_terraform_works_is_refused(site: Site, name: str) -> None:
    with pytest.raises(BadConfig, match=f"net: env_vars.{name} is set by the worker"):
        site.prepare(env_vars={"TF_VAR_zone": "a", name: "x"})


def test_the_files_of_variables_are_given_in_their_order(site: Site) -> None:
    files = [{"contents": "a = 1"}, {"contents": '{"b": 2}'}]
    space = site.prepare(var_file=files, vars={"zone": "b"})
    [init, *planning] = [
        commands.initialise(TOOL),
        *commands.plan(
            TOOL, Path("p"), teardown=False, variable_files=space.variable_files, replace=['x["k"]']
        ),
    ]
    given = [one for one in planning[0].argv if one.startswith(("-var", "-replace"))]
    assert given == [*(f"-var-file={path}" for path in space.variable_files), '-replace=x["k"]']
    assert [path.name for path in space.variable_files] == [
        "exclave-000.auto.tfvars", "exclave-001.auto.tfvars.json", "exclave-vars.auto.tfvars.json",
    ]  # fmt: skip
    assert not any("-var" in one for one in init.argv)


def test_a_state_that_could_not_be_written_is_never_touched(site: Site) -> None:
    space = site.prepare()
    (space.folder / "errored.tfstate").write_text('{"lineage": "l", "serial": 2}')
    space = site.prepare()
    assert (space.folder / "errored.tfstate").read_text() == '{"lineage": "l", "serial": 2}'
    assert not state_file(space).exists()
