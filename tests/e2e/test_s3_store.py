"""An install whose store is a bucket: deployed, killed in the middle, and taken down."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.interface import Store
from store.opening import open_store, s3_description
from store.s3_place import S3Place
from tests.e2e.apps_for_tests import Component
from tests.e2e.install_site import Site
from tests.e2e.plane import InstallWorker, Plane
from tests.s3_server import ENVIRONMENT, S3Server

LONG = Component("long", resources=3, seconds=3)


@pytest.fixture
def place(s3_server: S3Server) -> S3Place:
    return S3Place(s3_server.make_bucket(), "acme", "us-east-1", s3_server.endpoint)


@pytest.fixture
def store(place: S3Place, s3_environment: None) -> Store:
    return open_store(s3_description(place))


@pytest.fixture
def in_s3(
    plane: Plane, place: S3Place, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Site]:
    install = request.node.name.removeprefix("test_").replace("_", "-")[:50].strip("-")
    worker = InstallWorker(plane, install, tmp_path)
    with worker.enrolment.open("a") as enrolment:
        enrolment.write(
            f'store = "s3://{place.bucket}/{place.prefix}"\nstore_region = "{place.region}"\n'
            f'store_endpoint = "{place.endpoint}"\n'
        )
    one = Site(plane, install, f"{install}-app"[:60], worker, tmp_path / "lines", tmp_path)
    worker.start(**ENVIRONMENT)
    yield one
    worker.stop()


def test_a_life_in_a_bucket(in_s3: Site, store: Store) -> None:
    release = in_s3.build([Component("net"), Component("api", needs=["net"])])
    in_s3.begin(release)
    run = in_s3.deploy(release)
    in_s3.approve_all(run, 2)
    assert in_s3.outcomes(run) == {"net": "applied", "api": "applied"}
    assert store.get("terraform/api/terraform.tfstate") is not None
    assert not (in_s3.worker.data / "store").exists()
    run = in_s3.start("deprovision", {})
    in_s3.approve_all(run, 2)
    assert in_s3.outcomes(run) == {"net": "torn down", "api": "torn down"}
    # The journals, and what the customer has decided: records, by which nothing is done twice.
    kept = ("journals/", "customer/")
    assert [key for key in store.list("") if not key.startswith(kept)] == []


def test_everything_is_killed_and_the_lock_is_left(in_s3: Site, store: Store) -> None:
    release = in_s3.build([LONG])
    in_s3.begin(release)
    run = in_s3.deploy(release)
    in_s3.plane.approve_one(run)
    in_s3.wait_for_line("long.r2")
    victims = [in_s3.worker.supervisor(), in_s3.worker.terraform()]
    in_s3.worker.kill()
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    assert store.get("terraform/long/terraform.tfstate.tflock") is not None
    in_s3.worker.start(**ENVIRONMENT)
    assert in_s3.outcomes(run) == {"long": "applied"}
    assert store.get("terraform/long/terraform.tfstate.tflock") is None
    assert in_s3.worker.log.read_text().count("broke the state lock") == 1
    # Terraform writes a state that is far away every 20 s only: what was made since is made again.
    assert set(in_s3.lines()) == {"long.r1", "long.r2", "long.r3"}
