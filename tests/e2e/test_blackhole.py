"""A way to the gateway that loses every packet for a while, in the middle of an apply.

Nobody is told: there is no reset, and no word from a router. By hand, for as long as in the field:

    pytest tests/e2e/test_blackhole.py --blackhole-minutes 15 --timeout 0 -s
"""

import time
from pathlib import Path

import pytest

from tests.e2e.apps_for_tests import Component
from tests.e2e.customer_network import GATEWAY_NAME, PORT, V4, customer_network
from tests.e2e.customers_machine import WorkerInNetwork, enrolled_site
from tests.e2e.install_site import Site
from tests.e2e.plane import Plane, until


def test_an_apply_outlives_a_blackhole_that_heals(
    plane_with_gateway: Plane, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    seconds = 60 * request.config.getoption("--blackhole-minutes")
    app = [
        # One ends in the middle of it, so that its result has to wait; the other after it.
        Component("within", resources=3, seconds_of={2: 5}),
        Component("beyond", resources=2, seconds_of={1: seconds + 10}),
    ]
    with customer_network(plane_with_gateway) as network:
        network.customer.etc("hosts", f"127.0.0.1 localhost\n{V4.gateway} {GATEWAY_NAME}\n")
        worker = WorkerInNetwork(plane_with_gateway, "blackhole", tmp_path, network, GATEWAY_NAME)
        try:
            site = enrolled_site(worker, app, tmp_path)
            run = site.deploy(site.release)
            site.approve_all(run, 2)
            for line in ("within.r2", "beyond.r1"):
                site.wait_for_line(line)
            before = worker.connections()
            assert before

            network.blackhole()
            began = time.monotonic()
            ok, checks = worker.doctor(worker.enrolment)
            [said] = [one["said"] for one in checks if one["check"] == "connect"]
            assert not ok and said == f"{V4.gateway}:{PORT} does not answer: packets are dropped"
            until(lambda: "within.r3" in site.lines(), "the apply that ends in between")
            # Nothing but time passes: longer than heartbeats, and all that keeps connections.
            time.sleep(began + seconds - time.monotonic())
            assert _attempts(site, run) > 2, "nobody noticed"
            network.heal()
            healed = time.monotonic()

            answer = site.completed(run)
            print(f"done {time.monotonic() - healed:.0f} s after {seconds:.0f} s without packets")
            assert {one["outcome"] for one in answer["components"]} == {"applied"}
            lines = ["beyond.r1", "beyond.r2", "within.r1", "within.r2", "within.r3"]
            assert sorted(site.lines()) == lines
            assert worker.process is not None and worker.process.poll() is None
            assert worker.log.read_text().count("Working on the queue") == worker.starts == 1
            assert worker.connections().keys() - before.keys(), "it dialled anew"
        finally:
            worker.stop()


def _attempts(site: Site, run: str) -> int:
    """Of all applies that are under way: Temporal counts one more when heartbeats stay away."""
    described = site.plane.temporal("workflow", "describe", "--workflow-id", run)
    return sum(
        int(one.get("attempt", 1))
        for one in described.get("pendingActivities", [])
        if one["activityType"]["name"] == "terraform.apply"
    )
