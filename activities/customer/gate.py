"""The gate before an apply: the customer's hours, and their approval of exactly that plan.

The work of an engine without plans passes this gate too. It has no plan that a customer could
approve, so it is refused if their policy requires their approval.

While an apply waits here, its heartbeats say what for; it holds a slot of its worker, but no lease
and no lock. An apply that has begun already passes at once, so that what a crash left half done is
finished. Neither a store nor a policy file signals its changes, so both are polled.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from temporalio import activity

from activities.heartbeats import heartbeating
from activities.plans.bound import require_noted, require_release
from activities.plans.plan_store import load_view
from activities.workplace import Workplace
from apps.display_text import shown
from apps.parts import part_shown
from contracts.actions import StepInput
from contracts.deploys import ApplyInput, RunInput
from contracts.errors import Denied, Draining, PolicyDenied, StalePlan
from contracts.messages import OperationInput
from stacks.policy import Policy, PolicyError
from store.customer import Answer, Question, ask, note_allowed, was_allowed
from store.interface import Store
from store.journal import Journal
from store.object_keys import is_key

LOOK_AGAIN_SECONDS: Final = 1.0
"""The interval of polling a folder, where reading costs nothing."""

LOOK_AGAIN_FAR_SECONDS: Final = 5.0
"""The interval of polling a bucket, where each read is a request."""


def bind_key(store: Store, activity: str, input: OperationInput | StepInput) -> None:
    """Bind an operation's key, which the vendor chooses, to what may be done under it; blocks.

    To be called once the policy has allowed an operation, before any of it begins. The first
    operation owns the key for good: nothing else is ever allowed under it.

    Raises:
        PolicyDenied: the key is bound to another operation.
        StoreError: the store cannot be used.
    """
    what = _bound(activity, input)
    if not is_key(input.key) or not _is_key_of(input.key, what):
        raise PolicyDenied(
            f"{input.key!r} cannot be the key of {_shown(what)}, so nothing is done under it."
        )
    bound = Journal(store).bind(input.key, what)
    if bound != what:
        raise PolicyDenied(
            f"The key {input.key} was allowed for {_shown(bound)}, and nothing else is done "
            f"under it. This is {_shown(what)}, which needs a key of its own."
        )


def was_bound_and_began(
    store: Store, activity: str, input: ApplyInput | RunInput | StepInput
) -> bool:
    """Whether exactly this was allowed to begin, and did begin: then it goes on, whatever the
    policy says by now. Blocks.

    Raises:
        StoreError: the store cannot be used.
    """
    entry = Journal(store).entry(input.key) if is_key(input.key) else None
    if entry is None or not (entry.runs or entry.outcome):
        return False
    if entry.bound_to is None:
        # An older worker allowed it; those recorded that for applies only.
        return isinstance(input, ApplyInput) and was_allowed(store, input.key, _identity(input))
    return entry.bound_to == _bound(activity, input)


def _has_begun(store: Store, input: ApplyInput | RunInput) -> bool:
    """Whether an apply, whose key is bound to it, was allowed and has begun or ended."""
    entry = Journal(store).entry(input.key)
    if entry is None or entry.outcome is not None:
        # If it has an outcome, nothing more is done: the outcome is returned.
        return entry is not None
    return bool(entry.runs) and was_allowed(store, input.key, _identity(input))


_SEGMENTS: Final = 4

_BINDING: Final = (
    "app",
    "release",
    "component",
    "action",
    "step",
    "teardown",
    "plan_key",
    "digest",
)


def _bound(activity: str, input: OperationInput | StepInput) -> dict[str, object]:
    """What a key is bound to. For a script that is the step: the release has its text."""
    found = {name: getattr(input, name, None) for name in _BINDING}
    return {
        "activity": activity,
        **{name: value for name, value in found.items() if value is not None},
    }


def _is_key_of(key: str, what: Mapping[str, object]) -> bool:
    """Whether the key has the form `<run>/<part or action>/<verb>/<number>`.

    The second segment decides which secrets are masked in the operation's log, and the fixed number
    of segments keeps each operation's folder out of any other's.
    """
    segments = key.split("/")
    return len(segments) == _SEGMENTS and segments[1] in {what.get("component"), what.get("action")}


def _shown(what: Mapping[str, object]) -> str:
    more = [f"{name} {what[name]}" for name in _BINDING if name in what]
    return f"{what.get('activity')} ({', '.join(more)})"


def _identity(input: ApplyInput | RunInput) -> dict[str, object]:
    plan: dict[str, object] = {}
    if isinstance(input, ApplyInput):
        plan = {"plan_key": input.plan_key, "digest": input.digest}
    return {
        **plan,
        "component": input.component,
        "teardown": input.teardown,
        "app": input.app,
        "release": input.release,
    }


@dataclass(frozen=True)
class Gate:
    """Makes applies wait until the customer allows them."""

    workplace: Workplace
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def wait_until_allowed(self, input: ApplyInput | RunInput) -> str | None:
        """Return once the apply may begin: who approved it, or None if no approval was needed.

        Raises:
            Denied: somebody on the customer's side denied the plan.
            Draining: the worker is shutting down; the next attempt goes on waiting.
            PolicyDenied: the customer's approval is required, but there is no plan to approve.
            StalePlan: the store has no such plan.
            StoreError: the store cannot be used.
        """
        store = self.workplace.store
        if await asyncio.to_thread(_has_begun, store, input):
            return None
        async with heartbeating() as say:
            said = ""
            while True:
                waits, approved = await asyncio.to_thread(self._look, input)
                if not waits:
                    await asyncio.to_thread(note_allowed, store, input.key, _identity(input))
                    return approved
                if waits != said:
                    say(said := waits)
                await self._pause_unless_leaving(waits)

    async def _pause_unless_leaving(self, waits: str) -> None:
        pause = LOOK_AGAIN_FAR_SECONDS if self.workplace.store.is_far else LOOK_AGAIN_SECONDS
        try:
            await asyncio.wait_for(activity.wait_for_worker_shutdown(), pause)
        except TimeoutError:
            return
        raise Draining(f"The worker is shutting down; the next attempt {waits}.")

    def _look(self, input: ApplyInput | RunInput) -> tuple[str, str | None]:
        """What the apply waits for, as a text; if nothing, an empty text and who approved it."""
        try:
            policy = self.workplace.rules.policy()
        except PolicyError as error:
            return f"waits until the customer's policy can be used: {error}", None
        waits, approved = [], None
        if policy.asks_customer:
            question = self._question(input)
            answer = ask(self.workplace.store, question)
            if answer is None:
                waits.append(f"for the customer's approval of {question.digest}")
            else:
                approved = _approved(question, answer)
        if not policy.is_open(self.clock()):
            waits.append(_until(policy, self.clock()))
        return ("waits " + ", and ".join(waits) if waits else ""), approved

    def _question(self, input: ApplyInput | RunInput) -> Question:
        if isinstance(input, RunInput):
            raise PolicyDenied(
                f"{part_shown(input.component)} is deployed without a plan, and the customer's "
                "policy requires the customer's approval of every plan. Only the customer can "
                "change that, in the worker's policy file, as `approval`."
            )
        found = load_view(self.workplace.store, input.plan_key)
        if found is None:
            raise StalePlan("the saved plan is no longer in the store")
        record, view = found
        require_release(record, input)
        require_noted(record)
        if record.digest != input.digest:
            raise StalePlan(f"the saved plan's digest is {record.digest}, not {input.digest}")
        return Question(
            plan_key=input.plan_key,
            apply_key=input.key,
            digest=input.digest,
            component=input.component,
            verb="teardown" if input.teardown else "apply",
            changes=view.partition("\n")[0].partition(": ")[2],
            app=input.app,
            release=input.release,
            turn=input.turn.number,
            run=input.turn.workflow_id,
            artifact=record.artifact,
            variables=record.variables,
            environment=record.environment,
            asked_at=self.clock().timestamp(),
        )


def _approved(question: Question, answer: Answer) -> str:
    """Who approved the plan, and when; raises Denied if they denied it."""
    if answer.decision == "denied":
        why = f": {shown(answer.reason)}" if answer.reason else "."
        raise Denied(
            f"The plan {question.digest} was denied on the customer's side by "
            f"{shown(answer.by)}{why}"
        )
    at = datetime.fromtimestamp(answer.at, UTC).isoformat(timespec="seconds")
    return f"approved on the customer's side by {shown(answer.by)} at {at}"


def _until(policy: Policy, now: datetime) -> str:
    opens = policy.opens(now)
    return f"until {opens:%a %Y-%m-%d %H:%M} {opens.tzinfo}, when the customer allows applies again"
