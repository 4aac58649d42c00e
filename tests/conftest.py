"""Which tests start processes: `make fast` leaves those out, `make test` runs everything."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent

PROCESSES = ("workflows", "activities/operations")
"""Folders whose tests start a Temporal server, or supervisors with tools."""

WITHOUT = {"test_determinism.py", "test_replay.py", "test_turn_queue.py"}
"""Modules of those folders that start none."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.parent.relative_to(TESTS).as_posix()
        if folder in PROCESSES and item.path.name not in WITHOUT:
            item.add_marker(pytest.mark.process)
