"""Three networks as they are in the field, of the kernel's own parts:

    customer ─── way ─── vendor edge ─ ─ ─ the vendor's servers, on this machine's loopback

The customer's side has a route to the gateway's addresses and to no others. The way forwards, and
can lose packets as the field does: without a word to either end. At the vendor's edge, bytes for
the gateway, Temporal and the registry are passed on to where these really listen; so that what the
customer cannot reach is there, and the machine that the tests run on lets nobody in.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.e2e.namespaces import Namespace, demand_namespaces
from tests.e2e.plane import Plane
from tests.http_proxy import both_ways

TO_CUSTOMER, TO_VENDOR = "to-customer", "to-vendor"
"""What a namespace's link in that direction is called."""
GATEWAY_NAME = "gateway.vendor.example"
PORT, TEMPORAL_PORT, REGISTRY_PORT = 443, 7233, 5000


@dataclass(frozen=True)
class Addresses:
    """One family's, of the ranges that are for examples. No machine really has them."""

    customer: str
    way_to_customer: str
    way_to_edge: str
    vendor: str
    gateway: str
    moved_gateway: str
    temporal: str
    registry: str
    internet: str
    alone: str
    """The length of a prefix that is one address."""


V4 = Addresses(
    customer="192.0.2.2",
    way_to_customer="192.0.2.1",
    way_to_edge="203.0.113.1",
    vendor="203.0.113.2",
    gateway="203.0.113.10",
    moved_gateway="203.0.113.11",
    temporal="203.0.113.20",
    registry="203.0.113.30",
    internet="198.51.100.1",
    alone="32",
)
V6 = Addresses(
    customer="2001:db8:c::2",
    way_to_customer="2001:db8:c::1",
    way_to_edge="2001:db8:e::1",
    vendor="2001:db8:e::2",
    gateway="2001:db8:e::10",
    moved_gateway="2001:db8:e::11",
    temporal="2001:db8:e::20",
    registry="2001:db8:e::30",
    internet="2001:db8:1::1",
    alone="128",
)


class Edge:
    """Passes bytes on from addresses at the vendor's edge to ports of this machine's loopback."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._loop = asyncio.new_event_loop()
        self._servers: dict[str, asyncio.Server] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def serve(self, address: str, port: int, behind: str | None) -> None:
        """Listen there, for what listens at an address (or URL) of loopback."""
        assert behind is not None
        there = int(behind.rpartition(":")[2])
        listener = self._namespace.listener(address, port)
        asyncio.run_coroutine_threadsafe(self._serve(listener, address, there), self._loop).result()

    async def _serve(self, listener: socket.socket, address: str, behind: int) -> None:
        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            try:
                inner = await asyncio.open_connection("127.0.0.1", behind)
                await both_ways((reader, writer), inner)
            except (OSError, asyncio.CancelledError):
                writer.close()

        self._servers[address] = await asyncio.start_server(pass_on, sock=listener)

    def close(self) -> None:
        async def end() -> None:
            for server in self._servers.values():
                server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@dataclass
class CustomerNetwork:
    """All three, while the tests run."""

    customer: Namespace
    way: Namespace
    vendor: Namespace
    edge: Edge = field(repr=False)

    def blackhole(self) -> None:
        """From now on every packet vanishes, in both directions, and nobody is told."""
        for family in ("-4", "-6"):
            self.way.ip(family, "rule", "add", "pref", "1", "blackhole")

    def heal(self) -> None:
        for family in ("-4", "-6"):
            self.way.ip(family, "rule", "delete", "pref", "1")


@contextmanager
def customer_network(
    plane: Plane, customer: tuple[Addresses, ...] = (V4,)
) -> Iterator[CustomerNetwork]:
    """Build it, and leave nothing of it.

    Args:
        plane: The vendor's servers.
        customer: What the customer's side has addresses of; the vendor's side has both.
    """
    demand_namespaces()
    with contextlib.ExitStack() as stack:
        made = []
        for role in ("customer", "way", "vendor"):
            made.append(Namespace.add(role))
            stack.callback(made[-1].remove)
        inside, way, vendor = made
        _link(inside, way)
        _link(way, vendor)
        way.forward()
        for one in customer:
            _customers_side(inside, way, one)
        edge = Edge(vendor)
        stack.callback(edge.close)
        for one in (V4, V6):
            _vendors_side(way, vendor, one)
            edge.serve(one.gateway, PORT, plane.gateway)
            edge.serve(one.temporal, TEMPORAL_PORT, plane.address)
            edge.serve(one.registry, REGISTRY_PORT, plane.pull)
        yield CustomerNetwork(inside, way, vendor, edge)


def _link(lower: Namespace, upper: Namespace) -> None:
    peer = ("peer", "name", TO_CUSTOMER, "netns", upper.name)
    lower.ip("link", "add", TO_VENDOR, "type", "veth", *peer)
    lower.ip("link", "set", TO_VENDOR, "up")
    upper.ip("link", "set", TO_CUSTOMER, "up")


def _pair(lower: Namespace, own: str, upper: Namespace, other: str) -> None:
    """The addresses of a link's two ends; each knows the one host at the other, and no network."""
    ends = ((lower, TO_VENDOR, own, other), (upper, TO_CUSTOMER, other, own))
    for namespace, link, here, there in ends:
        nodad = ("nodad",) if ":" in here else ()
        namespace.ip("address", "add", here, "peer", there, "dev", link, *nodad)


def _customers_side(inside: Namespace, way: Namespace, one: Addresses) -> None:
    _pair(inside, one.customer, way, one.way_to_customer)
    for gateway in (one.gateway, one.moved_gateway):
        inside.ip("route", "add", f"{gateway}/{one.alone}", "via", one.way_to_customer)


def _vendors_side(way: Namespace, vendor: Namespace, one: Addresses) -> None:
    _pair(way, one.way_to_edge, vendor, one.vendor)
    vendor.ip("route", "add", "default", "via", one.way_to_edge)
    for served in (one.gateway, one.moved_gateway, one.temporal, one.registry):
        nodad = ("nodad",) if ":" in served else ()
        vendor.ip("address", "add", f"{served}/{one.alone}", "dev", TO_CUSTOMER, *nodad)
        way.ip("route", "add", f"{served}/{one.alone}", "via", one.vendor)
