"""Many idle install workers in one process, each with its own identity and connection.

python idle_fleet.py ADDRESS NAMESPACE CA COUNT

It prints a line once all of them run, and is killed at the end of the measurement.
"""

import asyncio
import resource
import sys
from pathlib import Path

from temporalio import activity
from temporalio.client import Client, TLSConfig
from temporalio.worker import PollerBehaviorSimpleMaximum, Worker

_AT_ONCE = 50
_SETTLE_SECONDS = 5.0
"""Until the first polls, and the processes' heartbeats, have been sent."""


@activity.defn(name="bench.nothing")
async def nothing() -> None:
    """Does nothing."""


async def main(address: str, namespace: str, ca: bytes, count: int) -> None:
    tls = TLSConfig(server_root_ca_cert=ca)
    turn = asyncio.Semaphore(_AT_ONCE)

    async def worker(number: int) -> Worker:
        async with turn:
            client = await Client.connect(
                address, namespace=namespace, api_key=f"idle-{number}", tls=tls
            )
        return Worker(
            client,
            task_queue=f"install.idle-{number}",
            activities=[nothing],
            activity_task_poller_behavior=PollerBehaviorSimpleMaximum(1),
        )

    workers = await asyncio.gather(*(worker(number) for number in range(count)))
    running = [asyncio.create_task(one.run()) for one in workers]
    await asyncio.sleep(_SETTLE_SECONDS)
    print("all of them run", flush=True)
    await asyncio.gather(*running)


if __name__ == "__main__":
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]).read_bytes(), int(sys.argv[4])))
