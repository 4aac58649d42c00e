"""A gateway as a process of its own, with words for credentials, to be killed and to be measured.

python gateway_process.py TEMPORAL PORT FOLDER NAME...

FOLDER is an authority's, or `-` for none; each NAME is an install, and its credential. It prints
its port when it is up.
"""

# First of all: gRPC reads environment variables as it is imported, which this one sets.
from workers.gateway import keep_what_is_there, run_loop  # isort: split

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

from gateway.front.limits import FrontLimits
from gateway.limits import Limits
from tests.gateway.authority import Authority
from tests.gateway.gateway_parts import Credentials, Site, install


async def main(temporal: str, port: str, folder: str, *names: str) -> None:
    authority = None if folder == "-" else Authority.of(Path(folder))
    site = Site(temporal, authority, Credentials({name: install(name) for name in names}))
    # One identity may take all of it, and all come from one address.
    site.limits = Limits(calls_per_second=1e6, calls_at_once=1e6, polls=200)
    site.front = FrontLimits(connections_per_address=10_000)
    leaving = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leaving.set)
    async with site.gateway(int(port)) as gateway:
        keep_what_is_there()
        print(gateway.port, flush=True)
        await leaving.wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        run_loop(main(*sys.argv[1:]))
    os._exit(0)
