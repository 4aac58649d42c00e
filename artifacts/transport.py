"""HTTP to one registry: through the machine's proxy, with same-host redirects and typed errors."""

import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import httpx

from artifacts.errors import RegistryRefused, RegistryUnreachable
from wire.network.httpx_parts import http_proxy_of

MAX_REDIRECTS = 5
_ERROR_BODY_BYTES = 4096


class Transport:
    """The connections to one registry; thread-safe."""

    def __init__(
        self,
        address: str,
        timeout: httpx.Timeout,
        auth: httpx.Auth | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        """Does not connect yet."""
        self.address = address
        if trust is None and address.startswith("http://"):
            # Never used, but without it httpx would load all well-known authorities, about 2 MB.
            trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._client = httpx.Client(
            timeout=timeout,
            trust_env=False,
            headers={"User-Agent": "exclave"},
            auth=auth,
            verify=trust or True,
            # Set by hand, since trust_env would send loopback addresses through the proxy, too.
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
        """Send a request, and yield its answer before the body is read.

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
        raise RegistryRefused(response.status_code, "it redirects endlessly", f"{method} {url}")

    def expect_success(self, response: httpx.Response) -> httpx.Response:
        """Return the answer; raise RegistryRefused, with the body, if its status is an error."""
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
        """The URL that the answer points to, which must be on this registry."""
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
