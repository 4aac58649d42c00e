"""Done once: the frame of every activity that changes something on the customer's side.

Temporal may run an activity again that did its work (the worker died, the server was away): the
recorded outcome is returned then. Only final outcomes are recorded: a result, or a failure that
trying again would not mend.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel

from activities.heartbeats import heartbeating
from activities.operations.memory import TOOL_BYTES
from activities.operations.operation import Operation
from activities.workplace import Workplace
from contracts.errors import EngineFailed, ExclaveError, by_type
from store.journal import Outcome
from store.left_files import NoFileLeft

R = TypeVar("R", bound=BaseModel)

Say = Callable[[str], None]


async def once(  # noqa: PLR0913 - each of them is asked for by its name
    workplace: Workplace,
    *,
    key: str,
    subject: str,
    result: type[R],
    body: Callable[[Operation, Say], Awaitable[R]],
    check: Callable[[], Awaitable[None]] | None = None,
    tool_bytes: int = TOOL_BYTES,
) -> R:
    """Run `body` as the operation of that key, or return what it came to before.

    Args:
        workplace: Where the operation's store and tools are.
        key: The operation's key, the same for every attempt.
        subject: What no two operations may touch at a time: a component, or an action.
        result: The model that is recorded.
        body: Does the work; its typed errors that are not retryable are recorded too.
        check: Refuses what may not be done any more, once the subject is held: the wait for it may
            have been long. What it raises is not recorded.
        tool_bytes: What each of its tools is taken to need of the machine's memory.
    """
    async with (
        heartbeating() as say,
        workplace.operations.open(key, subject, say, tool_bytes) as operation,
    ):
        recorded = operation.outcome()
        if recorded is None:
            if check is not None:
                await check()
            try:
                value = await _typed(body(operation, say))
            except ExclaveError as error:
                if not error.retryable:
                    # Shielded: a cancel that arrives now must not lose what is known.
                    await asyncio.shield(
                        operation.record_failure(type(error).__name__, error.message)
                    )
                raise
            await asyncio.shield(operation.record_result(value.model_dump(mode="json")))
            return value
        return _replay(recorded, result)


async def _typed(done: Awaitable[R]) -> R:
    try:
        return await done
    except NoFileLeft as error:
        raise EngineFailed(f"{error}.") from None


def _replay(recorded: Outcome, result: type[R]) -> R:
    if recorded.failure is not None:
        raise by_type(recorded.failure.type)(recorded.failure.message)
    return result.model_validate(recorded.result)
