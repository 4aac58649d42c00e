"""A store is passed on by its description; and what importing it costs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stacks.enrolment import Enrolment
from store.interface import ABSENT
from store.opening import open_store, s3_description
from store.s3 import S3Store
from store.s3_place import S3Place
from tests.s3_server import ENVIRONMENT

ROOT = Path(__file__).resolve().parents[2]

OF_S3 = {"boto3", "botocore", "urllib3"}
"""Some 40 MB in total."""

ENROLMENT = Enrolment.of(
    install="acme", namespace="dev", temporal="127.0.0.1:1", releases="http://127.0.0.1:1"
)


def test_a_described_store_is_the_same_store(described: Any) -> None:
    described.store.put("a", b"1", if_match=ABSENT)
    opened = open_store(json.loads(json.dumps(described.description)))
    found = opened.get("a")
    assert found is not None
    assert found.data == b"1"
    if isinstance(opened, S3Store):
        opened.close()


def test_no_credentials_are_passed_on(s3_place: S3Place) -> None:
    passed = s3_description(s3_place)
    assert set(passed) == {"kind", "bucket", "prefix", "region", "endpoint"}
    assert not set(ENVIRONMENT.values()) & set(passed.values())
    least = s3_description(S3Place("bucket"))
    assert least == {"kind": "s3", "bucket": "bucket"}
    assert open_store(least).s3_place() == S3Place("bucket")


def test_an_unknown_kind_is_reported() -> None:
    with pytest.raises(ValueError, match="'tape' is not known"):
        open_store({"kind": "tape"})


def test_what_the_supervisor_imports_is_small() -> None:
    loaded = _loaded_by("activities.operations.supervisor")
    assert "store.leases" in loaded
    assert not {"pydantic", "temporalio", "contracts", "asyncio", *OF_S3} & loaded


@pytest.mark.long
def test_a_worker_imports_nothing_of_s3_unless_it_has_such_a_store(tmp_path: Path) -> None:
    (tmp_path / "acme.toml").write_text(ENROLMENT.render())
    opened = f"""
from pathlib import Path
from activities.customer.rules import rules_of
from artifacts.registry import Registry
from stacks.enrolment import Enrolment
file, data = Path("{tmp_path}/acme.toml"), Path("{tmp_path}")
releases = lambda: Registry("http://127.0.0.1:1")
workers.install.open_workplace(Enrolment.read(file), data, releases, rules_of(file, None))
"""
    loaded = _loaded_by("workers.install", opened)
    assert "store.folder" in loaded
    assert not OF_S3 & loaded


def _loaded_by(module: str, then: str = "") -> set[str]:
    code = f"import sys, {module}\n{then}\nprint(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())
