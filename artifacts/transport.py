"""HTTP to one registry: same-host redirects only, through the machine's proxy, typed errors."""

import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import httpx

from artifacts.errors import RegistryRefused, RegistryUnreachable
from wire.network.httpx_parts import http_proxy_of

MAX_REDIRECTS = 5
_ERROR_BODY_BYTES = 4096


class Transport:
    """The connections to one registry, for many threads at once."""

    def __init__(
        self,
        address: str,
        timeout: httpx.Timeout,
        auth: httpx.Auth | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        """Nothing is connected yet."""
        self.address = address
        if trust is None and address.startswith("http://"):
            # Never used; httpx would read all well-known authorities for it, which takes 2 MB.
            trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._client = httpx.Client(
            timeout=timeout,
            trust_env=False,
            headers={"User-Agent": "exclave"},
            auth=auth,
            verify=trust or True,
            # trust_env would also send loopback addresses through it.
            proxy=http_proxy_of(address),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @contextmanager
    def stream(
        self,
        method: str,
        url: httpx.URL,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | Iterable[bytes] | None = None,
    ) -> Iterator[httpx.Response]:
        """Send a request, and give its answer before its body is read.

        Only GET and HEAD follow redirects, and only on the same scheme, host and port.

        Raises:
            RegistryUnreachable: no answer, or the connection broke while its body was read.
            RegistryRefused: a redirect that is not followed.
        """
        for _ in range(MAX_REDIRECTS):
            request = self._client.build_request(method, url, headers=headers, content=content)
            try:
                response = self._client.send(request, stream=True)
                try:
                    if method not in ("GET", "HEAD") or not response.has_redirect_location:
                        yield response
                        return
                    url = self.location(response)
                finally:
                    response.close()
            except httpx.TransportError as error:
                raise RegistryUnreachable(self.address, _reason(error)) from error
        raise RegistryRefused(response.status_code, "it redirects without end", f"{method} {url}")

    def expect_success(self, response: httpx.Response) -> httpx.Response:
        """Return the answer; raise RegistryRefused, with its body, where it is no success."""
        if response.is_success:
            return response
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) >= _ERROR_BODY_BYTES:
                break
        request = response.request
        raise RegistryRefused(
            response.status_code,
            body[:_ERROR_BODY_BYTES].decode(errors="replace"),
            f"{request.method} {request.url.copy_with(query=None)}",
        )

    def location(self, response: httpx.Response) -> httpx.URL:
        """Where the answer points to, which must be this very registry."""
        url = response.request.url
        target = url.join(response.headers.get("Location", ""))
        if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port):
            raise RegistryRefused(
                response.status_code,
                f"it points to another host, {target.host}, which is not followed",
                f"{response.request.method} {url.path}",
            )
        return target


def _reason(error: httpx.TransportError) -> str:
    return str(error) or type(error).__name__
