"""Adapts the machine's proxy and a worker's credential for httpx.

In a module of its own, since an idle worker does not import httpx.
"""

from collections.abc import Generator
from typing import Protocol

import httpx

from wire.network.egress import Proxy, proxy_for


def http_proxy(proxy: Proxy) -> httpx.Proxy:
    """A proxy for httpx. The URL contains no secret, since httpx's errors quote it."""
    return httpx.Proxy(f"http://{proxy.address}", auth=proxy.login)


def http_proxy_of(url: str) -> httpx.Proxy | None:
    """The proxy for a URL, as httpx expects it; raises like `proxy_to`."""
    proxy = proxy_for(url)
    return http_proxy(proxy) if proxy else None


class Renewed(Protocol):
    """Has a credential that is renewed."""

    @property
    def token(self) -> str:
        """The newest credential; a secret."""


class Bearer(httpx.Auth):
    """Sends the newest credential with each request."""

    def __init__(self, credentials: Renewed) -> None:
        self._credentials = credentials

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the credential."""
        request.headers["Authorization"] = f"Bearer {self._credentials.token}"
        yield request
