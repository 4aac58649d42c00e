"""An HTTP proxy that gives tunnels by CONNECT, as those of companies do."""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class ConnectProxy:
    """It alone knows the names of the hosts behind it."""

    knows: Mapping[str, tuple[str, int]]
    """Where `host:port` really is."""
    login: str | None = None
    """`user:password`."""
    port: int = 0
    asked: list[str] = field(default_factory=list)
    """What was asked for, in order, and what it answered."""

    @property
    def url(self) -> str:
        login = f"{self.login}@" if self.login else ""
        return f"http://{login}127.0.0.1:{self.port}"

    def answer(self, target: str, headers: Mapping[str, str]) -> str:
        if self.login is not None:
            word = base64.b64encode(self.login.encode()).decode()
            if headers.get("proxy-authorization") != f"Basic {word}":
                return "407 Proxy Authentication Required"
        if target not in self.knows:
            return "403 Forbidden"
        return "200 Connection established"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            method, target, _ = head[0].split(" ")
            pairs = (line.split(": ", 1) for line in head[1:] if line)
            headers = {name.lower(): value for name, value in pairs}
            answer = self.answer(target, headers) if method == "CONNECT" else "405 No"
            self.asked.append(f"{target} {answer[:3]}")
            writer.write(f"HTTP/1.1 {answer}\r\n".encode())
            writer.write(b"\r\n" if answer.startswith("200") else b"Content-Length: 0\r\n\r\n")
            if answer.startswith("200"):
                inner = await asyncio.open_connection(*self.knows[target])
                await both_ways((reader, writer), inner)
        writer.close()


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def both_ways(outer: Streams, inner: Streams, silence: float | None = None) -> bool:
    """Pass bytes on; whether it was cut because nothing moved for that many seconds."""
    loop = asyncio.get_running_loop()
    moved = loop.time()

    async def one_way(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal moved
        with suppress(OSError):
            while piece := await reader.read(65536):
                moved = loop.time()
                writer.write(piece)
                await writer.drain()

    ways = {
        asyncio.create_task(one_way(outer[0], inner[1])),
        asyncio.create_task(one_way(inner[0], outer[1])),
    }
    cut = False
    try:
        while not cut:
            left = None if silence is None else moved + silence - loop.time()
            done, _ = await asyncio.wait(ways, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if done:
                break
            cut = silence is not None and loop.time() - moved >= silence
    finally:
        for way in ways:
            way.cancel()
        for _, writer in (outer, inner):
            writer.close()
        for _, writer in (outer, inner):
            with suppress(OSError):
                await writer.wait_closed()
        await asyncio.gather(*ways, return_exceptions=True)
    return cut


@asynccontextmanager
async def connect_proxy(proxy: ConnectProxy) -> AsyncIterator[ConnectProxy]:
    async with listening(proxy.serve) as proxy.port:
        yield proxy


@asynccontextmanager
async def listening(serve: object, address: str = "127.0.0.1") -> AsyncIterator[int]:
    """A server on loopback, whose connections end with it."""
    tasks: set[asyncio.Task[None]] = set()

    async def tracked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)  # type: ignore[operator]
        except asyncio.CancelledError:
            writer.close()
        finally:
            tasks.discard(task)

    server = await asyncio.start_server(tracked, address, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
