"""Waits until the namespace has the search attributes that runs set, and says what it lacks."""

import asyncio
import logging
from typing import Final

from temporalio.service import RPCError, RPCStatusCode

from wire.connection import TemporalAddress, connect
from wire.search_attributes import missing_attributes, what_to_do

_AGAIN_SECONDS: Final = 5.0
_NOT_TOLD: Final = frozenset(
    {
        RPCStatusCode.PERMISSION_DENIED,
        RPCStatusCode.UNIMPLEMENTED,
        RPCStatusCode.UNAUTHENTICATED,
        RPCStatusCode.NOT_FOUND,
    }
)
"""Where this connection may not ask: then the namespace is taken to be as it shall."""

_log = logging.getLogger(__name__)


async def has_attributes(where: TemporalAddress) -> None:
    """Return once the namespace has them, however long that takes: without them no run goes on."""
    client = await connect(where)
    while True:
        try:
            missing, wrong = await missing_attributes(client)
        except RPCError as error:
            if error.status in _NOT_TOLD:
                _log.info("The search attributes are not looked at: %s.", error.status.name)
                return
            _log.warning("The search attributes cannot be looked at yet: %s.", error.status.name)
        else:
            if not missing and not wrong:
                return
            _log.warning("No work is taken: %s", what_to_do(client, missing, wrong))
        await asyncio.sleep(_AGAIN_SECONDS)
