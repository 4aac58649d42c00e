"""A build worker pushes into the repositories of its org's apps; nobody else pushes anything."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from apps.release import INDEX_MEDIA_TYPE, MANIFEST_MEDIA_TYPE
from artifacts.errors import RegistryRefused
from artifacts.layout import Layout
from artifacts.manifests import MANIFEST_LIMIT_BYTES, canonical_json
from artifacts.names import digest_of, keeping_tag
from artifacts.packages import push_artifact
from artifacts.registry import Registry
from contracts.builds import SOURCES_REPOSITORY
from gateway.identity import Standing
from gateway.pulls.embedded import EmbeddedRegistry
from gateway.pulls.registry_login import RegistryCredentials
from gateway.registry.app import registry_app
from tests.artifacts.serving import served
from tests.gateway.gateway_parts import build
from tests.gateway.pulls.pull_site import (
    SHOP,
    PullSite,
    make_release,
    pulling,
    upstream_backend,
    worker,
)

UPLOADS = f"/v2/{SHOP}/blobs/uploads/"
BIG = os.urandom(3_000_000)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "registry", blob_limit=4_000_000)


@pytest.fixture(params=["embedded", "upstream"])
def site(request: pytest.FixtureRequest, layout: Layout) -> Iterator[PullSite]:
    if request.param == "embedded":
        yield PullSite(EmbeddedRegistry(layout))
        return
    with served(registry_app(layout, writable=True)) as address:
        yield PullSite(upstream_backend(address))


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["errors"][0]["code"]


def push_release(registry: Registry) -> str:
    """Push a release as a build does; returns its digest."""
    component, _ = push_artifact(registry, SHOP, "test/module", "test/type", BIG)
    index = canonical_json(
        {"schemaVersion": 2, "mediaType": INDEX_MEDIA_TYPE, "manifests": [component.to_dict()]}
    )
    return registry.push_manifest(SHOP, index, INDEX_MEDIA_TYPE).digest


def test_a_build_reads_its_source_and_pushes_a_release(site: PullSite, layout: Layout) -> None:
    source = make_release(layout, b"a source", SOURCES_REPOSITORY)
    with (
        site.serving() as address,
        worker(address, "build") as registry,
        worker(address, "acme") as installs,
    ):
        assert registry.get_blob(SOURCES_REPOSITORY, source.module) == b"a source"
        release = push_release(registry)
        assert push_release(registry) == release, "what is there is not pushed again"
        assert registry.has_manifest(SHOP, release)
        site.installs.pullable = {"acme": [release]}
        assert installs.get_blob(SHOP, digest_of(BIG)) == BIG
    assert layout.repository(SHOP).blob(digest_of(BIG)).read_bytes() == BIG
    tags = layout.repository(SHOP).tags()
    if isinstance(site.backend, EmbeddedRegistry):
        assert tags == [], "nothing collects what lies in the layout"
    else:
        assert keeping_tag(release) in tags and len(tags) == 2


def test_a_blob_comes_in_pieces_or_whole(site: PullSite, layout: Layout) -> None:
    with site.serving() as address, pulling(address, "build") as client:
        begun = client.post(f"{UPLOADS}?mount={digest_of(b'x')}&from=apps/other")
        assert begun.status_code == 202, "nothing is mounted from elsewhere"
        upload = begun.headers["Location"]
        for first in (0, 5):
            piece = b"01234" if first == 0 else b"56789"
            headers = {"Content-Range": f"{first}-{first + 4}"}
            added = client.patch(upload, content=piece, headers=headers)
            assert (added.status_code, added.headers["Range"]) == (202, f"0-{first + 4}")
            upload = added.headers["Location"]
        wrong = client.patch(upload, content=b"x", headers={"Content-Range": "3-3"})
        assert wrong.status_code == 416
        assert client.get(upload).headers["Range"] == "0-9"
        digest = digest_of(b"0123456789")
        done = client.put(f"{upload}?digest={digest}")
        assert (done.status_code, done.headers["Docker-Content-Digest"]) == (201, digest)
        assert done.headers["Location"] == f"/v2/{SHOP}/blobs/{digest}"
        assert client.get(done.headers["Location"]).content == b"0123456789"

        lying = client.post(UPLOADS).headers["Location"]
        assert code(client.put(f"{lying}?digest={digest}", content=b"no")) == (
            400,
            "DIGEST_INVALID",
        )
        assert client.delete(lying).status_code == 204
        assert code(client.put(f"{lying}?digest={digest}")) == (404, "BLOB_UPLOAD_UNKNOWN")


def test_what_is_too_large_is_refused(site: PullSite, layout: Layout) -> None:
    with site.serving() as address, pulling(address, "build") as client:
        upload = client.post(UPLOADS).headers["Location"]
        large = client.put(f"{upload}?digest={digest_of(b'')}", content=bytes(4_000_001))
        assert code(large) == (413, "SIZE_INVALID")
        manifest = client.put(
            f"/v2/{SHOP}/manifests/{digest_of(b'')}",
            content=bytes(MANIFEST_LIMIT_BYTES + 1),
            headers={"Content-Type": MANIFEST_MEDIA_TYPE},
        )
        assert code(manifest) == (413, "SIZE_INVALID")
    assert not layout.repository(SHOP).folder.exists()


def test_an_install_worker_cannot_push(site: PullSite, layout: Layout) -> None:
    made = make_release(layout, b"mine")
    site.installs.pullable = {"acme": [made.index]}
    before = {path: path.read_bytes() for path in layout.root.rglob("*") if path.is_file()}
    with site.serving() as address:
        with pulling(address, "build") as client:
            upload = client.post(UPLOADS).headers["Location"]
        with pulling(address, "acme") as client:
            for method, path in (
                ("POST", UPLOADS),
                ("POST", f"{UPLOADS}?digest={digest_of(b'evil')}"),
                ("PATCH", upload),
                ("PUT", f"{upload}?digest={digest_of(b'evil')}"),
                ("DELETE", upload),
                ("PUT", f"/v2/{SHOP}/manifests/{digest_of(b'evil')}"),
                ("PUT", f"/v2/{SHOP}/manifests/v1"),
                ("DELETE", f"/v2/{SHOP}/manifests/{made.index}"),
            ):
                refused = client.request(method, path, content=b"evil")
                assert code(refused) == (405, "UNSUPPORTED"), (method, path)
                assert refused.headers["Allow"] == "GET, HEAD"
            # It cannot see others' uploads, either.
            assert client.get(upload).status_code == 404
        with worker(address, "acme") as registry, pytest.raises(RegistryRefused):
            registry.push_blob(SHOP, b"evil")
    after = {path: path.read_bytes() for path in before}
    assert after == before
    assert not (layout.repository(SHOP).folder / "blobs/sha256" / digest_of(b"evil")[7:]).exists()


def test_a_build_worker_pushes_nowhere_else(site: PullSite, layout: Layout) -> None:
    source = make_release(layout, b"a source", SOURCES_REPOSITORY)
    manifest = f"/v2/{SOURCES_REPOSITORY}/manifests/{source.index}"
    with site.serving() as address:
        with pulling(address, "build") as client:
            upload = client.post(UPLOADS).headers["Location"].rpartition("/")[2]
            for method, path, status in (
                ("POST", f"/v2/{SOURCES_REPOSITORY}/blobs/uploads/", 404),
                ("PUT", manifest, 405),
                ("DELETE", manifest, 405),
                ("PUT", f"/v2/{SHOP}/manifests/latest", 404),
                ("GET", f"/v2/{SHOP}/manifests/v1", 404),
                ("GET", f"/v2/{SHOP}/tags/list", 404),
                ("GET", "/v2/_catalog", 404),
                ("POST", "/v2/apps/a/b/blobs/uploads/", 404),
                ("POST", "/v2/apps/Shop/blobs/uploads/", 404),
                ("POST", "/v2/apps/%2e%2e/sources/blobs/uploads/", 404),
                ("PATCH", f"/v2/apps/other/blobs/uploads/{upload}", 404),
                ("PATCH", f"{UPLOADS}{'A' * 40}", 404),
            ):
                assert client.request(method, path, content=b"x").status_code == status, path
        with pulling(address, "their build") as client:
            for method, path in (("POST", UPLOADS), ("GET", manifest)):
                assert code(client.request(method, path)) == (403, "DENIED")


def test_where_it_is_not_said_whose_releases_these_are_nobody_pushes(layout: Layout) -> None:
    site = PullSite(EmbeddedRegistry(layout), org=None)
    with site.serving() as address, pulling(address, "build") as client:
        refused = client.post(UPLOADS)
    assert code(refused) == (403, "DENIED")
    assert "set org in [artifacts]" in refused.text


def test_a_revoked_build_worker_neither_begins_nor_ends_a_push(
    site: PullSite, layout: Layout
) -> None:
    with site.serving() as address, pulling(address, "build") as client:
        upload = client.post(UPLOADS).headers["Location"]

        def halfway() -> Iterator[bytes]:
            yield b"01234"
            site.standings.set(build(), Standing.REVOKED)
            # The gateway ends the connection, so sending may or may not raise an error.
            yield from (bytes(100_000) for _ in range(30))

        cut = f"{upload}?digest={digest_of(b'01234' + bytes(3_000_000))}"
        try:
            ended = client.put(cut, content=halfway()).status_code
        except httpx.TransportError:
            ended = 0
        assert ended != 201
        assert code(client.post(UPLOADS)) == (403, "DENIED")
        assert code(client.put(f"{upload}?digest={digest_of(b'01234')}")) == (403, "DENIED")
    assert not layout.repository(SHOP).folder.exists()


class Guarded:
    """A registry that requires a token for pushes, one for each repository."""

    def __init__(self, layout: Layout) -> None:
        self.inner = registry_app(layout, writable=True)
        self.logins = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        shown = headers.get(b"authorization", b"").decode()
        if scope["path"] == "/token":
            self.logins += shown.startswith("Basic ")
            answer = httpx.Response(200, json={"token": "good"})
            await _plain(send, 200, answer.content, {})
        elif shown == "Bearer good":
            await self.inner(scope, receive, send)
        else:
            realm = f'Bearer realm="http://{headers[b"host"].decode()}/token",service="reg"'
            await _plain(send, 401, b"", {"WWW-Authenticate": realm})


async def _plain(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    pairs = [(key.lower().encode(), value.encode()) for key, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


def test_the_gateway_pushes_with_its_own_credentials(layout: Layout, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("word\n")
    guarded = Guarded(layout)
    with served(guarded) as upstream:
        credentials = RegistryCredentials("robot", tmp_path / "password")
        site = PullSite(upstream_backend(upstream, credentials))
        with site.serving() as address, worker(address, "build") as registry:
            release = push_release(registry)
    assert layout.repository(SHOP).manifest(release).data
    assert guarded.logins > 0


def test_a_registry_that_is_away_is_reported_as_such_and_tried_again() -> None:
    site = PullSite(upstream_backend("http://127.0.0.1:1"))
    with site.serving() as address, pulling(address, "build") as client:
        assert code(client.post(UPLOADS)) == (503, "UNAVAILABLE")
