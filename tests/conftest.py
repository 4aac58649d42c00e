"""Marks tests that start processes: `make fast` leaves them out, `make test` runs everything."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from store import reserve
from tests.s3_server import ENVIRONMENT, UNSET, S3Server, running_s3
from tests.stored.generations import GENERATIONS, copy_of
from tests.terraform import see_the_library

# No deadlines, so that no test fails because the machine is busy. `make test` and `make fast` try
# the same examples each time, so that a failure is due to the change; `make fuzz` tries new ones.
for profile, examples, chance in (("full", 100, False), ("fast", 20, False), ("fuzz", 500, True)):
    settings.register_profile(
        profile,
        max_examples=examples,
        derandomize=not chance,
        print_blob=chance,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("full")

TESTS = Path(__file__).parent

# Small, since each of a thousand data folders has such a file.
reserve._MOST_BYTES = 1024 * 1024

# A shell's background job ignores SIGINT, and so would all processes that the tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST = (
    "e2e/test_random_kills.py",
    "e2e/test_death.py",
    "e2e/test_deploys.py",
    "e2e/test_canaries_everywhere.py",
    "e2e/test_actions.py",
    "e2e/test_demo.py",
    "e2e/test_changing_network.py",
)
"""Modules that take minutes. They start first, so that none of them runs alone at the end."""

TESTS_AT_ONCE_FOR_EACH_CPU = 3
"""Most tests that start processes wait for them, more than half of the time."""

PROCESSES = ("workflows", "activities/operations", "exclave/commands")
"""Folders whose tests start a Temporal server, or supervisors with tools."""

WITHOUT = {"test_determinism.py", "test_replay.py", "test_turn_queue.py"}
"""Modules in those folders that start no process."""


def pytest_configure() -> None:
    see_the_library()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-histories",
        action="store_true",
        help="keep the histories of runs for the fast replay tests",
    )
    parser.addoption(
        "--blackhole-minutes",
        type=float,
        default=1.0,
        help="for how long the way to the gateway loses every packet, in the middle of an apply; "
        "more than a few need --timeout 0 as well",
    )
    parser.addoption(
        "--middlebox-seconds",
        type=float,
        default=20.0,
        help="after how much silence the middlebox forgets a connection; from 45 on it must not "
        "come to that, and the worker is left idle for longer",
    )
    parser.addoption(
        "--seed",
        type=int,
        default=1,
        help="what chance begins with where a test has its own; `make fuzz` gives a new one",
    )
    parser.addoption(
        "--busy-lives",
        type=int,
        default=2,
        help="how many entities of each kind are asked by many at once, while the machine is busy",
    )


def pytest_xdist_auto_num_workers() -> int:
    return TESTS_AT_ONCE_FOR_EACH_CPU * (os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    _mark_processes(items)
    items.sort(key=_place_in_order)


def _place_in_order(item: pytest.Item) -> int:
    """The longest modules, then what starts processes, then the rest; the sort keeps the order
    within each."""
    module = item.path.relative_to(TESTS).as_posix()
    if module in LONGEST:
        return LONGEST.index(module)
    if item.get_closest_marker("e2e"):
        return len(LONGEST)
    return len(LONGEST) + (1 if item.get_closest_marker("process") else 2)


def _mark_processes(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.parent.relative_to(TESTS).as_posix()
        starts_s3 = "s3_server" in getattr(item, "fixturenames", ())
        if starts_s3 or (folder in PROCESSES and item.path.name not in WITHOUT):
            item.add_marker(pytest.mark.process)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of a test that uses random numbers."""
    number: int = request.config.getoption("--seed")
    return number


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    with running_s3() as server:
        yield server


@pytest.fixture
def s3_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker's environment for stores in `s3_server`, without the person's own settings."""
    for name in UNSET:
        monkeypatch.delenv(name, raising=False)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=GENERATIONS)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of what a version has left on disks and in stores, of each version in turn."""
    return copy_of(request.param, tmp_path)
