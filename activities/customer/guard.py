"""The customer's side of every activity of the install worker: policy, approval, audit log.

Every activity passes through here: one that the policy does not know is refused, and nothing is
done that cannot be recorded in the audit log.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from temporalio import activity

from activities.customer import audit_events
from activities.customer.audit_chain import HEAD_MESSAGE
from activities.customer.audit_events import AuditedTask, outcome_of, record_task
from activities.customer.audit_log import FOLDER, AuditLog, keep_head, kept_head
from activities.customer.gate import Gate, bind_key, was_bound_and_began
from activities.customer.kinds import kind_of
from activities.workplace import Workplace
from contracts.actions import StepInput
from contracts.deploys import ApplyInput, RunInput, ScopeInput
from contracts.errors import PolicyDenied
from contracts.messages import OperationInput
from stacks.policy import OperationKind, Policy
from store.errors import StoreError
from store.known_releases import known_releases, note_release

ALLOWED: Final = "allowed"
REFUSED: Final = "refused"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Verdict:
    kind: OperationKind | None = None
    policy: str = ""
    """Digest of the policy file."""
    refusal: PolicyDenied | None = None


class CustomersGuard:
    """Stands before every activity of one worker process."""

    def __init__(
        self, workplace: Workplace, audit_log: AuditLog | None = None, gate: Gate | None = None
    ) -> None:
        self._workplace = workplace
        self._audit_log = audit_log or AuditLog(workplace.data / FOLDER)
        self._gate = gate or Gate(workplace)
        self._has_head = False

    async def run(
        self,
        arguments: Sequence[Any],
        check: Callable[[], None],
        body: Callable[[], Awaitable[Any]],
    ) -> Any:
        """Run an activity if the customer allows it, and record it in the audit log.

        Args:
            arguments: The activity's arguments.
            check: Raises if the activity is not for this worker.
            body: The activity itself.

        Raises:
            PolicyDenied: the customer's policy forbids it.
            Denied: somebody on the customer's side denied the plan.
            OSError: the audit log cannot be written, so nothing was done.
        """
        first = arguments[0] if arguments else None
        await self._learn_head()
        verdict = await asyncio.to_thread(self._verdict, first)
        word = REFUSED if verdict.refusal else ALLOWED
        task = await record_task(
            self._audit_log, list(arguments), verdict.kind, word, verdict.policy
        )
        token = audit_events.now.set(task)
        try:
            check()
            if verdict.refusal is not None:
                raise verdict.refusal
            if isinstance(first, ApplyInput | RunInput):
                approved = await self._gate.wait_until_allowed(first)
                if approved:
                    await task.allowed(approved)
            if verdict.kind:
                await self._keep_head()
            result = await body()
            if isinstance(first, ScopeInput):
                await asyncio.to_thread(note_release, self._workplace.store, first.release)
        except BaseException as error:
            await _record_failure(task, error)
            raise
        finally:
            audit_events.now.reset(token)
        await task.ended(audit_events.OK)
        if verdict.kind:
            await self._keep_head()
        return result

    def _verdict(self, input: Any) -> _Verdict:
        """What the policy says now; blocks."""
        kind, policy = None, Policy()
        name, store = activity.info().activity_type, self._workplace.store
        try:
            kind = kind_of(name, input, self._workplace.engines)
            if kind is not None:
                policy = self._workplace.rules.binding()
                self._require(policy, kind, input)
            if isinstance(input, OperationInput | StepInput):
                bind_key(store, name, input)
        except PolicyDenied as refusal:
            goes_on = isinstance(input, ApplyInput | RunInput | StepInput) and was_bound_and_began(
                store, name, input
            )
            return _Verdict(kind, policy.digest, None if goes_on else refusal)
        return _Verdict(kind, policy.digest)

    def _require(self, policy: Policy, kind: OperationKind, input: Any) -> None:
        if kind not in policy.operations:
            allowed = ", ".join(policy.operations) or "nothing"
            raise PolicyDenied(
                f"The customer's policy does not allow {kind} on {self._workplace.install}; "
                f"it allows {allowed}. Only the customer can change it, in the worker's policy "
                "file, as `operations`."
            )
        name = getattr(input, "action", None)
        if kind == "action" and name is not None and not policy.allows_action(name):
            raise PolicyDenied(
                f"The customer's policy does not allow the action {name!r}; it allows "
                f"{', '.join(policy.actions) or 'none'}. Only the customer can change it, in the "
                "worker's policy file, as `actions`."
            )
        if isinstance(input, StepInput) and not policy.ad_hoc_scripts:
            self._require_introduced(input)

    def _require_introduced(self, input: StepInput) -> None:
        """Refuse a script of a release that no run has introduced to this install."""
        if input.release not in known_releases(self._workplace.store, self._workplace.state):
            raise PolicyDenied(
                f"No run has introduced the release {input.release} to {input.install}, so its "
                "scripts are ad hoc scripts there, and the customer's policy does not allow those. "
                "Deploy it first; or the customer can allow them, as `ad_hoc_scripts`."
            )

    async def _learn_head(self) -> None:
        """Read from the store, once, the audit log's head of before this process started."""
        if self._has_head:
            return
        try:
            head = await asyncio.to_thread(kept_head, self._workplace.store, self._machine)
        except StoreError as error:
            _log.warning("The head of the audit log cannot be read from the store yet: %s", error)
            return
        self._has_head = True
        if head is not None:
            self._audit_log.expect(head)

    async def _keep_head(self) -> None:
        """Keep the audit log's head where it can be compared later: in the store, and in the
        process log, which the worker's user cannot change if systemd keeps it."""
        head = self._audit_log.known
        _log.info(HEAD_MESSAGE, head)
        try:
            await asyncio.to_thread(keep_head, self._workplace.store, self._machine, head)
        except StoreError as error:
            _log.warning("The head of the audit log cannot be kept in the store: %s", error)

    @property
    def _machine(self) -> str:
        return self._workplace.operations.machine.id


async def _record_failure(task: AuditedTask, error: BaseException) -> None:
    outcome = outcome_of(error)
    if outcome != audit_events.CANCELLED:
        await task.ended(outcome)
        return
    try:
        # Shielded, so that the line is written even if the activity is cancelled once more.
        await asyncio.shield(task.ended(outcome))
    except OSError as fault:
        # Only logged: raising it would hide the cancellation.
        _log.error("The audit log could not be written: %s", fault)
