"""What the worker was told, as its journal has it: told, let in, ran, ended.

The activity that runs now carries its entry along (`now`), so that whatever runs a tool for it,
however deep within, writes down what it is about to run.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Final

from pydantic import BaseModel
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.exceptions import CancelledError as TemporalCancelledError

from activities.customer.audit_log import WorkerJournal
from stacks.policy import Operation

now: Final[ContextVar["Told | None"]] = ContextVar("told", default=None)
"""What the running activity was told; None where no journal is kept."""

OK: Final = "ok"
CANCELLED: Final = "cancelled"


class Told:
    """One thing that the worker was told, from its line in the journal on."""

    def __init__(self, journal: WorkerJournal, number: int) -> None:
        self.number = number
        self._journal = journal
        self._digests: dict[str, str] = {}

    def identify(self, **digests: str) -> None:
        """Note what is about to be run, by digest; the next line about a run has it."""
        self._digests |= digests

    async def let_in(self, why: str) -> None:
        """Write down why an apply may begin, where it had to wait for it."""
        await self._append("let in", why=why)

    async def runs(self, label: str, commands: Sequence[Sequence[str]]) -> None:
        """Write down which tool is about to be run; it is not where that fails.

        Args:
            label: The run's label, for people.
            commands: What is executed, as lists of arguments: their hash is written alone.

        Raises:
            OSError: the journal cannot be written.
        """
        digest = hashlib.sha256("\0\0".join("\0".join(one) for one in commands).encode())
        await self._append("ran", label=label, commands=_sha256(digest), **self._digests)

    async def ended(self, outcome: str) -> None:
        """Write down how it ended."""
        await self._append("ended", outcome=outcome)

    async def _append(self, kind: str, **facts: Any) -> None:
        await asyncio.to_thread(self._journal.append, kind, told=self.number, **facts)


def identify(**digests: str) -> None:
    """Note, for the running activity, what is about to be run, by digest."""
    told = now.get()
    if told is not None:
        told.identify(**digests)


async def tell(
    journal: WorkerJournal,
    arguments: list[Any],
    operation: Operation | None,
    verdict: str,
    policy: str,
) -> Told:
    """Write down what the worker is told, before anything of it begins.

    Args:
        journal: The worker's journal.
        arguments: What the activity was called with.
        operation: The operation that it belongs to, if it changes anything.
        verdict: What the customer's policy says of it.
        policy: Digest of the policy's file; empty where there is none.

    Raises:
        OSError: the journal cannot be written, so nothing may begin.
    """
    info = activity.info()
    line = await asyncio.to_thread(
        journal.append,
        "told",
        activity=info.activity_type,
        workflow=info.workflow_id,
        run=info.workflow_run_id,
        attempt=info.attempt,
        operation=operation,
        verdict=verdict,
        policy=policy or None,
        input=_digest_of(arguments),
        **_named(arguments),
    )
    return Told(journal, line.number)


def outcome_of(error: BaseException) -> str:
    """How an activity ended, in one word: the type of its error. Its words may be long."""
    if isinstance(error, asyncio.CancelledError | TemporalCancelledError):
        return CANCELLED
    if isinstance(error, ApplicationError):
        return error.type or type(error).__name__
    return type(error).__name__


def _named(arguments: list[Any]) -> dict[str, Any]:
    """What a person asks for first: on what, by which release and plan, in whose turn."""
    named: dict[str, Any] = {}
    for argument in arguments:
        for name in ("install", "app", "component", "action", "step", "subject", "key", "release"):
            named[name] = getattr(argument, name, None)
        named["plan"] = getattr(argument, "digest", None)
        turn = getattr(argument, "turn", None)
        named["turn"] = turn.number if turn is not None else None
    return named


def _digest_of(arguments: list[Any]) -> str:
    """Of the values, which may be anybody's business but the journal's."""
    digest = hashlib.sha256()
    for argument in arguments:
        text = argument.model_dump_json() if isinstance(argument, BaseModel) else repr(argument)
        digest.update(text.encode() + b"\0")
    return _sha256(digest)


def _sha256(digest: Any) -> str:
    return f"sha256:{digest.hexdigest()}"
