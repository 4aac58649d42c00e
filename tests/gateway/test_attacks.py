"""Strangers attack a gateway process over real sockets: its memory stays, and others are served.

The tests measure the process's memory and whether calls pass, never how long that takes.
"""

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from grpc import StatusCode, aio

from gateway.front.limits import FrontLimits
from tests.gateway.attacks import HTTP1, HTTP2, Attacker, Sending, hpack_bombs
from tests.gateway.authority import make_authority
from tests.gateway.enrolment_site import soon
from tests.gateway.gateway_parts import Address, Calling
from tests.gateway.played_temporal import Played

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="module")]

CONNECTIONS = 8
ROUNDS = 2
EACH = 16 * 1024 * 1024
"""How much an attacker would send on each connection; 256 MB in all."""
GROWTH = 128 * 1024 * 1024
"""Bytes by which the gateway's memory may grow. Without limits, it could hold everything it is
sent, and a hundred times the size of compressed headers."""


@dataclass(frozen=True)
class Attacked:
    """A gateway in its own process."""

    at: Address
    pid: int
    attacker: Attacker

    @property
    def memory(self) -> int:
        """Its resident memory, in bytes."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return 1024 * int(next(one for one in lines if one.startswith("VmRSS")).split()[1])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def attacked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Attacked]:
    folder = tmp_path_factory.mktemp("attacked")
    authority = make_authority(folder)
    temporal = aio.server()
    temporal.add_generic_rpc_handlers((Played(),))
    upstream = temporal.add_insecure_port("127.0.0.1:0")
    await temporal.start()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.gateway.attacked_gateway",
        f"127.0.0.1:{upstream}",
        str(folder),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        port = int(await soon(process.stdout.readline()))
        yield Attacked(Address(port, authority), process.pid, Attacker(port, authority.pem))
    finally:
        process.kill()
        await process.wait()
        await temporal.stop(None)


async def passes(calling: Calling) -> None:
    assert await calling.status("GetSystemInfo", seconds=60) == (StatusCode.OK, "")


async def under_attack(attacked: Attacked, sending: Sending, word: str = "") -> int:
    """How much the gateway's memory grows, while an earlier worker and a new one are served."""
    async with attacked.at.channel("acme", alone=True) as worker:
        await passes(worker)
        before = most = attacked.memory
        for _ in range(ROUNDS):
            attacks = [
                asyncio.create_task(attacked.attacker.send(sending, EACH, word))
                for _ in range(CONNECTIONS)
            ]
            async with attacked.at.channel("acme", alone=True) as another:
                await passes(another)
            await passes(worker)
            while not all(one.done() for one in attacks):
                most = max(most, attacked.memory)
                await asyncio.wait(attacks, timeout=0.05)
            await asyncio.gather(*attacks)
        await passes(worker)
    return max(most, attacked.memory) - before


@pytest.mark.parametrize("sending", [*HTTP2, *HTTP1], ids=lambda one: one.__name__)
async def test_a_stranger_does_not_fill_the_memory(attacked: Attacked, sending: Sending) -> None:
    assert await under_attack(attacked, sending) < GROWTH


async def test_a_stranger_is_closed_soon(attacked: Attacked) -> None:
    """None of their connections lasts, whatever they send."""
    for sending in (*HTTP2, *HTTP1):
        # Sends endlessly, so it returns only because the connection was ended.
        await soon(attacked.attacker.send(sending, sys.maxsize))


async def test_a_handshake_that_never_ends_is_closed(attacked: Attacked) -> None:
    """TLS ends behind the front, so what strangers send during the handshake counts as well."""
    held = [await asyncio.open_connection("localhost", attacked.at.port) for _ in range(200)]
    before = attacked.memory
    hello = ssl.MemoryBIO()
    context = attacked.attacker.context("h2")
    handshake = context.wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        handshake.do_handshake()
    first = hello.read()
    # A record that announces a great length, and arrives byte by byte.
    endless = b"\x16\x03\x03\x40\x00"
    for _, writer in held:
        writer.write(first + endless + b"x" * 1000)
    async with attacked.at.channel("acme", alone=True) as worker:
        await passes(worker)
    for reader, writer in held:
        with suppress(ConnectionError):
            await soon(reader.read())
        writer.close()
    assert attacked.memory - before < GROWTH


async def test_a_pipeline_of_refusals_ends_with_the_first(attacked: Attacked) -> None:
    async with attacked.attacker.connection("http/1.1") as (reader, writer):
        writer.write(b"GET /v1/whoami HTTP/1.1\r\nHost: gw\r\n\r\n" * 100)
        answers = await soon(reader.read())
    assert answers.count(b"HTTP/1.1 401") == 1
    assert b"connection: close" in answers.lower()


async def test_a_pipeline_of_questions_ends_soon(attacked: Attacked) -> None:
    async with attacked.attacker.connection("http/1.1") as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: gw\r\n\r\n" * 100)
        answers = await soon(reader.read())
    assert answers.count(b"HTTP/1.1 200") == FrontLimits.stranger_answers


@pytest.mark.parametrize(
    "sending", [one for one in HTTP2 if one is not hpack_bombs], ids=lambda one: one.__name__
)
async def test_a_stolen_credential_does_not_fill_the_memory(
    attacked: Attacked, sending: Sending
) -> None:
    """Its budget is larger, but limited. (Compressed headers may take a hundred times their size,
    as SECURITY.md says.)"""
    assert await under_attack(attacked, sending, "other") < 2 * GROWTH
