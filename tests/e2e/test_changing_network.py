"""A worker that stays while the network changes under it: it goes on, and is not restarted."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.apps_for_tests import Component
from tests.e2e.customer_network import (
    GATEWAY_NAME,
    PORT,
    TO_CUSTOMER,
    V4,
    CustomerNetwork,
    customer_network,
)
from tests.e2e.customers_machine import WorkerInNetwork, enrolled_site
from tests.e2e.install_site import Site
from tests.e2e.middlebox import middlebox
from tests.e2e.name_server import NameServer, name_server
from tests.e2e.plane import Plane, until

APP = [Component("app")]
PINGS_EVERY_SECONDS, WAITS_SECONDS = 30, 15
"""The SDK's own."""


@pytest.fixture
def network(plane_with_gateway: Plane) -> Iterator[CustomerNetwork]:
    with customer_network(plane_with_gateway) as built:
        yield built


def deployed(site: Site) -> None:
    """Whatever the network has done: the worker takes the work, and it is the same process."""
    run = site.deploy(site.release)
    site.approve_all(run, 1)
    assert site.outcomes(run) == {"app": "applied"}
    assert site.lines() == ["app.r1"]
    worker = site.worker
    assert worker.process is not None and worker.process.poll() is None
    assert worker.log.read_text().count("Working on the queue") == worker.starts == 1


def test_the_gateways_name_moves_to_another_address(
    plane_with_gateway: Plane, network: CustomerNetwork, tmp_path: Path
) -> None:
    network.customer.etc("hosts", "127.0.0.1 localhost\n")
    network.customer.etc("resolv.conf", f"nameserver {V4.way_to_customer}\noptions timeout:1\n")
    names = NameServer(GATEWAY_NAME, [V4.gateway])
    worker = WorkerInNetwork(plane_with_gateway, "moved", tmp_path, network, GATEWAY_NAME)
    with name_server(network.way, V4.way_to_customer, names):
        try:
            site = enrolled_site(worker, APP, tmp_path)
            assert set(worker.connections().values()) == {f"{V4.gateway}:{PORT}"}
            network.edge.serve(V4.moved_gateway, PORT, plane_with_gateway.gateway)
            names.addresses = [V4.moved_gateway]
            network.vendor.ip("address", "delete", f"{V4.gateway}/32", "dev", TO_CUSTOMER)
            assert network.customer.why_unreachable(V4.gateway, PORT) == "timed out"
            began = time.monotonic()
            deployed(site)
            print(f"after the name had moved: done in {time.monotonic() - began:.0f} s")
            assert f"{V4.moved_gateway}:{PORT}" in worker.connections().values()
        finally:
            worker.stop()


def test_a_middlebox_forgets_who_is_silent(
    plane_with_gateway: Plane,
    network: CustomerNetwork,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """One that forgets after 50 s forgets no worker; whom a faster one forgets comes again.

    By hand, as it is in the field:

        pytest tests/e2e/test_changing_network.py -k middlebox --middlebox-seconds 50 -s
    """
    silence: float = request.config.getoption("--middlebox-seconds")
    network.customer.etc("hosts", f"127.0.0.1 localhost\n{V4.gateway} {GATEWAY_NAME}\n")
    worker = WorkerInNetwork(plane_with_gateway, "silent", tmp_path, network, GATEWAY_NAME)
    with middlebox(network.way, TO_CUSTOMER, silence) as box:
        try:
            site = enrolled_site(worker, APP, tmp_path)
            before = ports(worker)
            if silence < PINGS_EVERY_SECONDS:
                until(lambda: before <= set(box.forgotten), "the worker's silence")
            elif silence >= PINGS_EVERY_SECONDS + WAITS_SECONDS:
                time.sleep(2.5 * silence)
                after = ports(worker)
                assert after and after <= before, "it had to come again"
                assert not after & set(box.forgotten)
            else:
                pytest.fail("whether that is too much silence depends on the moment")
            began = time.monotonic()
            deployed(site)
            print(f"after {silence:.0f} s of silence: done in {time.monotonic() - began:.0f} s")
        finally:
            worker.stop()


def ports(worker: WorkerInNetwork) -> set[int]:
    return {int(own.rpartition(":")[2]) for own in worker.connections()}
