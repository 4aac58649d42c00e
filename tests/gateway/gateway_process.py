"""A gateway in its own process, with words as credentials, for tests that kill or measure it.

python gateway_process.py TEMPORAL PORT FOLDER NAME...

FOLDER is an authority's, or `-` for none; each NAME is an install and also its credential. It
prints its port when it is up.
"""

# Imported first: it sets environment variables that gRPC reads when it is imported.
from workers.gateway import freeze_garbage_collector, run_loop  # isort: split

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
    # High limits, since one identity may use everything, and all calls come from one address.
    site.limits = Limits(calls_per_second=1e6, calls_at_once=1e6, polls=200)
    site.front = FrontLimits(connections_per_address=10_000)
    leaving = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leaving.set)
    async with site.gateway(int(port)) as gateway:
        freeze_garbage_collector()
        print(gateway.port, flush=True)
        await leaving.wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        run_loop(main(*sys.argv[1:]))
    os._exit(0)
