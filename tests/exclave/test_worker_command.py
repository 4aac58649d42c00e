"""`exclave worker set-input` writes into the store that the enrolment names."""

import contextlib
import json
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


def set_input(
    folder: Path, enrolment: Enrolment, value: bytes = b"of-the-license\n"
) -> tuple[int, str]:
    (folder / "acme.toml").write_text(enrolment.render())
    data = folder / "data"
    data.mkdir(exist_ok=True)
    arguments = ["set-input", "license", "--enrolment", f"{folder}/acme.toml", "--data", str(data)]
    done = CliRunner().invoke(worker, arguments, input=value)
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


@pytest.mark.parametrize(
    ("given", "value", "told"),
    [
        (b"two\nlines\n", "two\nlines", ""),
        (b"\xef\xbb\xbfof-the-license\r\n", "of-the-license", "byte order mark"),
        (b"two\r\nlines\r\n", "two\nlines", "now they end with LF"),
        (b"abc", "abc", "cannot be masked"),
        (b"true\n", "true", "cannot be masked"),
        ("größe\n".encode(), "größe", ""),
    ],
)
def test_what_is_kept_of_a_value(tmp_path: Path, given: bytes, value: str, told: str) -> None:
    status, said = set_input(tmp_path, PLAIN, given)
    assert status == 0, said
    found = json.loads(kept(FolderStore(tmp_path / "data" / "store")))
    assert found == {"license": value}
    assert told in said.replace("\n", " ")
    assert told or said.count(".") == 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (b"\xff\xfes\0e\0", "not UTF-8"),
        (b"secret-\xff", "not UTF-8"),
        (b"secret-\0-of-it", "NUL"),
        (b"", "was empty"),
        (b"\r\n", "was empty"),
    ],
)
def test_what_no_run_could_use_is_refused(tmp_path: Path, given: bytes, told: str) -> None:
    """It was accepted, and each run failed afterwards."""
    status, said = set_input(tmp_path, PLAIN, given)
    assert (status, told in said.replace("\n", " ")) == (1, True), said
    assert "secret-" not in said
    assert FolderStore(tmp_path / "data" / "store").get("inputs/sensitive.json") is None


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
