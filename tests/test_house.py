"""The repository itself: packages ("rooms"), names, imports, the lock files."""

import ast
import re
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS: list[str] = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
BESIDE = {"tests", "examples", "bench", "docs", "requirements"}


def test_every_folder_is_a_room_or_stands_beside_them() -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."}
    assert folders - {"__pycache__", "dist", "build"} - BESIDE == set(ROOMS)
    assert PROJECT["tool"]["importlinter"]["root_packages"] == ROOMS


def test_every_room_says_what_it_is_for() -> None:
    for room in ROOMS:
        assert (ROOT / room / "__init__.py").read_text().startswith('"""'), room


def test_no_other_distribution_owns_a_room() -> None:
    """Rooms are top-level packages; a foreign package of the same name would shadow ours."""
    owners = packages_distributions()
    taken = {room: set(owners.get(room, [])) - {"exclave"} for room in ROOMS}
    assert {room: others for room, others in taken.items() if others} == {}


def _module(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imports(file: Path) -> Iterator[str]:
    """What a file imports anywhere, including within functions and for type checkers."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{one.name}" for one in node.names)


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    files = {_module(file): file for room in ROOMS for file in (ROOT / room).rglob("*.py")}
    imports = {name: set(_imports(file)) & (set(files) - {name}) for name, file in files.items()}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_tests_mirror_the_rooms() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} == {*ROOMS, "e2e", "engines", "stored"}


def test_the_lock_has_hashes_and_names_no_host() -> None:
    for lock in (ROOT / "requirements").glob("*.lock"):
        text = lock.read_text()
        pinned = re.findall(r"^[a-z0-9][a-z0-9._-]*==", text, re.MULTILINE | re.IGNORECASE)
        assert pinned, lock
        assert text.count("--hash=sha256:") >= len(pinned), lock
        assert "://" not in text, lock


def test_everything_that_is_needed_is_locked() -> None:
    locked = (ROOT / "requirements" / "runtime.lock").read_text().lower()
    for requirement in PROJECT["project"]["dependencies"]:
        name = re.split(r"[=<>!~\[; ]", requirement)[0].lower()
        assert re.search(rf"^{re.escape(name)}==", locked, re.MULTILINE), name


def test_every_module_of_activities_is_an_engine_or_shared_by_them() -> None:
    contracts = {one["name"]: one for one in PROJECT["tool"]["importlinter"]["contracts"]}
    engines = contracts["Engines are independent of each other"]["modules"]
    shared = contracts["What engines share knows no engine"]
    found = {
        f"activities.{path.stem}"
        for path in (ROOT / "activities").iterdir()
        if (path.is_dir() or path.suffix == ".py") and not path.name.startswith("__")
    }
    assert {*engines, *shared["source_modules"]} == found
    assert shared["forbidden_modules"] == engines
