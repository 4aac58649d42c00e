"""What encrypting payloads costs: an activity's round trip, with and without encryption.

The activity takes a text and returns it, on the queue of an install; it is started without a
workflow, so that nothing else is measured. Plain and encrypted round trips alternate. The codec
alone is measured, too: encrypting and decrypting once.
"""

import argparse
import contextlib
import time
from collections.abc import AsyncIterator
from datetime import timedelta

from pydantic import BaseModel
from temporalio import activity
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.converter import WorkflowSerializationContext
from temporalio.worker import Worker

from bench.report import Report
from bench.running import main
from bench.testbed import Testbed
from contracts.names import install_queue
from wire.connection import TemporalAddress, connect_once
from wire.encryption.codec import Encryption
from wire.encryption.key_ring import KeyRing
from wire.encryption.keys import MasterKeys

GOAL = 1.25
_WARM_UP = 5
_BYTES = 4_000
"""Size of the text, like the larger inputs and results of real activities."""


class Text(BaseModel):
    text: str


@activity.defn(name="bench.echo")
async def echo(input: Text) -> Text:
    return input


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trips", type=int, default=100, help="round trips of each kind (default: %(default)s)"
    )


async def measure(bed: Testbed, settings: argparse.Namespace) -> Report:
    where = TemporalAddress(bed.plane.address, bed.plane.namespace)
    keys = MasterKeys.new()
    plain = await connect_once(where)
    encrypting = await connect_once(where, KeyRing(keys))
    worker = await connect_once(
        where, KeyRing(keys.for_subject(where.namespace, "install/bench-sealed"))
    )
    samples: dict[str, list[float]] = {"plain": [], "sealed": []}
    async with _echoing(plain, "bench-plain"), _echoing(worker, "bench-sealed"):
        for number in range(_WARM_UP + settings.trips):
            for name, client in (("plain", plain), ("sealed", encrypting)):
                taken = await _round_trip(client, f"bench-{name}", number)
                if number >= _WARM_UP:
                    samples[name].append(taken)
    report = Report("An activity's round trip, with and without encryption")
    base = report.median("plain", samples["plain"], "ms")
    ours = report.median("encrypted", samples["sealed"], "ms")
    report.ratio("encrypted against plain", ours, base, GOAL)
    report.median("the codec alone, both ways", _codec(keys, settings.trips), "µs")
    return report


@contextlib.asynccontextmanager
async def _echoing(client: Client, install: str) -> AsyncIterator[None]:
    async with Worker(client, task_queue=install_queue(install), activities=[echo]):
        yield


async def _round_trip(client: Client, install: str, number: int) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    await client.execute_activity(
        echo,
        Text(text="x" * _BYTES),
        id=f"{install}-{number}",
        task_queue=install_queue(install),
        start_to_close_timeout=timedelta(seconds=10),
    )
    return (time.perf_counter() - began) * 1000


def _codec(keys: MasterKeys, times: int) -> list[float]:
    """Microseconds."""
    context = WorkflowSerializationContext(namespace="dev", workflow_id="deploy/bench/1")
    codec = Encryption(KeyRing(keys), "dev")
    payload = Payload(metadata={"encoding": b"json/plain"}, data=b"x" * _BYTES)
    samples = []
    for _ in range(times):
        began = time.perf_counter()
        # Like the SDK, make a new codec for each context.
        there = codec.with_context(context).encrypt(payload)
        codec.with_context(context).decrypt(there)
        samples.append((time.perf_counter() - began) * 1e6)
    return samples


if __name__ == "__main__":
    main("bench.encryption", __doc__, add_arguments, measure)
