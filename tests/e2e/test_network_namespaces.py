"""The customer's side as it is in the field: a route to the gateway, and to nothing else."""

from collections.abc import Iterator

import pytest

from tests.e2e.apps_for_tests import Component
from tests.e2e.customer_network import (
    GATEWAY_NAME,
    PORT,
    REGISTRY_PORT,
    TEMPORAL_PORT,
    V4,
    CustomerNetwork,
    customer_network,
)
from tests.e2e.customers_machine import WorkerInNetwork, enrolled_site
from tests.e2e.histories_at_rest import PLAIN_BY_NATURE, plain_payloads
from tests.e2e.install_site import Site
from tests.e2e.plane import Plane

APP = [Component("net"), Component("app", resources=2, needs=["net"])]


@pytest.fixture(scope="module")
def network(plane_with_gateway: Plane) -> Iterator[CustomerNetwork]:
    with customer_network(plane_with_gateway) as built:
        built.customer.etc("hosts", f"127.0.0.1 localhost\n{V4.gateway} {GATEWAY_NAME}\n")
        built.customer.etc("resolv.conf", "")
        yield built


@pytest.fixture(scope="module")
def customers(
    plane_with_gateway: Plane, network: CustomerNetwork, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("customer")
    worker = WorkerInNetwork(plane_with_gateway, "isolated", folder, network, GATEWAY_NAME)
    try:
        yield enrolled_site(worker, APP, folder)
    finally:
        worker.stop()


def in_network(site: Site) -> WorkerInNetwork:
    assert isinstance(site.worker, WorkerInNetwork)
    return site.worker


def test_the_customers_side_reaches_the_gateway_and_nothing_else(
    customers: Site, network: CustomerNetwork
) -> None:
    elsewhere = [(V4.temporal, TEMPORAL_PORT), (V4.registry, REGISTRY_PORT)]
    # They are there: where there is a route, they are reached.
    assert [network.way.why_unreachable(*one) for one in elsewhere] == ["", ""]
    for one in (*elsewhere, (V4.internet, PORT), (V4.way_to_edge, PORT), ("127.0.0.1", PORT)):
        why = "Connection refused" if one[0] == "127.0.0.1" else "Network is unreachable"
        assert network.customer.why_unreachable(*one) == why, one
    worker = in_network(customers)
    gateway = f"{V4.gateway}:{PORT}"
    assert set(worker.connections().values()) == {gateway}

    run = customers.deploy(customers.release)
    customers.approve_all(run, 2)
    assert customers.outcomes(run) == {"net": "applied", "app": "applied"}
    assert customers.lines() == ["net.r1", "app.r1", "app.r2"]
    assert set(worker.connections().values()) == {gateway}
    assert set(plain_payloads(customers.plane.address, run)) <= PLAIN_BY_NATURE


def test_the_doctor_says_what_has_no_route(customers: Site) -> None:
    worker = in_network(customers)
    ok, checks = worker.doctor(worker.enrolment)
    assert ok, checks
    worker.direct_enrolment.write_text(
        f'temporal = "{V4.temporal}:{TEMPORAL_PORT}"\n'
        f'releases = "http://{V4.registry}:{REGISTRY_PORT}"\n'
        f'namespace = "dev"\ninstall = "{worker.install}"\n'
    )
    ok, checks = worker.doctor(worker.direct_enrolment)
    told = {one["place"]: one["said"] for one in checks if one["check"] == "connect"}
    assert not ok
    assert told == {
        f"temporal {V4.temporal}:{TEMPORAL_PORT}": (
            f"{V4.temporal}:{TEMPORAL_PORT} has no route from here (IPv4)"
        ),
        f"releases http://{V4.registry}:{REGISTRY_PORT}": (
            f"{V4.registry}:{REGISTRY_PORT} has no route from here (IPv4)"
        ),
    }


def test_nothing_can_connect_to_the_customers_side(
    customers: Site, network: CustomerNetwork
) -> None:
    """Not even from the gateway's own address, which is the only one it could answer."""
    assert customers.worker.process is not None and customers.worker.process.poll() is None
    assert network.customer.sockets("-l", "-tu") == []
    assert network.vendor.open_ports(V4.customer, V4.gateway) == []
