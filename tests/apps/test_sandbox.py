"""The sandbox of an app: checked as components are, and what its templates and others' may read."""

import pytest

from apps.config.terraform import Sandbox
from tests.apps.app_folder import ACTION, DB, MODULE, App

SANDBOX = """terraform_version = "1.11.4"
public_repo = { repo = ".", directory = "modules/ground" }
vars = { zone = "{{ .nuon.inputs.inputs.zone }}" }
"""
GROUND = MODULE + 'output "network" {\n  value = 1\n}\n'


@pytest.fixture
def app(app: App) -> App:
    app.write("sandbox.toml", SANDBOX)
    app.write("modules/ground/main.tf", GROUND)
    return app


def reading(app: App, path: str) -> App:
    app.write("components/db.toml", DB.replace('"z"', f'"{{{{ {path} }}}}"'))
    return app


def test_a_sandbox_is_loaded(app: App) -> None:
    more = 'env_vars = { A = "b" }\nmax_auto_retries = 2\ntype = "terraform"\n'
    app.write("sandbox.toml", SANDBOX + more + '[[var_file]]\ncontents = "./sandbox.tfvars"\n')
    app.write("sandbox.tfvars", "size = 3\n")
    loaded = app.load()
    assert loaded.warnings == []
    sandbox = loaded.config.sandbox
    assert isinstance(sandbox, Sandbox)
    assert loaded.config.part("_sandbox") is sandbox
    assert (sandbox.type, sandbox.max_auto_retries) == ("terraform", 2)
    assert sandbox.public_repo is not None
    assert sandbox.public_repo.directory == "modules/ground"
    assert sandbox.var_file[0].contents == "size = 3\n"


def test_an_empty_file_is_no_sandbox(app: App) -> None:
    app.write("sandbox.toml", "# later\n")
    assert app.load().config.sandbox is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('terraform_version = "1.11.4"\n', "", "terraform_version: is required"),
        ('terraform_version = "1.11.4"\n', 'type = "pulumi"\n', "runtime: is required"),
        ("terraform_v", 'type = "teraform"\nterraform_v', "did you mean `terraform`?"),
        ("terraform_v", "type = 1\nterraform_v", "type: must be a string, not an integer"),
        ('repo = "."', 'repo = "vendor/ground"', "branch: is required: which branch of `vendor/gr"),
        (
            "modules/ground",
            "modules/grund",
            "is not a folder in the config; did you mean `modules/gr",
        ),
        ("vars = {", 'vars = { sice = "1",', "no variable `sice`; did you mean `size`?"),
        ("vars =", "# vars =", "vars.zone: is required: the module in `modules/ground` declares"),
        ("vars =", 'env_vars = { TF_LOG = "x" }\nvars =', "env_vars.TF_LOG: is set by the worker"),
        (".zone }}", ".zon }}", "vars.zone: there is no input `zon`; did you mean `zone`?"),
        ("{{ .nuon.inputs", "{{ nothing .nuon.inputs", "vars.zone: line 1, column 4 of the templa"),
        ("inputs.inputs.zone", "instal.id", "did you mean `install`?"),
    ],
)
def test_each_mistake_is_told(app: App, old: str, new: str, message: str) -> None:
    assert old in SANDBOX
    app.write("sandbox.toml", SANDBOX.replace(old, new, 1))
    error = app.only_error()
    assert error.startswith("sandbox.toml: ") and message in error, error


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("terraform {\n  cloud {}\n}\n", "modules/ground/main.tf: terraform.cloud: a `cloud`"),
        (
            'module "m" {\n  source = "../dbb"\n}\n',
            "modules/ground/main.tf: the module's source `../dbb` is not",
        ),
    ],
)
def test_a_module_that_cannot_be_deployed(app: App, extra: str, message: str) -> None:
    app.write("modules/ground/main.tf", GROUND + extra)
    assert message in app.only_error()


def test_it_is_one_file(app: App) -> None:
    app.write("sandbox/main.toml", SANDBOX)
    app.load()  # content beside it, such as a module's
    (app.root / "sandbox.toml").unlink()
    reading(app, ".nuon.sandbox.outputs.network")
    assert app.only_error() == "sandbox/: the sandbox is one file, `sandbox.toml`; move it there"
    app.write("sandbox/main.toml", "# later\n")
    assert "leads to nothing: the app has no `sandbox.toml`" in app.only_error()


@pytest.mark.parametrize(
    "path",
    ["components.db.outputs.url", "components", "actions.workflows.check.status", "sandbox",
     "sandbox.outputs.network", "install.sandbox.status", "install"],
)  # fmt: skip
def test_it_sees_nothing_that_comes_after_it(app: App, path: str) -> None:
    app.write("sandbox.toml", SANDBOX.replace("inputs.inputs.zone", path))
    error = app.only_error()
    assert error == (
        f"sandbox.toml: vars.zone: `.nuon.{path}` cannot be read by the sandbox, which comes "
        "before components and actions: it sees inputs, the install's id and name, the app and "
        "the org"
    )


@pytest.mark.parametrize(
    "path",
    ["id", "name", "org.id", "app.name", "install.id", "install.name", "install.inputs.zone"],
)
def test_it_sees_the_install_and_its_inputs(app: App, path: str) -> None:
    app.write("sandbox.toml", SANDBOX.replace("inputs.inputs.zone", path))
    app.load()


@pytest.mark.parametrize("root", [".nuon.sandbox", ".nuon.install.sandbox", ".exclave.sandbox"])
def test_others_read_it(app: App, root: str) -> None:
    for field in ("", ".status", ".type", ".version", ".outputs", ".outputs.network"):
        reading(app, root + field).load()
    env = f'env_vars = {{ N = "{{{{ {root}.outputs.network }}}}" }}\n'
    app.write("actions/check.toml", ACTION + env)
    app.load()


@pytest.mark.parametrize("root", [".nuon.sandbox", ".nuon.install.sandbox"])
def test_what_it_does_not_have_is_told(app: App, root: str) -> None:
    error = reading(app, f"{root}.outputs.netwrk").only_error()
    assert "vars.zone: the sandbox's module has no output `netwrk`; did you mean `ne" in error
    error = reading(app, f"{root}.output").only_error()
    assert f"there is no `{root}.output`; did you mean `outputs`?" in error


@pytest.mark.parametrize("root", [".nuon.sandbox", ".nuon.install.sandbox"])
def test_without_a_sandbox_nobody_reads_it(app: App, root: str) -> None:
    (app.root / "sandbox.toml").unlink()
    error = reading(app, f"{root}.outputs.network").only_error()
    assert f"`{root}.outputs.network` leads to nothing: the app has no `sandbox.toml`" in error


def test_a_sandbox_that_cannot_be_used_is_told_once(app: App) -> None:
    app.write("sandbox.toml", "terraform_version = \n")
    app.write("sandbox/values.toml", "x = 1")
    reading(app, ".nuon.sandbox.outputs.network")
    assert app.only_error().startswith("sandbox.toml: is not valid TOML")
    app.write("sandbox.toml", SANDBOX.replace("terraform_version", "terraform_versio"))
    errors = [error for error in app.errors() if not error.startswith("warning: ")]
    assert errors == ["sandbox.toml: terraform_version: is required"]


def test_no_component_is_shown_as_the_sandbox(app: App) -> None:
    app.write("components/other.toml", DB.replace('"db"', '"sandbox"', 1))
    assert "components/other.toml: name: is what people see the app's sandbox as" in (
        app.only_error()
    )
    (app.root / "sandbox.toml").unlink()
    app.load()
