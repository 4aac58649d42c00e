"""The install worker's reader: everything is verified by digest, and folders are never partial."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.releases import reader as reader_module
from activities.releases.reader import ReleaseReader
from apps.parts import SANDBOX
from artifacts.layout import Layout
from artifacts.registry import Registry
from contracts.engines import TERRAFORM, only_copies
from contracts.errors import EngineFailed, NotThere, PolicyDenied, Unreachable
from tests.activities.build.shop_source import SANDBOX_FILES, build, registry_of, write_shop


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "registry")


@pytest.fixture
def registry(layout: Layout) -> Iterator[Registry]:
    with registry_of(layout) as client:
        yield client


@pytest.fixture
async def release(registry: Registry, tmp_path: Path) -> str:
    _, built = await build(registry, write_shop(tmp_path / "app"), tmp_path / "data")
    return built.release


@pytest.fixture
def reader(registry: Registry, tmp_path: Path) -> ReleaseReader:
    return ReleaseReader(registry, tmp_path / "cache")


def tree(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def beside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.iterdir())


def test_reads_config_index_and_artifacts(reader: ReleaseReader, release: str) -> None:
    assert [component.name for component in reader.config("shop", release).components] == [
        "api",
        "network",
    ]
    index = reader.index("shop", release)
    assert index.app == "shop"
    assert reader.artifact("shop", release, "api") == index.components["api"]
    with pytest.raises(NotThere, match="no component 'web'; it has: api, network"):
        reader.artifact("shop", release, "web")
    with pytest.raises(NotThere, match="is not one of app other"):
        reader.config("other", release)


async def test_reads_the_sandbox_as_a_part(
    reader: ReleaseReader, registry: Registry, release: str, tmp_path: Path
) -> None:
    app = write_shop(tmp_path / "app", SANDBOX_FILES)
    _, built = await build(registry, app, tmp_path / "data")
    destination = tmp_path / "work/acme/_sandbox"
    unpacked = reader.unpack_module("shop", built.release, SANDBOX, destination)
    digest = unpacked.artifact
    assert unpacked.folder == destination
    assert digest == reader.artifact("shop", built.release, SANDBOX)
    assert digest == reader.index("shop", built.release).sandbox
    assert tree(destination) == tree(app / "modules/ground")
    with pytest.raises(NotThere, match="has no sandbox"):
        reader.artifact("shop", release, SANDBOX)


def test_a_destination_is_the_module(reader: ReleaseReader, release: str, tmp_path: Path) -> None:
    destination = tmp_path / "work/acme/network"
    unpacked = reader.unpack_module("shop", release, "network", destination)
    assert unpacked.folder == destination
    assert unpacked.artifact == reader.artifact("shop", release, "network")
    assert tree(destination) == tree(tmp_path / "app/modules/network")
    assert (destination / "main.tf").stat().st_mode & 0o777 == 0o600
    assert destination.stat().st_mode & 0o777 == 0o700


def test_the_same_artifact_keeps_what_a_tool_added(
    reader: ReleaseReader, release: str, tmp_path: Path
) -> None:
    destination = tmp_path / "work/network"
    reader.unpack_module("shop", release, "network", destination)
    (destination / ".terraform").mkdir()
    reader.unpack_module("shop", release, "network", destination)
    assert (destination / ".terraform").is_dir()


async def test_another_artifact_replaces_all_of_it(
    reader: ReleaseReader, registry: Registry, release: str, tmp_path: Path
) -> None:
    destination = tmp_path / "work/network"
    reader.unpack_module("shop", release, "network", destination)
    (destination / "left.tfplan").write_text("of the old one")

    app = write_shop(tmp_path / "next", {"modules/network/new.tf": "# new\n"})
    (app / "modules/network/files/motd").unlink()
    _, built = await build(registry, app, tmp_path / "data")
    reader.unpack_module("shop", built.release, "network", destination)
    assert tree(destination) == tree(app / "modules/network")
    assert beside(destination) == [".network.artifact", "network"]


def test_without_its_marker_a_folder_is_made_anew(
    reader: ReleaseReader, release: str, tmp_path: Path
) -> None:
    destination = tmp_path / "work/network"
    destination.mkdir(parents=True)
    (destination / "main.tf").write_text("half")
    left_behind = tmp_path / "work/.network.unpacking-killed"
    left_behind.mkdir()
    reader.unpack_module("shop", release, "network", destination)
    assert tree(destination) == tree(tmp_path / "app/modules/network")
    assert beside(destination) == [".network.artifact", "network"]


async def test_a_death_while_unpacking_leaves_no_half_of_a_module(
    reader: ReleaseReader,
    registry: Registry,
    release: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    destination = tmp_path / "work/network"
    reader.unpack_module("shop", release, "network", destination)
    before = tree(destination)
    app = write_shop(tmp_path / "next", {"modules/network/new.tf": "# new\n"})
    _, built = await build(registry, app, tmp_path / "data")

    def dies(source: Path, target: Path) -> None:
        target.mkdir()
        (target / "main.tf").write_text("half")
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(reader_module, "unpack", dies)
        with pytest.raises(OSError, match="no space"):
            reader.unpack_module("shop", built.release, "network", destination)
    assert tree(destination) == before
    assert beside(destination) == [".network.artifact", "network"]

    reader.unpack_module("shop", built.release, "network", destination)
    assert "new.tf" in tree(destination)


def test_what_was_read_once_needs_no_registry(
    layout: Layout, release: str, reader: ReleaseReader, tmp_path: Path
) -> None:
    reader.config("shop", release)
    reader.unpack_module("shop", release, "api", tmp_path / "work/api")
    with Registry("http://127.0.0.1:1") as away:
        offline = ReleaseReader(away, tmp_path / "cache")
        assert offline.config("shop", release) == reader.config("shop", release)
        offline.unpack_module("shop", release, "api", tmp_path / "work/again")
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1"):
            offline.unpack_module("shop", release, "network", tmp_path / "work/network")
        # Cached content of one app's repository does not count for another app.
        with pytest.raises(Unreachable):
            offline.index("other", release)
    assert tree(tmp_path / "work/again") == tree(tmp_path / "app/modules/api")
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}


def test_a_damaged_cache_is_fetched_again(
    reader: ReleaseReader, release: str, tmp_path: Path
) -> None:
    expected = reader.config("shop", release)
    reader.unpack_module("shop", release, "api", tmp_path / "work/api")
    for path in (tmp_path / "cache").rglob("*"):
        if path.is_file():
            path.write_bytes(b"damaged")
    assert reader.config("shop", release) == expected
    reader.unpack_module("shop", release, "api", tmp_path / "work/again")
    assert tree(tmp_path / "work/again") == tree(tmp_path / "app/modules/api")


def test_a_forged_module_is_refused_and_nothing_is_unpacked(
    reader: ReleaseReader, layout: Layout, release: str, tmp_path: Path
) -> None:
    repository = layout.repository("apps/shop")
    for blob in (repository.folder / "blobs/sha256").iterdir():
        if blob.read_bytes().startswith(b"PK"):
            blob.write_bytes(blob.read_bytes().replace(b"variable", b"Variable"))
    with pytest.raises(PolicyDenied, match="damaged or forged"):
        reader.unpack_module("shop", release, "network", tmp_path / "work/network")
    assert not (tmp_path / "work").exists()


def test_a_folder_with_a_state_that_is_nowhere_else_is_not_replaced(
    registry: Registry, release: str, tmp_path: Path
) -> None:
    reader = ReleaseReader(registry, tmp_path / "cache", only_copies([TERRAFORM]))
    folder = tmp_path / "work" / "network"
    reader.unpack_module("shop", release, "network", folder)
    left = folder / "errored.tfstate"
    left.write_text("{}")
    reader.unpack_module("shop", release, "network", folder)
    with pytest.raises(EngineFailed, match=r"errored\.tfstate is a state"):
        reader.unpack_module("shop", release, "api", folder)
    assert left.read_text() == "{}"
    left.unlink()
    reader.unpack_module("shop", release, "api", folder)
