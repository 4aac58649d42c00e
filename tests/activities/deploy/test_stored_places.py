"""The goldens cover everything that a real run stores, with real tools and supervisors."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from artifacts.layout import Layout
from tests.activities.build.shop_source import registry_of
from tests.activities.deploy.test_whole_life import Life
from tests.stored.generations import GENERATIONS, GOLDEN, files
from tests.stored.places import PASSING, place_of

pytestmark = pytest.mark.e2e

_NAMES_OF_OTHERS = {
    "store/inputs/sensitive.json",
    "store/plans/*/*/*/*/changes.json",
    "worker/work/*/*/exclave_backend_override.tf.json",
}
"""Their keys are an app's, or Terraform's."""


async def test_all_that_a_life_leaves_has_its_place_and_every_field_a_golden(
    tmp_path: Path,
) -> None:
    with registry_of(Layout(tmp_path / "registry")) as registry:
        life = Life(tmp_path, registry)
        release = await life.release()
        await life.provision(release)
        await life.deploy(release)
        left = _left(tmp_path)
    strange = [name for name in left if not place_of(name) and not place_of(name, PASSING)]
    assert strange == []
    known, found = _fields(files(GOLDEN / GENERATIONS[-1])), _fields(left)
    assert {place: fields - known[place] for place, fields in found.items()} == {
        place: set() for place in found
    }
    assert "worker/runs/*/*/*/*/*-*/status.json" in found, "it ran tools"


def _left(root: Path) -> dict[str, Path]:
    found = {f"store/{name}": path for name, path in files(root / "store").items()}
    return found | {f"worker/{name}": path for name, path in files(root / "data").items()}


def _fields(left: dict[str, Path]) -> dict[str, set[str]]:
    """The names of the fields that are found at each place."""
    found: dict[str, set[str]] = {}
    for name, path in left.items():
        place = place_of(name)
        if place and place.endswith(".json") and place not in _NAMES_OF_OTHERS:
            found.setdefault(place, set()).update(_names(json.loads(path.read_bytes())))
    return found


def _names(content: Any) -> Iterator[str]:
    """The field names of an object and of objects in its lists; others may have free keys."""
    if isinstance(content, dict):
        yield from content
        for value in content.values():
            if isinstance(value, list):
                for one in value:
                    yield from _names(one)
