"""A gateway in its own process, whose memory is measured while strangers attack it.

python -m tests.gateway.attacked_gateway TEMPORAL FOLDER

It prints its port when it is up. `acme` and `other` are credentials, over gRPC and at `/v1/whoami`.
"""

# Imported first: it sets environment variables that gRPC reads when it is imported.
from workers.gateway import freeze_garbage_collector, run_loop  # isort: split

import asyncio
import os
import sys
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from gateway.audit import Audit
from gateway.front.limits import FrontLimits
from gateway.http.callers import Callers, Rate, Refused
from tests.gateway.authority import Authority
from tests.gateway.gateway_parts import Credentials, Site, install


async def main(temporal: str, folder: str) -> None:
    known = Credentials({name: install(name) for name in ("acme", "other")})
    site = Site(temporal, Authority.of(Path(folder)), known)
    # The tests wait for each attack to end.
    site.front = FrontLimits(proof_seconds=1.0)
    callers = Callers(site.credentials, site.standings, Audit(), Rate(1000, 1000))

    async def whoami(request: Request) -> Response:
        try:
            who = callers.admit(request).shown
        except Refused as refused:
            callers.denied(request, refused, "whoami")
            return PlainTextResponse(refused.reason, refused.status)
        size = 0
        async for piece in request.stream():
            size += len(piece)
        return PlainTextResponse(f"{who} {size}")

    site.routes = (Route("/v1/whoami", whoami, methods=["GET", "POST"]),)
    async with site.gateway() as gateway:
        freeze_garbage_collector()
        print(gateway.port, flush=True)
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    run_loop(main(*sys.argv[1:]))
    os._exit(0)
