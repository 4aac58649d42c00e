"""Waits until the namespace has the search attributes that runs set, and logs what is missing."""

import asyncio
import logging
from typing import Final

from temporalio.service import RPCError, RPCStatusCode

from wire.connection import TemporalAddress, connect
from wire.search_attributes import missing_attributes, what_to_do

_AGAIN_SECONDS: Final = 5.0
_CANNOT_ASK: Final = frozenset(
    {
        RPCStatusCode.PERMISSION_DENIED,
        RPCStatusCode.UNIMPLEMENTED,
        RPCStatusCode.UNAUTHENTICATED,
        RPCStatusCode.NOT_FOUND,
    }
)
"""This connection may not ask; then the search attributes are assumed to exist."""

_log = logging.getLogger(__name__)


async def has_attributes(where: TemporalAddress) -> None:
    """Return once the namespace has the search attributes; without them no run can go on."""
    client = await connect(where)
    while True:
        try:
            missing, wrong = await missing_attributes(client)
        except RPCError as error:
            if error.status in _CANNOT_ASK:
                _log.info("The search attributes cannot be checked: %s.", error.status.name)
                return
            _log.warning("The search attributes cannot be checked yet: %s.", error.status.name)
        else:
            if not missing and not wrong:
                return
            _log.warning("No work is taken: %s", what_to_do(client, missing, wrong))
        await asyncio.sleep(_AGAIN_SECONDS)
