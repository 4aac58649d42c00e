"""Waits for the install's store before any work is taken, and logs what it waits for."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from store.checking import check_store
from store.errors import StoreUnavailable
from store.interface import Store
from wire.backoff import backoff

_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 30.0

_log = logging.getLogger(__name__)


async def usable(store: Store) -> None:
    """Return once the store can be used, however long that takes."""
    # Not the loop's own threads: the loop waits for those at its end, and a store that does not
    # answer would keep the worker from exiting.
    threads = ThreadPoolExecutor(1, thread_name_prefix="store-check")
    for pause in backoff(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS):
        try:
            await asyncio.get_running_loop().run_in_executor(threads, check_store, store)
        except StoreUnavailable as error:
            if error.full_disk is not None:
                # Work that needs no space can be done; other work reports the full disk itself.
                _log.warning("Work that needs space waits: %s.", error)
                threads.shutdown(wait=False)
                return
            _log.warning("No work is taken: %s. Trying again in %.0f s.", error, pause)
        else:
            threads.shutdown(wait=False)
            return
        await asyncio.sleep(pause)
