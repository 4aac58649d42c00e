"""The registry app over HTTP, as the OCI specification says."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from apps.release import INDEX_MEDIA_TYPE, MANIFEST_MEDIA_TYPE, Descriptor
from artifacts.layout import Layout
from artifacts.manifests import MANIFEST_LIMIT_BYTES, artifact_manifest, canonical_json
from artifacts.names import digest_of
from gateway.registry.app import registry_app
from tests.artifacts.serving import served

REPOSITORY = "/v2/apps/shop"
CONTENT = b"0123456789"
DIGEST = digest_of(CONTENT)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "root", blob_limit=5_000_000)


@pytest.fixture
def writable(layout: Layout) -> Iterator[httpx.Client]:
    with (
        served(registry_app(layout, writable=True)) as address,
        httpx.Client(base_url=address, trust_env=False) as client,
    ):
        yield client


@pytest.fixture
def readable(layout: Layout) -> Iterator[httpx.Client]:
    layout.repository("apps/shop").put_blob(CONTENT)
    with (
        served(registry_app(layout, writable=False)) as address,
        httpx.Client(base_url=address, trust_env=False) as client,
    ):
        yield client


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["errors"][0]["code"]


def test_says_that_it_is_a_registry(readable: httpx.Client) -> None:
    response = readable.get("/v2/")
    assert response.status_code == 200
    assert response.headers["Docker-Distribution-Api-Version"] == "registry/2.0"


def test_serves_blobs_whole_and_in_ranges(readable: httpx.Client) -> None:
    url = f"{REPOSITORY}/blobs/{DIGEST}"
    whole = readable.get(url)
    assert (whole.status_code, whole.content) == (200, CONTENT)
    assert whole.headers["Docker-Content-Digest"] == DIGEST
    assert whole.headers["Accept-Ranges"] == "bytes"

    head = readable.head(url)
    assert (head.status_code, head.content, head.headers["Content-Length"]) == (200, b"", "10")

    for wanted, content, where in (
        ("bytes=4-", b"456789", "bytes 4-9/10"),
        ("bytes=2-3", b"23", "bytes 2-3/10"),
        ("bytes=-1", b"9", "bytes 9-9/10"),
    ):
        part = readable.get(url, headers={"Range": wanted})
        assert (part.status_code, part.content) == (206, content)
        assert part.headers["Content-Range"] == where

    beyond = readable.get(url, headers={"Range": "bytes=10-"})
    assert (beyond.status_code, beyond.headers["Content-Range"]) == (416, "bytes */10")


def test_only_the_writable_listener_takes_anything(readable: httpx.Client, layout: Layout) -> None:
    before = sorted(layout.root.rglob("*"))
    for method, path in (
        ("POST", f"{REPOSITORY}/blobs/uploads/?digest={DIGEST}"),
        ("POST", f"{REPOSITORY}/blobs/uploads/"),
        ("PATCH", f"{REPOSITORY}/blobs/uploads/{'0' * 32}"),
        ("PUT", f"{REPOSITORY}/blobs/uploads/{'0' * 32}?digest={DIGEST}"),
        ("PUT", f"{REPOSITORY}/manifests/v1"),
        ("DELETE", f"{REPOSITORY}/manifests/v1"),
        ("DELETE", f"{REPOSITORY}/blobs/{DIGEST}"),
        ("POST", "/elsewhere"),
        ("OPTIONS", "/v2/"),
    ):
        response = readable.request(method, path, content=CONTENT)
        assert code(response) == (405, "UNSUPPORTED"), (method, path)
        assert "read-only" in response.text
        assert response.headers["Allow"] == "GET, HEAD"
    assert readable.get(f"{REPOSITORY}/blobs/uploads/{'0' * 32}").status_code == 404
    assert sorted(layout.root.rglob("*")) == before


def test_takes_a_blob_in_one_request(writable: httpx.Client) -> None:
    response = writable.post(f"{REPOSITORY}/blobs/uploads/?digest={DIGEST}", content=CONTENT)
    assert response.status_code == 201
    assert response.headers["Docker-Content-Digest"] == DIGEST
    assert writable.get(response.headers["Location"]).content == CONTENT


def test_takes_a_blob_by_post_and_put(writable: httpx.Client) -> None:
    started = writable.post(f"{REPOSITORY}/blobs/uploads/")
    assert (started.status_code, started.headers["Range"]) == (202, "0-0")
    done = writable.put(started.headers["Location"], params={"digest": DIGEST}, content=CONTENT)
    assert done.status_code == 201
    assert writable.get(f"{REPOSITORY}/blobs/{DIGEST}").content == CONTENT


def test_takes_a_blob_in_pieces_that_must_follow_each_other(writable: httpx.Client) -> None:
    place = writable.post(f"{REPOSITORY}/blobs/uploads/").headers["Location"]
    first = writable.patch(place, content=CONTENT[:4], headers={"Content-Range": "0-3"})
    assert (first.status_code, first.headers["Range"]) == (202, "0-3")
    hole = writable.patch(place, content=CONTENT[6:], headers={"Content-Range": "6-9"})
    assert code(hole) == (416, "BLOB_UPLOAD_INVALID")
    state = writable.get(place)
    assert (state.status_code, state.headers["Range"]) == (204, "0-3")
    assert writable.patch(place, content=CONTENT[4:8]).status_code == 202
    done = writable.put(place, params={"digest": DIGEST}, content=CONTENT[8:])
    assert done.status_code == 201
    assert writable.get(f"{REPOSITORY}/blobs/{DIGEST}").content == CONTENT
    assert code(writable.patch(place, content=b"more")) == (404, "BLOB_UPLOAD_UNKNOWN")


def test_an_upload_can_be_given_up(writable: httpx.Client) -> None:
    place = writable.post(f"{REPOSITORY}/blobs/uploads/").headers["Location"]
    assert writable.delete(place).status_code == 204
    assert code(writable.get(place)) == (404, "BLOB_UPLOAD_UNKNOWN")


def test_an_upload_belongs_to_its_repository(writable: httpx.Client) -> None:
    place = writable.post(f"{REPOSITORY}/blobs/uploads/").headers["Location"]
    other = place.replace("/apps/shop/", "/apps/other/")
    response = writable.put(other, params={"digest": DIGEST}, content=CONTENT)
    assert code(response) == (404, "BLOB_UPLOAD_UNKNOWN")


def test_keeps_no_blob_with_another_digest(writable: httpx.Client, layout: Layout) -> None:
    place = f"{REPOSITORY}/blobs/uploads/"
    assert code(writable.post(f"{place}?digest={DIGEST}", content=b"other")) == (
        400,
        "DIGEST_INVALID",
    )
    session = writable.post(place).headers["Location"]
    assert code(writable.put(session, content=CONTENT)) == (400, "DIGEST_INVALID")
    wrong = writable.put(session, params={"digest": "sha256:xyz"}, content=CONTENT)
    assert code(wrong) == (400, "DIGEST_INVALID")
    assert not (layout.root / "apps+shop").exists()


def test_keeps_no_blob_over_the_limit(writable: httpx.Client, layout: Layout) -> None:
    content = b"x" * 5_000_001
    url = f"{REPOSITORY}/blobs/uploads/?digest={digest_of(content)}"
    assert code(writable.post(url, content=content)) == (413, "SIZE_INVALID")
    assert [path for path in layout.root.rglob("*") if path.is_file()] == []


def push_manifest(client: httpx.Client, data: bytes, reference: str, kind: str) -> httpx.Response:
    url = f"{REPOSITORY}/manifests/{reference}"
    return client.put(url, content=data, headers={"Content-Type": kind})


def test_takes_and_serves_manifests_by_tag_and_digest(writable: httpx.Client) -> None:
    writable.post(f"{REPOSITORY}/blobs/uploads/?digest={DIGEST}", content=CONTENT)
    blob = Descriptor("text/plain", DIGEST, len(CONTENT))
    data = artifact_manifest("test/artifact", blob, [blob])
    digest = digest_of(data)

    pushed = push_manifest(writable, data, digest, MANIFEST_MEDIA_TYPE)
    assert pushed.status_code == 201
    assert pushed.headers["Location"] == f"{REPOSITORY}/manifests/{digest}"
    index = canonical_json(
        {
            "schemaVersion": 2,
            "mediaType": INDEX_MEDIA_TYPE,
            "manifests": [Descriptor(MANIFEST_MEDIA_TYPE, digest, len(data)).to_dict()],
        }
    )
    assert push_manifest(writable, index, "v1", INDEX_MEDIA_TYPE).status_code == 201

    for reference, expected, kind in (
        (digest, data, MANIFEST_MEDIA_TYPE),
        ("v1", index, INDEX_MEDIA_TYPE),
        (digest_of(index), index, INDEX_MEDIA_TYPE),
    ):
        found = writable.get(f"{REPOSITORY}/manifests/{reference}")
        assert (found.status_code, found.content) == (200, expected)
        assert found.headers["Content-Type"] == kind
        assert found.headers["Docker-Content-Digest"] == digest_of(expected)
        head = writable.head(f"{REPOSITORY}/manifests/{reference}")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["Content-Length"] == str(len(expected))
    assert writable.get(f"{REPOSITORY}/tags/list").json() == {"name": "apps/shop", "tags": ["v1"]}


def test_refuses_manifests_that_are_wrong(writable: httpx.Client) -> None:
    away = Descriptor("text/plain", digest_of(b"away"), 4)
    data = artifact_manifest("test/artifact", away, [])
    kind = MANIFEST_MEDIA_TYPE
    assert code(push_manifest(writable, data, "v1", kind)) == (404, "MANIFEST_BLOB_UNKNOWN")
    assert code(push_manifest(writable, b"{}", "v1", kind)) == (400, "MANIFEST_INVALID")
    assert code(push_manifest(writable, data, "v1", "other/type")) == (400, "MANIFEST_INVALID")
    assert code(push_manifest(writable, data, DIGEST, kind)) == (400, "DIGEST_INVALID")
    assert code(push_manifest(writable, data, "-tag", kind)) == (400, "NAME_INVALID")
    large = b" " * (MANIFEST_LIMIT_BYTES + 1)
    assert code(push_manifest(writable, large, "v1", kind)) == (413, "SIZE_INVALID")
    assert code(writable.get(f"{REPOSITORY}/manifests/v1")) == (404, "MANIFEST_UNKNOWN")


def test_what_is_missing_is_reported_by_its_code(writable: httpx.Client) -> None:
    assert code(writable.get(f"{REPOSITORY}/blobs/{DIGEST}")) == (404, "BLOB_UNKNOWN")
    assert writable.head(f"{REPOSITORY}/blobs/{DIGEST}").status_code == 404
    assert code(writable.get(f"{REPOSITORY}/manifests/{DIGEST}")) == (404, "MANIFEST_UNKNOWN")
    assert code(writable.get("/v2/_catalog")) == (404, "UNSUPPORTED")
    assert code(writable.delete(f"{REPOSITORY}/manifests/v1")) == (405, "UNSUPPORTED")


def raw(client: httpx.Client, path: str) -> str:
    """The first line of the answer to a path that client libraries would not send unchanged."""
    url = client.base_url
    with socket.create_connection((url.host, url.port), timeout=5) as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: {url.host}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        with connection.makefile("rb") as answer:
            return answer.readline().decode()


@pytest.mark.parametrize(
    "name", ["..", "../../etc", "%2e%2e/%2e%2e/etc", "a/%2e%2e/b", ".uploads", "A", "a//b", "%00"]
)
def test_no_name_leads_out_of_the_folder(writable: httpx.Client, name: str) -> None:
    for path in (f"/v2/{name}/blobs/{DIGEST}", f"/v2/{name}/manifests/v1", f"/v2/{name}/tags/list"):
        assert " 400 " in raw(writable, path), path


@pytest.mark.parametrize("digest", ["sha256:..%2f..%2findex.json", "sha512:" + "0" * 128, "x:y"])
def test_no_digest_leads_out_of_the_folder(readable: httpx.Client, digest: str) -> None:
    line = raw(readable, f"{REPOSITORY}/blobs/{digest}")
    assert " 400 " in line or " 404 " in line
    assert code(readable.get(f"{REPOSITORY}/blobs/sha256:xyz")) == (400, "DIGEST_INVALID")


async def test_other_requests_are_answered_while_a_blob_arrives(layout: Layout) -> None:
    arrived = asyncio.Event()
    with served(registry_app(layout, writable=True)) as address:
        async with httpx.AsyncClient(base_url=address, trust_env=False) as client:

            async def slowly() -> AsyncIterator[bytes]:
                yield CONTENT[:5]
                await arrived.wait()
                yield CONTENT[5:]

            url = f"{REPOSITORY}/blobs/uploads/?digest={DIGEST}"
            upload = asyncio.create_task(client.post(url, content=slowly()))
            assert (await client.get("/v2/")).status_code == 200
            assert (await client.get(f"{REPOSITORY}/blobs/{DIGEST}")).status_code == 404
            arrived.set()
            assert (await upload).status_code == 201
