"""The client, against the real registry app on a real server, and against misbehaving ones."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from apps.release import MANIFEST_MEDIA_TYPE, Descriptor
from artifacts.archive import pack
from artifacts.errors import (
    ArtifactMissing,
    ArtifactTooLarge,
    DigestMismatch,
    RegistryRefused,
    RegistryUnreachable,
)
from artifacts.layout import Layout
from artifacts.manifests import artifact_manifest
from artifacts.names import digest_of
from artifacts.registry import Registry
from artifacts.sources import push_source
from gateway.registry.app import registry_app
from tests.artifacts.serving import Cut, served

SHOP = "apps/shop"
BIG = os.urandom(3_000_000)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "registry")


@pytest.fixture
def registry(layout: Layout) -> Iterator[Registry]:
    with served(registry_app(layout, writable=True)) as address, Registry(address) as client:
        yield client


def answering(response: Response) -> Iterator[Registry]:
    """A registry that gives the same answer to every request."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await response(scope, receive, send)

    with served(app) as address, Registry(address) as client:
        yield client


def test_pushes_and_fetches_bytes_and_files(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "big"
    file.write_bytes(BIG)
    blob = registry.push_blob(SHOP, file, "test/type")
    assert blob == Descriptor("test/type", digest_of(BIG), len(BIG))
    assert registry.has_blob(SHOP, blob.digest)
    assert not registry.has_blob("apps/other", blob.digest)

    copy = tmp_path / "new/copy"
    registry.fetch_blob(SHOP, blob.digest, copy)
    assert copy.read_bytes() == BIG
    assert copy.stat().st_mode & 0o777 == 0o600

    small = registry.push_blob(SHOP, b"small")
    assert registry.get_blob(SHOP, small.digest) == b"small"


def test_pushes_a_blob_once(registry: Registry, layout: Layout) -> None:
    blob = registry.push_blob(SHOP, b"content")
    path = layout.repository(SHOP).blob(blob.digest)
    inode = path.stat().st_ino
    registry.push_blob(SHOP, b"content")
    assert path.stat().st_ino == inode


def test_pushes_and_gets_manifests(registry: Registry) -> None:
    blob = registry.push_blob(SHOP, b"{}")
    data = artifact_manifest("test/artifact", blob, [blob])
    assert not registry.has_manifest(SHOP, digest_of(data))
    found = registry.push_manifest(SHOP, data, MANIFEST_MEDIA_TYPE, tag="v1")
    assert found == Descriptor(MANIFEST_MEDIA_TYPE, digest_of(data), len(data))
    assert registry.has_manifest(SHOP, found.digest)
    assert registry.has_manifest(SHOP, "v1")
    assert registry.get_manifest(SHOP, found.digest) == data


def test_a_manifest_without_its_blobs_is_refused(registry: Registry) -> None:
    away = Descriptor("text/plain", digest_of(b"away"), 4)
    data = artifact_manifest("test/artifact", away, [])
    with pytest.raises(RegistryRefused, match="push it first") as refusal:
        registry.push_manifest(SHOP, data, MANIFEST_MEDIA_TYPE)
    assert not refusal.value.passing


def test_what_is_not_there_is_missing(registry: Registry, tmp_path: Path) -> None:
    digest = digest_of(b"away")
    with pytest.raises(ArtifactMissing, match=f"manifest {digest} of {SHOP}"):
        registry.get_manifest(SHOP, digest)
    with pytest.raises(ArtifactMissing):
        registry.get_blob(SHOP, digest)
    with pytest.raises(ArtifactMissing):
        registry.fetch_blob(SHOP, digest, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_goes_on_where_the_connection_broke(layout: Layout, tmp_path: Path) -> None:
    digest = layout.repository(SHOP).put_blob(BIG)
    cut = Cut(registry_app(layout, writable=False), after=1_000_000, times=2)
    with served(cut) as address, Registry(address) as client:
        client.fetch_blob(SHOP, digest, tmp_path / "copy")

    assert (tmp_path / "copy").read_bytes() == BIG
    assert len(cut.ranges) == 3
    assert cut.ranges[0] is None
    resumed = [
        int((text or "").removeprefix("bytes=").removesuffix("-")) for text in cut.ranges[1:]
    ]
    assert 0 < resumed[0] <= 1_000_000 < resumed[1] <= 2_000_000
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["copy"]


def test_begins_again_where_the_server_knows_no_ranges(layout: Layout, tmp_path: Path) -> None:
    digest = layout.repository(SHOP).put_blob(BIG)
    inner = registry_app(layout, writable=False)

    async def without_ranges(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [pair for pair in scope.get("headers", []) if pair[0] != b"range"]
        await inner({**scope, "headers": headers}, receive, send)

    with (
        served(Cut(without_ranges, after=1_000_000, times=1)) as address,
        Registry(address) as client,
    ):
        client.fetch_blob(SHOP, digest, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == BIG


def test_gives_up_when_connections_bring_nothing(layout: Layout, tmp_path: Path) -> None:
    digest = layout.repository(SHOP).put_blob(BIG)
    cut = Cut(registry_app(layout, writable=False), after=0, times=100)
    with (
        served(cut) as address,
        Registry(address) as client,
        pytest.raises(RegistryUnreachable, match=address),
    ):
        client.fetch_blob(SHOP, digest, tmp_path / "out/copy")
    assert list((tmp_path / "out").iterdir()) == []


def test_refuses_content_with_another_digest(layout: Layout, tmp_path: Path) -> None:
    repository = layout.repository(SHOP)
    blob = Descriptor("text/plain", repository.put_blob(b"good"), 4)
    manifest = repository.put_manifest(artifact_manifest("t", blob, []), MANIFEST_MEDIA_TYPE)
    for digest in (blob.digest, manifest.digest):
        repository.blob(digest).write_bytes(b"evil")
    with (
        served(registry_app(layout, writable=False)) as address,
        Registry(address) as client,
    ):
        with pytest.raises(DigestMismatch, match=digest_of(b"evil")):
            client.fetch_blob(SHOP, blob.digest, tmp_path / "out/copy")
        with pytest.raises(DigestMismatch):
            client.get_blob(SHOP, blob.digest)
        with pytest.raises(DigestMismatch):
            client.get_manifest(SHOP, manifest.digest)
    assert list((tmp_path / "out").iterdir()) == []


def test_takes_no_more_than_the_limit(registry: Registry, tmp_path: Path) -> None:
    blob = registry.push_blob(SHOP, b"x" * 101)
    with pytest.raises(ArtifactTooLarge, match="over 100 bytes"):
        registry.get_blob(SHOP, blob.digest, limit=100)
    with pytest.raises(ArtifactTooLarge, match="over 100 bytes"):
        registry.fetch_blob(SHOP, blob.digest, tmp_path / "out/copy", limit=100)
    assert list((tmp_path / "out").iterdir()) == []
    assert len(registry.get_blob(SHOP, blob.digest, limit=101)) == 101


def test_an_address_that_does_not_answer_is_named() -> None:
    with served(PlainTextResponse("here")) as address:
        pass
    with (
        Registry(address) as client,
        pytest.raises(RegistryUnreachable, match=f"at {address} does not answer") as error,
    ):
        client.has_blob(SHOP, digest_of(b""))
    assert error.value.address == address


@pytest.mark.parametrize(("status", "passing"), [(503, True), (429, True), (403, False)])
def test_reports_what_a_refusal_said(status: int, passing: bool) -> None:
    for client in answering(PlainTextResponse("the reason", status_code=status)):
        with pytest.raises(RegistryRefused, match="the reason") as refusal:
            client.get_blob(SHOP, digest_of(b""))
        assert (refusal.value.status, refusal.value.passing) == (status, passing)


def test_follows_no_redirect_to_another_host() -> None:
    called = threading.Event()

    async def other(scope: Scope, receive: Receive, send: Send) -> None:
        called.set()
        await PlainTextResponse("")(scope, receive, send)

    with served(other) as elsewhere:
        for client in answering(RedirectResponse(f"{elsewhere}/blob")):
            with pytest.raises(RegistryRefused, match="another host"):
                client.get_blob(SHOP, digest_of(b""))
            with pytest.raises(RegistryRefused):
                client.push_blob(SHOP, b"x")
    assert not called.is_set()


def test_follows_a_redirect_on_the_same_host_but_not_for_ever() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        path = Request(scope).url.path
        response = PlainTextResponse("moved") if path == "/moved" else RedirectResponse("/moved")
        await response(scope, receive, send)

    with served(app) as address, Registry(address) as client:
        assert client.get_blob(SHOP, digest_of(b"moved")) == b"moved"
    for client in answering(RedirectResponse("/again")):
        with pytest.raises(RegistryRefused, match="redirects endlessly"):
            client.get_blob(SHOP, digest_of(b""))


def test_takes_no_proxy_from_the_environment(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Registry(registry.address) as client:
        assert not client.has_blob(SHOP, digest_of(b""))


def test_many_threads_use_one_registry(registry: Registry) -> None:
    found: list[bytes] = []

    def push_and_get(number: int) -> None:
        blob = registry.push_blob(SHOP, str(number).encode())
        found.append(registry.get_blob(SHOP, blob.digest))

    threads = [threading.Thread(target=push_and_get, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [str(number).encode() for number in range(8)]


def test_the_same_folder_uploads_to_the_same_digest(registry: Registry, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metadata.toml").write_text('version = "v1"')
    digest = push_source(registry, tmp_path / "one")
    assert registry.has_manifest("sources", digest)
    assert push_source(registry, tmp_path / "two") == digest
    assert pack(tmp_path / "one") == pack(tmp_path / "two")
