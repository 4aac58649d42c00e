"""Fetches small texts over https: bounded in size, time and redirects, never over plain http."""

import asyncio
import ssl
from typing import Final

import httpx

from activities.build.mirrors import SourceRefused
from apps.reading.addresses import AddressRefused, https_url, shown
from contracts.errors import Unreachable

MAX_TEXT_BYTES: Final = 1024 * 1024
_MAX_REDIRECTS: Final = 5
_TIMEOUT_SECONDS: Final = 60.0
"""For the whole fetch; a single read or write may take half of it."""

_PASSING: Final = (408, 425, 429)
_FORBIDDEN: Final = (401, 403, 407)


async def fetch_text(url: str) -> bytes:
    """The content of an https address.

    Raises:
        SourceRefused: there is nothing, it is too large, or it redirects to something not https.
        Unreachable: it does not answer now.
    """
    context = await asyncio.to_thread(httpx.create_ssl_context)
    try:
        async with (
            asyncio.timeout(_TIMEOUT_SECONDS),
            httpx.AsyncClient(verify=context, timeout=_TIMEOUT_SECONDS / 2) as client,
        ):
            return await _followed(client, url)
    except TimeoutError:
        raise Unreachable(f"{shown(url)} took longer than {_TIMEOUT_SECONDS:.0f} s") from None
    except httpx.TransportError as error:
        if _is_about_certificates(error):
            message = f"the certificate of {shown(url)} cannot be verified: {error}"
            raise SourceRefused("", message) from None
        why = str(error) or type(error).__name__
        raise Unreachable(f"{shown(url)} cannot be fetched now: {why}") from None


async def _followed(client: httpx.AsyncClient, url: str) -> bytes:
    at = url
    for _ in range(_MAX_REDIRECTS + 1):
        async with client.stream("GET", at) as response:
            if not response.has_redirect_location:
                return await _content(response, url)
            try:
                at = https_url(str(response.url.join(response.headers["location"])))
            except (AddressRefused, httpx.InvalidURL):
                raise SourceRefused(
                    "", f"{shown(url)} redirects to an address that is not https; name the address "
                    "where the file is",
                ) from None  # fmt: skip
    raise SourceRefused("", f"{shown(url)} redirects more than {_MAX_REDIRECTS} times")


async def _content(response: httpx.Response, url: str) -> bytes:
    status = response.status_code
    if status >= 500 or status in _PASSING:
        raise Unreachable(f"{shown(url)} answers with the status {status}")
    if status != 200:
        why = "; a build has no credentials for it" if status in _FORBIDDEN else ""
        raise SourceRefused("", f"{shown(url)} answers with the status {status}{why}")
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > MAX_TEXT_BYTES:
            raise SourceRefused("", f"{shown(url)} is larger than {MAX_TEXT_BYTES // 1024} KiB")
    return bytes(content)


def _is_about_certificates(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
