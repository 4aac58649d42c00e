"""Temporal's remote codec protocol: plain text in the UI and CLI, for those who may see it.

    POST /decode and /encode, each with {"payloads": […]} and the header X-Namespace

Whoever has the token may read everything of the org, so it is compared in constant time. Without a
token, the server answers only callers on this machine. A payload that cannot be decrypted is
returned unchanged, so that it does not hide the others. Payloads encrypted here belong to the org,
since the protocol does not say which workflow they are for.
"""

import hmac
import logging
import re
import time
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Final

from google.protobuf.json_format import MessageToJson, Parse, ParseError
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from temporalio.api.common.v1 import Payload, Payloads

from contracts.errors import ExclaveError
from contracts.names import NAME_PATTERN
from wire.encryption.codec import Encryption
from wire.encryption.keys import Keys
from wire.encryption.unreadable import is_unreadable

LARGEST_BODY: Final = 16 * 1024 * 1024
"""Enough for a page of a history in base64; a payload has at most 2 MiB."""
_SECONDS_BETWEEN_LINES: Final = 10.0
_log = logging.getLogger(__name__)
_NAMESPACE = re.compile(NAME_PATTERN)

_Apply = Callable[[Encryption, Payload], Payload]


class _Refusal(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


def codec_server(
    keys: Keys, *, token: SecretStr | None, origins: Sequence[str], namespaces: frozenset[str]
) -> Starlette:
    """The server, as an ASGI app.

    Args:
        keys: The control side's keys.
        token: What callers must send as `Authorization: Bearer …`; None answers only this machine.
        origins: The origins of the Temporal UI, for example `http://127.0.0.1:8233`; other pages
            are refused.
        namespaces: The orgs that are served.
    """
    if "*" in origins:
        raise ValueError("Name the Temporal UI's own origin; `*` would let every page decrypt.")

    log = _RefusalLog()

    async def decode(request: Request) -> Response:
        return await _answered(request, _decrypted)

    async def encode(request: Request) -> Response:
        return await _answered(request, Encryption.encrypt)

    async def _answered(request: Request, apply: _Apply) -> Response:
        try:
            _admit(request, token, origins)
            codec = Encryption(keys, _namespace(request, namespaces))
            sent = await _payloads(request)
            answer = Payloads(payloads=[apply(codec, one) for one in sent.payloads])
        except _Refusal as refusal:
            log.refused(request, refusal.why)
            return PlainTextResponse(refusal.why, refusal.status)
        except ExclaveError as error:
            return PlainTextResponse(error.message, 500)
        return Response(MessageToJson(answer), media_type="application/json")

    return Starlette(
        routes=[
            Route("/decode", decode, methods=["POST"]),
            Route("/encode", encode, methods=["POST"]),
        ],
        middleware=[
            Middleware(
                CORSMiddleware,
                allow_origins=list(origins),
                allow_methods=["POST"],
                allow_headers=["Authorization", "Content-Type", "X-Namespace"],
            )
        ],
    )


class _RefusalLog:
    """Logs refusals, since the CLI may not show them to its user, but only one line at a time."""

    def __init__(self) -> None:
        self._next = float("-inf")
        self._unlogged = 0

    def refused(self, request: Request, why: str) -> None:
        now = time.monotonic()
        if now < self._next:
            self._unlogged += 1
            return
        more = f" ({self._unlogged} more since the last line)" if self._unlogged else ""
        host = request.client.host if request.client else "a caller"
        _log.warning("Refused %s: %s%s", host, why, more)
        self._next, self._unlogged = now + _SECONDS_BETWEEN_LINES, 0


def _decrypted(codec: Encryption, payload: Payload) -> Payload:
    plain = codec.decrypt(payload)
    return payload if is_unreadable(plain) else plain


def _admit(request: Request, token: SecretStr | None, origins: Sequence[str]) -> None:
    """Refuse callers who may not see plain text."""
    origin = request.headers.get("origin")
    if origin is not None and origin not in origins:
        # CORS only keeps a foreign page from reading the answer, not from asking.
        raise _Refusal(403, "This page is not the Temporal UI.")
    if token is None:
        host = request.client.host if request.client else ""
        if not _is_loopback(host) or not _is_loopback(request.url.hostname or ""):
            raise _Refusal(403, "Without a token only this machine is answered.")
        return
    scheme, _, shown = request.headers.get("authorization", "").partition(" ")
    expected = token.get_secret_value().encode()
    if scheme.lower() != "bearer" or not hmac.compare_digest(shown.encode(), expected):
        raise _Refusal(401, "Show the codec server's token: Authorization: Bearer TOKEN.")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        # Somebody else's name, which they made resolve to this machine.
        return False


def _namespace(request: Request, namespaces: frozenset[str]) -> str:
    namespace = request.headers.get("x-namespace", "")
    if not _NAMESPACE.fullmatch(namespace):
        raise _Refusal(400, "Name the namespace in the header X-Namespace.")
    if namespace not in namespaces:
        raise _Refusal(403, f"This codec server does not serve the namespace {namespace}.")
    return namespace


async def _payloads(request: Request) -> Payloads:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_BODY:
                raise _Refusal(413, f"At most {LARGEST_BODY} bytes are taken at a time.")
    except ClientDisconnect:
        raise _Refusal(400, "The body ended early.") from None
    try:
        return Parse(bytes(body), Payloads())
    except (ParseError, ValueError):
        raise _Refusal(400, 'Send {"payloads": […]} as Temporal does.') from None
