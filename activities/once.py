"""Runs an operation once per key: every activity that changes the customer's side goes through it.

Temporal may run an activity again that has done its work (the worker died, the server was away).
The recorded outcome is returned then. Only final outcomes are recorded: a result, or a failure that
a retry would not repair.
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


async def once(  # noqa: PLR0913 - all are passed by keyword
    workplace: Workplace,
    *,
    key: str,
    subject: str,
    result: type[R],
    body: Callable[[Operation, Say], Awaitable[R]],
    check: Callable[[], Awaitable[None]] | None = None,
    tool_bytes: int = TOOL_BYTES,
) -> R:
    """Run `body` as the operation with that key, or return its recorded outcome.

    Args:
        workplace: The store and tools to use.
        key: The operation's key, the same for every attempt.
        subject: What only one operation at a time may work on: a part, or an action.
        result: The model of the result that is recorded.
        body: Does the work; typed errors that are not retryable are recorded too.
        check: Called once the subject is held, since the wait for it may have been long; raises if
            the work may not be done any more. What it raises is not recorded.
        tool_bytes: The memory that each of its tools is assumed to need.
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
                    # Shielded, so that a cancel that arrives now does not lose the outcome.
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
