"""The backend on a bucket: which identity Terraform uses there, and how it finds the rest."""

import os
from pathlib import Path

import pytest

from activities.terraform.backends.interface import Backend
from activities.terraform.backends.registry import backend_of
from activities.terraform.tool import TerraformTool
from contracts.errors import ToolMissing
from store.opening import open_store, s3_description
from store.s3_place import S3Place

pytestmark = pytest.mark.usefixtures("s3_environment")


def backend(region: str = "eu-west-1", endpoint: str = "") -> Backend:
    store = open_store(s3_description(S3Place("bucket", "acme", region, endpoint)))
    return backend_of(store, "net")


def test_on_aws() -> None:
    assert backend().config == {
        "bucket": "bucket",
        "key": "acme/terraform/net/terraform.tfstate",
        "region": "eu-west-1",
        "use_lockfile": True,
        "max_retries": 5,
        "skip_credentials_validation": True,
        "skip_requesting_account_id": True,
    }


def test_at_another_address() -> None:
    config = backend(region="", endpoint="http://127.0.0.1:9000").config
    assert config["endpoints"] == {"s3": "http://127.0.0.1:9000"}
    assert (config["use_path_style"], config["region"]) == (True, "us-east-1")
    # A machine's role works there too.
    assert "skip_metadata_api_check" not in config


def test_the_region_is_the_store_s_own_whatever_the_module_sets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    assert backend(region="").config["region"] == "eu-central-1"
    assert backend(region="us-west-2").config["region"] == "us-west-2"


def test_files_are_those_of_the_worker_s_own_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("[default]\n")
    (tmp_path / "token").write_text("t")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("AWS_SHARED_CREDENTIALS_FILE")
    monkeypatch.delenv("AWS_CONFIG_FILE")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "~/token")
    given = backend().environment
    assert given["AWS_SHARED_CREDENTIALS_FILE"] == str(tmp_path / ".aws" / "credentials")
    assert given["AWS_WEB_IDENTITY_TOKEN_FILE"] == str(tmp_path / "token")
    assert "AWS_CONFIG_FILE" not in given
    assert "AWS_CA_BUNDLE" not in given


def test_identities_are_not_mixed() -> None:
    own = backend()
    assert own.environment_beside({})["AWS_SECRET_ACCESS_KEY"]
    assert own.environment_beside({"AWS_REGION": "x"})["AWS_SECRET_ACCESS_KEY"]
    left = own.environment_beside({"AWS_ACCESS_KEY_ID": "the module's"})
    assert not {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} & left.keys()
    assert left["AWS_EC2_METADATA_DISABLED"] == os.environ["AWS_EC2_METADATA_DISABLED"]


def test_a_tool_that_cannot_lock_is_refused() -> None:
    old = TerraformTool(Path("/t"), "terraform", "1.9.8", "linux_amd64")
    with pytest.raises(ToolMissing, match=r"since version 1\.10, but this worker has 1\.9\.8"):
        backend().require(old)
    backend().require(TerraformTool(Path("/t"), "tofu", "1.10.0-beta1", "linux_amd64"))
