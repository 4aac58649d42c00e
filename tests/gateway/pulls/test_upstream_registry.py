"""A registry behind the gateway that requires logins and redirects; workers never reach it."""

import base64
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from artifacts.layout import Layout
from gateway.pulls.registry_login import RegistryCredentials
from gateway.registry.app import registry_app
from tests.artifacts.serving import served
from tests.gateway.pulls.pull_site import (
    SHOP,
    PullSite,
    make_release,
    pulling,
    upstream_backend,
    worker,
)

BASIC = "Basic " + base64.b64encode(b"robot:word").decode()


class Guarded:
    """A registry that requires a login, and records the credentials of each request."""

    def __init__(self, layout: Layout, scheme: str) -> None:
        self.inner = registry_app(layout, writable=False)
        self.scheme = scheme
        self.tokens = 0
        self.seen: list[tuple[str, str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        shown = request.headers.get("Authorization", "")
        self.seen.append((request.url.path, shown))
        if request.url.path == "/token":
            await self._token(request, shown)(scope, receive, send)
        elif shown == (BASIC if self.scheme == "basic" else f"Bearer token-{self.tokens}"):
            await self.inner(scope, receive, send)
        else:
            host = request.headers["Host"]
            challenge = (
                'Basic realm="registry"'
                if self.scheme == "basic"
                else f'Bearer realm="http://{host}/token",service="reg",scope="repository:x:pull"'
            )
            refusal = PlainTextResponse("no", 401, {"WWW-Authenticate": challenge})
            await refusal(scope, receive, send)

    def _token(self, request: Request, shown: str) -> Response:
        wanted = parse_qs(request.url.query)
        if shown != BASIC or wanted != {"service": ["reg"], "scope": ["repository:x:pull"]}:
            return PlainTextResponse("who?", 403)
        self.tokens += 1
        return JSONResponse({"token": f"token-{self.tokens}"})


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "registry")


@pytest.fixture
def password(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "password"
    path.write_text("word\n")
    yield path


@pytest.mark.parametrize("scheme", ["basic", "bearer"])
def test_the_gateway_logs_in_with_its_own_credentials(
    layout: Layout, password: Path, scheme: str
) -> None:
    made = make_release(layout, b"mine")
    registry = Guarded(layout, scheme)
    with served(registry) as upstream:
        site = PullSite(upstream_backend(upstream, RegistryCredentials("robot", password)))
        site.installs.pullable = {"acme": [made.index]}
        with site.serving() as address, worker(address, "acme") as client:
            for _ in range(2):
                assert client.get_blob(SHOP, made.module) == b"mine"
            registry.tokens += 1  # Invalidates all earlier tokens.
            assert client.get_blob(SHOP, made.module) == b"mine"
    assert "Bearer acme" not in {shown for _, shown in registry.seen}, "that is the worker's own"


def test_a_login_that_is_refused_is_reported_without_secrets(
    layout: Layout, password: Path
) -> None:
    made = make_release(layout, b"mine")
    password.write_text("wrong")
    with served(Guarded(layout, "bearer")) as upstream:
        site = PullSite(upstream_backend(upstream, RegistryCredentials("robot", password)))
        site.installs.pullable = {"acme": [made.index]}
        with site.serving() as address, pulling(address, "acme") as client:
            refused = client.get(f"/v2/{SHOP}/blobs/{made.module}")
    assert refused.status_code == 503
    assert "refused the login" in refused.text
    assert "wrong" not in refused.text


def test_redirects_are_followed_by_the_gateway_and_not_in_clear_to_others(layout: Layout) -> None:
    made = make_release(layout, b"mine")
    inner = registry_app(layout, writable=False)
    elsewhere = ""

    async def redirecting(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if "/blobs/" in path and not path.startswith("/cdn"):
            await RedirectResponse(f"{elsewhere}/cdn{path}")(scope, receive, send)
        else:
            await inner({**scope, "path": path.removeprefix("/cdn")}, receive, send)

    with served(redirecting) as upstream, served(redirecting) as other:
        site = PullSite(upstream_backend(upstream))
        site.installs.pullable = {"acme": [made.index]}
        with site.serving() as address, pulling(address, "acme") as client:
            found = client.get(f"/v2/{SHOP}/blobs/{made.module}")
            assert (found.status_code, found.content, found.history) == (200, b"mine", [])
            elsewhere = other
            refused = client.get(f"/v2/{SHOP}/blobs/{made.module}")
            assert (refused.status_code, "not followed" in refused.text) == (503, True)
            assert "Location" not in refused.headers
