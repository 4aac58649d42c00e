"""`exclave worker set-input` writes into the store that the enrolment names."""

import contextlib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exclave.worker import worker
from stacks.enrolment import Enrolment
from store import pausing
from store.folder import FolderStore
from store.interface import Store
from store.s3 import S3Store
from store.s3_place import S3Place
from tests.s3_server import S3Server

PLAIN = Enrolment.of(
    install="acme", namespace="dev", temporal="127.0.0.1:1", releases="http://127.0.0.1:1"
)


def set_input(folder: Path, enrolment: Enrolment) -> tuple[int, str]:
    (folder / "acme.toml").write_text(enrolment.render())
    data = folder / "data"
    data.mkdir()
    arguments = ["set-input", "license", "--enrolment", f"{folder}/acme.toml", "--data", str(data)]
    done = CliRunner().invoke(worker, arguments, input="of-the-license\n")
    return done.exit_code, done.output


def kept(store: Store) -> bytes:
    found = store.get("inputs/sensitive.json")
    assert found is not None
    return found.data


def test_into_the_folder(tmp_path: Path) -> None:
    status, said = set_input(tmp_path, PLAIN)
    assert status == 0, said
    assert b'"of-the-license"' in kept(FolderStore(tmp_path / "data" / "store"))
    assert "of-the-license" not in said


def test_into_the_bucket(tmp_path: Path, s3_server: S3Server, s3_environment: None) -> None:
    bucket = s3_server.make_bucket()
    named = {"store": f"s3://{bucket}/acme", "store_endpoint": s3_server.endpoint}
    status, said = set_input(tmp_path, PLAIN.model_copy(update=named))
    assert status == 0, said
    with contextlib.closing(S3Store(S3Place(bucket, "acme", "", s3_server.endpoint))) as store:
        assert b'"of-the-license"' in kept(store)
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.usefixtures("s3_environment")
def test_a_bucket_that_cannot_be_used_is_reported(tmp_path: Path, s3_server: S3Server) -> None:
    named = {"store": "s3://not-there/acme", "store_endpoint": s3_server.endpoint}
    status, said = set_input(tmp_path, PLAIN.model_copy(update=named))
    assert status == 1
    assert "there is no bucket not-there" in said.replace("\n", " ")
    assert "of-the-license" not in said


def test_the_customer_pauses_and_resumes_the_worker(tmp_path: Path) -> None:
    for command, words, paused in (
        ("pause", "takes no more work", True),
        ("pause", "The worker is already paused", True),
        ("resume", "takes work again", False),
        ("resume", "not paused", False),
    ):
        result = CliRunner().invoke(worker, [command, "--data", str(tmp_path)])
        assert (result.exit_code, words in result.stderr) == (0, True), result.stderr
        assert pausing.is_paused(tmp_path) is paused
