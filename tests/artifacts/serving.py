"""Serves an ASGI app on a loopback port that the system chooses, for as long as a block runs."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """The address of the app, which takes connections at once."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        # Connections queue up from here on, so nobody has to wait for the server.
        listener.listen(64)
        config = uvicorn.Config(app, log_level="critical", lifespan="off", access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class Cut:
    """Breaks the connection of each of the first answers to `GET …/blobs/…` after some bytes."""

    def __init__(self, app: ASGIApp, *, after: int, times: int) -> None:
        self.app = app
        self.after = after
        self.left = times
        self.ranges: list[str | None] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or "/blobs/" not in scope["path"]:
            await self.app(scope, receive, send)
            return
        self.ranges.append(dict(scope["headers"]).get(b"range", b"").decode() or None)
        budget = self.after if self.left > 0 else None
        self.left -= 1

        async def cutting(message: Message) -> None:
            nonlocal budget
            if budget is not None and message["type"] == "http.response.body":
                body = message.get("body", b"")[:budget]
                budget -= len(body)
                await send({"type": "http.response.body", "body": body, "more_body": True})
                if budget == 0:
                    raise ConnectionAbortedError("cut by the test")
            else:
                await send(message)

        await self.app(scope, receive, cutting)
