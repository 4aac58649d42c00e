"""Running Terraform processes are found by their names, in whatever folder they run."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.terraform.running_processes import is_terraform, may_be_open

KEY = f"acme-{os.getpid()}/terraform/net/terraform.tfstate"

linux = pytest.mark.skipif(sys.platform != "linux", reason="folders of processes are asked there")


@contextlib.contextmanager
def terraform_in(folder: Path, **environment: str) -> Iterator[None]:
    """Runs a process with Terraform's name while the block runs."""
    program = folder / "terraform"
    program.write_text("#!/bin/sh\necho here\nread line\n")
    program.chmod(0o700)
    with subprocess.Popen(
        [str(program)],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.communicate(b"\n", timeout=60)


def initialised(folder: Path, bucket: str = "bucket") -> None:
    folder.mkdir(parents=True)
    config = {"backend": {"type": "s3", "config": {"bucket": bucket, "key": KEY}}}
    (folder / "terraform.tfstate").write_text(json.dumps(config))


@linux
def test_one_on_the_state(tmp_path: Path) -> None:
    initialised(tmp_path / ".terraform")
    assert not may_be_open("bucket", KEY)
    with terraform_in(tmp_path):
        assert may_be_open("bucket", KEY)
        assert not may_be_open("bucket", f"{KEY}.other")
        assert not may_be_open("another", KEY)
    assert not may_be_open("bucket", KEY)


@linux
def test_one_whose_data_folder_is_elsewhere(tmp_path: Path) -> None:
    initialised(tmp_path / "data")
    with terraform_in(tmp_path, TF_DATA_DIR="data"):
        assert may_be_open("bucket", KEY)


@linux
def test_one_without_a_backend(tmp_path: Path) -> None:
    with terraform_in(tmp_path):
        assert not may_be_open("bucket", KEY)


def test_elsewhere_any_terraform_may_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.terraform.running_processes.sys.platform", "darwin")
    with terraform_in(tmp_path):
        assert may_be_open("bucket", KEY)


def test_names() -> None:
    for words in (["/usr/bin/terraform", "apply"], ["terraform_1.11"], ["python", "/x/terraform"],
                  ["tofu", "plan"]):  # fmt: skip
        assert is_terraform(words)
    for words in (["python", "-m", "terraform"], ["vim", "x/main.tf"], [""], []):
        assert not is_terraform(words)
