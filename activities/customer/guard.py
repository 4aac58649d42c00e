"""The customer's side of every activity of the install worker: policy, approval, journal.

Nothing of the worker is reached but through here: an activity that the policy does not know is
refused, and what cannot be written into the journal is not done.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from temporalio import activity

from activities.customer import audit_events
from activities.customer.audit_chain import TELLS_HEAD
from activities.customer.audit_events import Told, outcome_of, tell
from activities.customer.audit_log import FOLDER, WorkerJournal, keep_head, kept_head
from activities.customer.gate import Gate, bind_key, was_bound_and_began
from activities.customer.kinds import operation_of
from activities.workplace import Workplace
from contracts.actions import StepInput
from contracts.deploys import ApplyInput, RunInput, ScopeInput
from contracts.errors import PolicyDenied
from contracts.messages import OperationInput
from stacks.policy import Operation, Policy
from store.errors import StoreError
from store.known_releases import known_releases, note_release

ALLOWED: Final = "allowed"
REFUSED: Final = "refused"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Verdict:
    operation: Operation | None = None
    policy: str = ""
    refusal: PolicyDenied | None = None


class CustomersGuard:
    """Stands before every activity of one worker process."""

    def __init__(
        self, workplace: Workplace, journal: WorkerJournal | None = None, gate: Gate | None = None
    ) -> None:
        self._workplace = workplace
        self._journal = journal or WorkerJournal(workplace.data / FOLDER)
        self._gate = gate or Gate(workplace)
        self._has_head = False

    async def run(
        self,
        arguments: Sequence[Any],
        check: Callable[[], None],
        body: Callable[[], Awaitable[Any]],
    ) -> Any:
        """Run an activity as the customer allows it, and keep the journal of it.

        Args:
            arguments: What it was called with.
            check: Refuses what is not this worker's to do.
            body: The activity itself.

        Raises:
            PolicyDenied: the customer's policy forbids it.
            Denied: somebody on the customer's side denied the plan.
            OSError: the journal cannot be written, so nothing was done.
        """
        first = arguments[0] if arguments else None
        await self._learn_head()
        verdict = await asyncio.to_thread(self._verdict, first)
        said = REFUSED if verdict.refusal else ALLOWED
        told = await tell(self._journal, list(arguments), verdict.operation, said, verdict.policy)
        token = audit_events.now.set(told)
        try:
            check()
            if verdict.refusal is not None:
                raise verdict.refusal
            if isinstance(first, ApplyInput | RunInput):
                by = await self._gate.let_in(first)
                if by:
                    await told.let_in(by)
            if verdict.operation:
                await self._keep_head()
            result = await body()
            if isinstance(first, ScopeInput):
                await asyncio.to_thread(note_release, self._workplace.store, first.release)
        except BaseException as error:
            await _end_badly(told, error)
            raise
        finally:
            audit_events.now.reset(token)
        await told.ended(audit_events.OK)
        if verdict.operation:
            await self._keep_head()
        return result

    def _verdict(self, input: Any) -> _Verdict:
        """What the policy says now; blocks."""
        operation, policy = None, Policy()
        name, store = activity.info().activity_type, self._workplace.store
        try:
            operation = operation_of(name, input, self._workplace.engines)
            if operation is not None:
                policy = self._workplace.rules.binding()
                self._require(policy, operation, input)
            if isinstance(input, OperationInput | StepInput):
                bind_key(store, name, input)
        except PolicyDenied as refusal:
            goes_on = isinstance(input, ApplyInput | RunInput | StepInput) and was_bound_and_began(
                store, name, input
            )
            return _Verdict(operation, policy.digest, None if goes_on else refusal)
        return _Verdict(operation, policy.digest)

    def _require(self, policy: Policy, operation: Operation, input: Any) -> None:
        if operation not in policy.operations:
            allowed = ", ".join(policy.operations) or "nothing"
            raise PolicyDenied(
                f"The customer's policy does not allow {operation} on {self._workplace.install}; "
                f"it allows {allowed}. Only the customer can change it, in the worker's policy "
                "file, as `operations`."
            )
        name = getattr(input, "action", None)
        if operation == "action" and name is not None and not policy.allows_action(name):
            raise PolicyDenied(
                f"The customer's policy does not allow the action {name!r}; it allows "
                f"{', '.join(policy.actions) or 'none'}. Only the customer can change it, in the "
                "worker's policy file, as `actions`."
            )
        if isinstance(input, StepInput) and not policy.ad_hoc_scripts:
            self._require_brought(input)

    def _require_brought(self, input: StepInput) -> None:
        """Refuse the script of a release that no run has brought here, or is bringing."""
        if input.release not in known_releases(self._workplace.store, self._workplace.state):
            raise PolicyDenied(
                f"The release {input.release} was never brought to {input.install}, so its scripts "
                "are ad-hoc scripts there, and the customer's policy does not allow those. Deploy "
                "it first; or the customer allows it, as `ad_hoc_scripts`."
            )

    async def _learn_head(self) -> None:
        """Learn from the store, once, how far the journal had come before this process."""
        if self._has_head:
            return
        try:
            head = await asyncio.to_thread(kept_head, self._workplace.store, self._machine)
        except StoreError as error:
            _log.warning("How far the worker's journal had come is not known yet: %s", error)
            return
        self._has_head = True
        if head is not None:
            self._journal.expect(head)

    async def _keep_head(self) -> None:
        """Keep how far the journal has come, where it is a witness: in the store, and in the
        worker's log, which is not the worker's user's to change where systemd keeps it."""
        head = self._journal.known
        _log.info(TELLS_HEAD, head)
        try:
            await asyncio.to_thread(keep_head, self._workplace.store, self._machine, head)
        except StoreError as error:
            _log.warning("How far the worker's journal has come could not be kept: %s", error)

    @property
    def _machine(self) -> str:
        return self._workplace.operations.machine.id


async def _end_badly(told: Told, error: BaseException) -> None:
    outcome = outcome_of(error)
    if outcome != audit_events.CANCELLED:
        await told.ended(outcome)
        return
    try:
        # Shielded: cancelled once more, the line is written all the same.
        await asyncio.shield(told.ended(outcome))
    except OSError as fault:
        # Nothing tries it again, and that it was cancelled must not be lost.
        _log.error("The worker's journal could not be written: %s", fault)
