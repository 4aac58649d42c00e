"""The audit log's entries about one task: `told` (asked for), `let in` (allowed), `ran`, `ended`.

The running activity's entries are in the context variable `now`, so that any code which runs a tool
for it, however deep, can record what it is about to run.
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

from activities.customer.audit_log import AuditLog
from stacks.policy import OperationKind

now: Final[ContextVar["AuditedTask | None"]] = ContextVar("audited_task", default=None)
"""The running activity's task; None where no audit log is kept."""

OK: Final = "ok"
CANCELLED: Final = "cancelled"


class AuditedTask:
    """A task whose beginning is in the audit log, and whose further entries refer to that line."""

    def __init__(self, log: AuditLog, number: int) -> None:
        self.number = number
        """The number of the line that records what was asked for."""
        self._log = log
        self._digests: dict[str, str] = {}

    def identify(self, **digests: str) -> None:
        """Add digests of what is about to run to the next entry about a run."""
        self._digests |= digests

    async def allowed(self, why: str) -> None:
        """Record why an apply that had to wait may begin."""
        await self._append("let in", why=why)

    async def will_run(self, label: str, commands: Sequence[Sequence[str]]) -> None:
        """Record which tool is about to run; if that fails, the tool must not run.

        Args:
            label: The run's label, for people.
            commands: The command lines; only their hash is recorded.

        Raises:
            OSError: the audit log cannot be written.
        """
        digest = hashlib.sha256("\0\0".join("\0".join(one) for one in commands).encode())
        await self._append("ran", label=label, commands=_sha256(digest), **self._digests)

    async def ended(self, outcome: str) -> None:
        """Record how the task ended."""
        await self._append("ended", outcome=outcome)

    async def _append(self, kind: str, **facts: Any) -> None:
        await asyncio.to_thread(self._log.append, kind, told=self.number, **facts)


def identify(**digests: str) -> None:
    """Add digests of what the running activity is about to run to its next entry about a run."""
    task = now.get()
    if task is not None:
        task.identify(**digests)


async def record_task(
    log: AuditLog,
    arguments: list[Any],
    kind: OperationKind | None,
    verdict: str,
    policy: str,
) -> AuditedTask:
    """Record what the worker is asked to do, before any of it begins.

    Args:
        log: The worker's audit log.
        arguments: The activity's arguments.
        kind: What the activity is to the customer's policy; None if it changes nothing.
        verdict: What the customer's policy says about it.
        policy: Digest of the policy file; empty if there is none.

    Raises:
        OSError: the audit log cannot be written, so nothing may begin.
    """
    info = activity.info()
    line = await asyncio.to_thread(
        log.append,
        "told",
        activity=info.activity_type,
        workflow=info.workflow_id,
        run=info.workflow_run_id,
        attempt=info.attempt,
        operation=kind,
        verdict=verdict,
        policy=policy or None,
        input=_digest_of(arguments),
        **_named(arguments),
    )
    return AuditedTask(log, line.number)


def outcome_of(error: BaseException) -> str:
    """How an activity ended, in one word: the type of its error, without the message."""
    if isinstance(error, asyncio.CancelledError | TemporalCancelledError):
        return CANCELLED
    if isinstance(error, ApplicationError):
        return error.type or type(error).__name__
    return type(error).__name__


def _named(arguments: list[Any]) -> dict[str, Any]:
    """The fields that a reader asks for first: the subject, the release, the plan, the turn."""
    named: dict[str, Any] = {}
    for argument in arguments:
        for name in ("install", "app", "component", "action", "step", "subject", "key", "release"):
            named[name] = getattr(argument, name, None)
        named["plan"] = getattr(argument, "digest", None)
        turn = getattr(argument, "turn", None)
        named["turn"] = turn.number if turn is not None else None
    return named


def _digest_of(arguments: list[Any]) -> str:
    """A digest, since the values themselves may be secret."""
    digest = hashlib.sha256()
    for argument in arguments:
        text = argument.model_dump_json() if isinstance(argument, BaseModel) else repr(argument)
        digest.update(text.encode() + b"\0")
    return _sha256(digest)


def _sha256(digest: Any) -> str:
    return f"sha256:{digest.hexdigest()}"
