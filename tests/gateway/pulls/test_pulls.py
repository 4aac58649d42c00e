"""A worker can pull what its install was told to run, and learns of nothing else that exists."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from artifacts.download import FRUITLESS_ATTEMPTS
from artifacts.errors import ArtifactMissing, RegistryRefused, RegistryUnreachable
from artifacts.layout import Layout
from artifacts.names import digest_of
from gateway.http.callers import Rate
from gateway.identity import Standing
from gateway.pulls.embedded import EmbeddedRegistry
from gateway.pulls.routes import PullLimits
from gateway.registry.app import registry_app
from tests.artifacts.serving import Cut, served
from tests.gateway.gateway_parts import install
from tests.gateway.pulls.pull_site import (
    SHOP,
    Made,
    PullSite,
    make_release,
    pulling,
    upstream_backend,
    worker,
)

BIG = os.urandom(3_000_000)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "registry")


@pytest.fixture(params=["embedded", "upstream"])
def site(request: pytest.FixtureRequest, layout: Layout) -> Iterator[PullSite]:
    if request.param == "embedded":
        yield PullSite(EmbeddedRegistry(layout))
        return
    with served(registry_app(layout, writable=False)) as address:
        yield PullSite(upstream_backend(address))


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["errors"][0]["code"]


def paths(made: Made) -> list[str]:
    return [
        *(f"/v2/{SHOP}/manifests/{one}" for one in (made.index, made.config, made.component)),
        *(f"/v2/{SHOP}/blobs/{one}" for one in (made.config_blob, made.module)),
    ]


def test_everything_of_a_pullable_release_is_there_and_nothing_of_another(
    site: PullSite, layout: Layout
) -> None:
    mine, theirs = make_release(layout, b"mine"), make_release(layout, b"theirs")
    site.installs.pullable = {"acme": [mine.index], "other": [theirs.index]}
    with site.serving() as address:
        for word, release in (("acme", mine), ("other", theirs)):
            with pulling(address, word) as client:
                for path in paths(release):
                    found = client.get(path)
                    assert found.status_code == 200
                    assert digest_of(found.content) == path.rpartition("/")[2]
                    head = client.head(path)
                    assert (head.status_code, head.content) == (200, b"")
                    assert head.headers["Content-Length"] == str(len(found.content))
                    assert head.headers["Docker-Content-Digest"] == path.rpartition("/")[2]
        with pulling(address, "acme") as client:
            unknown = f"/v2/{SHOP}/blobs/{digest_of(b'nowhere')}"
            answers = [client.get(path) for path in (paths(theirs)[-1], unknown)]
    both_answers = [one.text.replace(theirs.module, "D") for one in answers]
    assert both_answers[0] == both_answers[1].replace(digest_of(b"nowhere"), "D")
    assert [code(one) for one in answers] == [(404, "BLOB_UNKNOWN")] * 2


def test_another_installs_release_is_not_here(site: PullSite, layout: Layout) -> None:
    mine, theirs = make_release(layout, b"mine"), make_release(layout, b"theirs")
    site.installs.pullable = {"acme": [mine.index], "other": [theirs.index]}
    with site.serving() as address, worker(address, "acme") as registry:
        assert registry.get_blob(SHOP, mine.module) == b"mine"
        with pytest.raises(ArtifactMissing):
            registry.get_manifest(SHOP, theirs.index)
        with pytest.raises(ArtifactMissing):
            registry.get_blob(SHOP, theirs.module)
    assert site.audit.counters.denials["pull", "404"] == 2


def test_only_pulls_by_digest_pass(site: PullSite, layout: Layout) -> None:
    made = make_release(layout, b"mine")
    make_release(layout, b"mine", "apps/other")
    site.installs.pullable = {"acme": [made.index]}
    with site.serving() as address, pulling(address, "acme") as client:
        assert client.get("/v2/").status_code == 200
        for path in (
            f"/v2/{SHOP}/manifests/v1",
            f"/v2/{SHOP}/tags/list",
            "/v2/_catalog",
            f"/v2/{SHOP}/blobs/{made.index}",
            f"/v2/{SHOP}/manifests/{made.module}",
            f"/v2/apps/other/manifests/{made.index}",
            f"/v2/apps/other/blobs/{made.module}",
            f"/v2/apps/../{SHOP}/blobs/{made.module}".replace("..", "%2e%2e"),
            f"/v2/{SHOP}/referrers/{made.index}",
        ):
            assert client.get(path).status_code == 404, path
        push = client.post(f"/v2/{SHOP}/blobs/uploads/")
        assert (code(push), push.headers["Allow"]) == ((405, "UNSUPPORTED"), "GET, HEAD")
        assert client.delete(paths(made)[0]).status_code == 405


def test_whose_credential_has_expired_comes_again_and_the_revoked_do_not(
    site: PullSite, layout: Layout
) -> None:
    """On 401, a worker whose gateway was away would fail its run."""
    made = make_release(layout, b"mine")
    site.installs.pullable = {"acme": [made.index]}
    site.credentials.known["acme"] = install("acme", expires=1.0)
    with site.serving() as address, pulling(address, "acme") as client:
        refused = client.get(paths(made)[0])
        assert code(refused) == (503, "UNAVAILABLE")
        assert int(refused.headers["Retry-After"]) > 0
        assert RegistryRefused(refused.status_code, refused.text).passing
        site.standings.set(install("acme"), Standing.REVOKED)
        assert code(client.get(paths(made)[0])) == (403, "DENIED")


def test_who_proves_nothing_is_asked_to_and_the_revoked_are_denied(
    site: PullSite, layout: Layout
) -> None:
    made = make_release(layout, b"mine")
    site.installs.pullable = {"acme": [made.index]}
    path = paths(made)[0]
    with site.serving() as address:
        for word in (None, "unknown"):
            with pulling(address, word) as client:
                refused = client.get(path)
                assert code(refused) == (401, "UNAUTHORIZED")
                assert refused.headers["WWW-Authenticate"].startswith("Bearer ")
        with pulling(address, "their build") as client:
            assert code(client.get(path)) == (403, "DENIED")
        with pulling(address, "acme") as client:
            site.standings.set(install("acme"), Standing.PAUSED)
            assert client.get(path).status_code == 200, "it may finish what it runs"
            site.standings.set(install("acme"), Standing.REVOKED)
            assert code(client.get(path)) == (403, "DENIED")
    assert site.audit.counters.denials["pull", "401"] == 2
    assert site.audit.counters.denials["pull", "403"] == 2
    assert site.audit.counters.calls["pull"] == 1


def test_ranges_and_their_conditions(site: PullSite, layout: Layout) -> None:
    made = make_release(layout, b"0123456789")
    site.installs.pullable = {"acme": [made.index]}
    path = paths(made)[-1]
    with site.serving() as address, pulling(address, "acme") as client:
        whole = client.get(path)
        etag = whole.headers["ETag"]
        assert (whole.content, whole.headers["Accept-Ranges"]) == (b"0123456789", "bytes")
        for headers, status, content in (
            ({"Range": "bytes=4-"}, 206, b"456789"),
            ({"Range": "bytes=-3"}, 206, b"789"),
            ({"Range": "bytes=2-3", "If-Range": etag}, 206, b"23"),
            ({"Range": "bytes=2-3", "If-Range": '"another"'}, 200, b"0123456789"),
            ({"Range": "bytes=0-0,2-2"}, 200, b"0123456789"),
        ):
            part = client.get(path, headers=headers)
            assert (part.status_code, part.content) == (status, content), headers
        assert client.get(path, headers={"Range": "bytes=10-"}).status_code == 416


def test_a_worker_goes_on_where_its_connection_broke(
    site: PullSite, layout: Layout, tmp_path: Path
) -> None:
    made = make_release(layout, BIG)
    site.installs.pullable = {"acme": [made.index]}
    cut = Cut(site.app, after=1_000_000, times=2)
    with site.serving(cut) as address, worker(address, "acme") as registry:
        registry.fetch_blob(SHOP, made.module, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == BIG
    assert cut.ranges[0] is None
    assert all((one or "").startswith("bytes=") for one in cut.ranges[1:])
    assert len(cut.ranges) == 3


def test_a_worker_goes_on_where_the_gateways_own_connection_broke(
    layout: Layout, tmp_path: Path
) -> None:
    made = make_release(layout, BIG)
    cut = Cut(registry_app(layout, writable=False), after=1_000_000, times=2)
    with served(cut) as upstream:
        site = PullSite(upstream_backend(upstream))
        site.installs.pullable = {"acme": [made.index]}
        with site.serving() as address, worker(address, "acme") as registry:
            registry.fetch_blob(SHOP, made.module, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == BIG
    assert [one is None for one in cut.ranges] == [True, False, False]


def test_a_revocation_cuts_a_pull_off(layout: Layout) -> None:
    # More than the kernel buffers on the way.
    made = make_release(layout, bytes(60_000_000))
    with served(registry_app(layout, writable=False)) as upstream:
        site = PullSite(upstream_backend(upstream))
        site.installs.pullable = {"acme": [made.index]}
        with site.serving() as address, pulling(address, "acme") as client:
            with client.stream("GET", paths(made)[-1]) as answer:
                pieces = answer.iter_raw()
                taken = len(next(pieces))
                site.standings.set(install("acme"), Standing.REVOKED)
                with pytest.raises(httpx.TransportError):
                    taken += sum(map(len, pieces))
            assert taken < 60_000_000
            assert code(client.get(paths(made)[0])) == (403, "DENIED")


def test_while_nobody_knows_the_worker_is_to_try_again(site: PullSite, layout: Layout) -> None:
    made = make_release(layout, b"mine")
    site.installs.away = True
    with site.serving() as address, pulling(address, "acme") as client:
        refused = client.get(paths(made)[0])
        assert code(refused) == (503, "UNAVAILABLE")
        assert int(refused.headers["Retry-After"]) > 0
        site.installs.away = False
        site.installs.pullable = {"acme": [made.index]}
        assert client.get(paths(made)[0]).status_code == 200
        site.installs.away = True
        assert client.get(paths(made)[-1]).status_code == 200, "what was allowed once stays so"


def test_a_registry_that_is_away_or_damaged_is_reported_as_such(layout: Layout) -> None:
    made = make_release(layout, b"mine")
    site = PullSite(upstream_backend("http://127.0.0.1:1"))
    site.installs.pullable = {"acme": [made.index]}
    with site.serving() as address, worker(address, "acme") as registry:
        with pytest.raises(RegistryRefused, match="does not answer") as refusal:
            registry.get_manifest(SHOP, made.index)
        assert refusal.value.passing

    layout.repository(SHOP).blob(made.index).write_bytes(b"{}")
    site = PullSite(EmbeddedRegistry(layout))
    site.installs.pullable = {"acme": [made.index]}
    with site.serving() as address, pulling(address, "acme") as client:
        assert code(client.get(paths(made)[-1])) == (503, "UNAVAILABLE")


def test_too_many_requests_wait_and_then_are_refused(layout: Layout) -> None:
    made = make_release(layout, b"mine")
    # An answer may be read before its slot is free again, so the next one must be able to wait.
    site = PullSite(EmbeddedRegistry(layout), PullLimits(at_once=1, waiting=4), Rate(0.001, 3))
    site.installs.pullable = {"acme": [made.index]}
    with site.serving() as address, pulling(address, "acme") as client:
        answers = [client.get(paths(made)[0]) for _ in range(4)]
        assert [one.status_code for one in answers] == [200, 200, 200, 429]
        assert code(answers[-1]) == (429, "TOOMANYREQUESTS")


async def test_one_question_answers_all_who_wait_for_it(layout: Layout) -> None:
    made, later = make_release(layout, b"mine"), make_release(layout, b"pullable later")
    site = PullSite(EmbeddedRegistry(layout))
    site.installs.pullable = {"acme": [made.index]}
    acme = install("acme")

    async def pull(digest: str) -> bool:
        return await site.pullable.may_pull(acme, SHOP, "blobs", digest)

    assert await asyncio.gather(*[pull(made.module) for _ in range(20)]) == [True] * 20
    assert site.installs.asked["acme"] == 1
    # Changed since then: whoever asks now gets an answer that is newer than their question.
    site.installs.pullable = {"acme": [later.index]}
    asked = [pull(later.module) for _ in range(20)]
    assert await asyncio.gather(*asked, pull(digest_of(b"no"))) == [True] * 20 + [False]
    assert site.installs.asked["acme"] == 2
    assert await pull(made.module)
    assert site.installs.asked["acme"] == 2, "what was allowed is not asked for again"


def test_nobody_tries_for_ever(layout: Layout, tmp_path: Path) -> None:
    made = make_release(layout, BIG)
    cut = Cut(registry_app(layout, writable=False), after=0, times=100)
    with served(cut) as upstream:
        site = PullSite(upstream_backend(upstream))
        site.installs.pullable = {"acme": [made.index]}
        with (
            site.serving() as address,
            worker(address, "acme") as registry,
            pytest.raises(RegistryUnreachable),
        ):
            registry.fetch_blob(SHOP, made.module, tmp_path / "copy")
    assert len(cut.ranges) == FRUITLESS_ATTEMPTS
