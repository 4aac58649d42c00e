"""A customer's side that has no IPv4: everything goes by IPv6, to a name and to an address."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.apps_for_tests import Component
from tests.e2e.customer_network import GATEWAY_NAME, PORT, V4, V6, CustomerNetwork, customer_network
from tests.e2e.customers_machine import WorkerInNetwork, enrolled_site
from tests.e2e.plane import Plane

APP = [Component("app")]


@pytest.fixture(scope="module")
def network(plane_with_gateway: Plane) -> Iterator[CustomerNetwork]:
    with customer_network(plane_with_gateway, (V6,)) as built:
        # The gateway has both kinds of address, and here one of them leads nowhere.
        built.customer.etc(
            "hosts",
            f"::1 localhost\n{V4.gateway} {GATEWAY_NAME}\n{V6.gateway} {GATEWAY_NAME}\n",
        )
        built.customer.etc("resolv.conf", "")
        yield built


@pytest.mark.parametrize("named", [GATEWAY_NAME, f"[{V6.gateway}]"], ids=["name", "address"])
def test_a_worker_without_ipv4(
    plane_with_gateway: Plane,
    network: CustomerNetwork,
    tmp_path: Path,
    named: str,
    request: pytest.FixtureRequest,
) -> None:
    assert network.customer.why_unreachable(V4.gateway, PORT) == "Network is unreachable"
    install = f"v6-{request.node.callspec.id}"
    worker = WorkerInNetwork(plane_with_gateway, install, tmp_path, network, named)
    try:
        # It has enrolled, then.
        site = enrolled_site(worker, APP, tmp_path)
        run = site.deploy(site.release)
        site.approve_all(run, 1)
        # It has pulled the release.
        assert site.outcomes(run) == {"app": "applied"}
        assert set(worker.connections().values()) == {f"[{V6.gateway}]:{PORT}"}
        ok, checks = worker.doctor(worker.enrolment)
        assert ok, checks
    finally:
        worker.stop()
