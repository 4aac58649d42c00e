"""Runs all checks of a worker's machine.

Each check connects in the same way as the worker, with the same proxy and the same trusted
authorities. Nothing is changed: no keys are created, and no token is used up.
"""

import asyncio
from pathlib import Path

from stacks.enrolment import Enrolment
from wire.network.egress import ProxyUnusable, except_this_machine, proxy_to
from wire.network.trust import Trust, TrustUnusable
from workers.doctor.account import examine_cloud, examine_store
from workers.doctor.control_plane import examine_control_plane
from workers.doctor.findings import Finding
from workers.doctor.machine import examine_disk, examine_tools
from workers.engines import ENGINES


async def examine(
    enrolment: Enrolment, enrolment_file: Path, data: Path, scratch: Path
) -> list[Finding]:
    """Run all checks concurrently; each step has a time limit.

    Args:
        enrolment: The content of the enrolment file.
        enrolment_file: That file; the token is beside it.
        data: The worker's data folder.
        scratch: A folder for temporary files.
    """
    try:
        except_this_machine()
        trust = Trust.read(enrolment.ca_bundle)
        trust.spread(scratch)
        for secure in (True, False):
            proxy_to("exclave.example.com", secure=secure)
    except TrustUnusable as error:
        return [Finding("this machine", "ca_bundle", False, str(error))]
    except ProxyUnusable as error:
        return [Finding("this machine", "proxy", False, str(error))]
    found = await asyncio.gather(
        *examine_control_plane(enrolment, enrolment_file, data, trust),
        examine_store(enrolment, data, trust),
        examine_cloud(enrolment, trust),
        examine_tools(ENGINES),
        examine_disk(data),
    )
    return [one for some in found for one in some]
