"""What httpx is given here: the machine's proxy, and a worker's newest credential.

Apart from what these are made of, since an idle worker does without httpx.
"""

from collections.abc import Generator
from typing import Protocol

import httpx

from wire.network.egress import Proxy, proxy_for


def http_proxy(proxy: Proxy) -> httpx.Proxy:
    """A proxy as httpx takes it; its errors name the URL, so nothing secret is in that."""
    return httpx.Proxy(f"http://{proxy.address}", auth=proxy.login)


def http_proxy_of(url: str) -> httpx.Proxy | None:
    """The proxy for a URL, as httpx takes it; raises as `proxy_to`."""
    proxy = proxy_for(url)
    return http_proxy(proxy) if proxy else None


class Renewed(Protocol):
    """What has a credential that is renewed."""

    @property
    def token(self) -> str:
        """The newest one; a secret."""


class Bearer(httpx.Auth):
    """Shows the newest credential with each request."""

    def __init__(self, credentials: Renewed) -> None:
        self._credentials = credentials

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add it."""
        request.headers["Authorization"] = f"Bearer {self._credentials.token}"
        yield request
