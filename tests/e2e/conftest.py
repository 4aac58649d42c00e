"""One control plane for all end-to-end tests; an install, and its worker, for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.customers_machine import guarded_plane
from tests.e2e.install_site import Site
from tests.e2e.plane import InstallWorker, Plane
from tests.terraform import the_terraform

LONGEST_FIRST = (
    "test_random_kills.py",
    "test_death.py",
    # These mostly wait for time to pass.
    "test_changing_network.py",
    "test_blackhole.py",
    "test_every_history.py",
    "test_demo.py",
)
"""Files run beside each other (`-n`): what takes minutes must not begin last."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))
    for item in items:
        if Path(item.fspath).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    the_terraform()
    # An Install that continues as new all the time: none of the tests may notice.
    often: dict[str, object] = {"limit.historyCount.suggestContinueAsNew": 50}
    one = Plane(tmp_path_factory.mktemp("plane"), often)
    one.start()
    yield one
    one.stop()


@pytest.fixture(scope="session")
def plane_with_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """Payloads are encrypted there, and workers come through the gateway alone."""
    the_terraform()
    one = guarded_plane(tmp_path_factory.mktemp("guarded-plane"))
    yield one
    one.stop()


@pytest.fixture
def site(plane: Plane, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    name = request.node.name.removeprefix("test_").replace("_", "-").replace("[", "-").rstrip("]")
    install = name[:50].strip("-").lower()
    worker = InstallWorker(plane, install, tmp_path)
    one = Site(plane, install, f"{install}-app"[:60], worker, tmp_path / "lines", tmp_path)
    worker.start()
    yield one
    worker.stop()
