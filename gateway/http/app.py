"""The gateway's HTTP app, put together from lists of routes."""

from collections.abc import Callable, Sequence
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.front.peers import Peers

PROVEN = "exclave.proven"
"""Key in a request's scope: a function to call once the caller has proven its identity."""

_REFUSED = 400


def prove(request: Request) -> None:
    """Note that a proven caller, who may pass, uses the request's connection."""
    proven = request.scope.get(PROVEN)
    if proven is not None:
        proven()


Unhealthy = Callable[[], str | None]
"""Returns why new connections should go elsewhere, or None."""


def gateway_app(routes: Sequence[BaseRoute], unhealthy: Unhealthy) -> ASGIApp:
    """The whole HTTP app.

    Args:
        routes: What the other parts of the gateway serve, below `/v1` and `/v2`.
        unhealthy: Asked by `GET /healthz`, for load balancers.
    """

    async def healthz(_: Request) -> Response:
        reason = unhealthy()
        if reason is None:
            return PlainTextResponse("ok\n")
        return PlainTextResponse(f"{reason}\n", status_code=503)

    async def unknown(request: Request, _: Exception) -> Response:
        asked = f"{request.method} {request.scope['path']}"
        return JSONResponse(
            {"error": f"the gateway has no such endpoint: {asked}"}, status_code=404
        )

    return Starlette(
        routes=[Route("/healthz", healthz, methods=["GET"]), *routes],
        exception_handlers={404: unknown},
    )


class FromOutside:
    """Gives the app behind it the real address of a request's sender, instead of the front's.

    When a caller who has proven nothing is refused, the connection is closed, so that whatever they
    sent after that request is never read.
    """

    def __init__(self, app: ASGIApp, peers: Peers) -> None:
        self._app = app
        self._peers = peers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        inner = scope.get("client")
        peer = self._peers.at(inner[1]) if inner else None
        if inner and peer is not None:
            proven = partial(self._peers.prove, inner[1])
            scope = {**scope, "client": tuple(peer), PROVEN: proven}
            send = partial(self._answer, send, inner[1])
        await self._app(scope, receive, send)

    async def _answer(self, send: Send, port: int, message: Message) -> None:
        if message["type"] == "http.response.start" and not self._peers.is_proven(port):
            last = self._peers.answered(port)
            if last or message["status"] >= _REFUSED:
                headers = [*message.get("headers", ()), (b"connection", b"close")]
                message = {**message, "headers": headers}
        await send(message)
