"""The gate before an apply: the customer's hours, and their own approval of exactly that plan.

The work of an engine without plans passes it, too. There is nothing that a customer could approve,
so it is refused where their policy asks for their approval.

An apply waits here, heartbeating what for, and holds nothing but a slot of its worker: no lease, no
lock. One that has begun before is let through: what a crash left half done is not left for the
night. No store tells when an object changes, nor does a policy's file, so it looks again.
"""

import asyncio
from collections.abc import Callable, Mapping
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
from store.customer import Answer, Question, ask, note_let_in, was_let_in
from store.interface import Store
from store.journal import Journal
from store.object_keys import is_key

LOOK_AGAIN_SECONDS: Final = 1.0
"""In a folder, looking costs nothing."""

LOOK_AGAIN_FAR_SECONDS: Final = 5.0
"""In a bucket it is a request."""


def bind_key(store: Store, activity: str, input: OperationInput | StepInput) -> None:
    """Note what may be done under an operation's key, which the vendor chooses; blocks.

    To be called of what the policy allows, before anything of it begins. What comes first has the
    key for good, and exactly that passes under it from then on.

    Raises:
        PolicyDenied: the key is another operation's.
        StoreError: the store cannot be used.
    """
    what = _bound(activity, input)
    if not is_key(input.key) or not _is_key_of(input.key, what):
        raise PolicyDenied(
            f"{input.key!r} is no operation's key of {_shown(what)}, so nothing is done under it."
        )
    standing = Journal(store).let_in(input.key, what)
    if standing != what:
        raise PolicyDenied(
            f"The key {input.key} was let in for {_shown(standing)}, and nothing else is done "
            f"under it. This is {_shown(what)}, which needs a key of its own."
        )


def was_bound_and_began(
    store: Store, activity: str, input: ApplyInput | RunInput | StepInput
) -> bool:
    """Whether exactly this was allowed to begin, and did: then it goes on, whatever the policy says
    by now. Blocks.

    Raises:
        StoreError: the store cannot be used.
    """
    entry = Journal(store).entry(input.key) if is_key(input.key) else None
    if entry is None or not (entry.runs or entry.outcome):
        return False
    if entry.let_in is None:
        # An older worker let it in, and noted that of applies alone.
        return isinstance(input, ApplyInput) and was_let_in(store, input.key, _identity(input))
    return entry.let_in == _bound(activity, input)


def _has_begun(store: Store, input: ApplyInput | RunInput) -> bool:
    """Whether an apply that has its key was let in, and began."""
    entry = Journal(store).entry(input.key)
    if entry is None or entry.outcome is not None:
        # What is done is not done again: its outcome is all that there is.
        return entry is not None
    return bool(entry.runs) and was_let_in(store, input.key, _identity(input))


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
    """What a key is bound to. Of a script it is the step, whose text is the release's."""
    found = {name: getattr(input, name, None) for name in _BINDING}
    return {
        "activity": activity,
        **{name: value for name, value in found.items() if value is not None},
    }


def _is_key_of(key: str, what: Mapping[str, object]) -> bool:
    """Whether it is a run, the part or action, what is done with it, and a number: by the second
    it is known what is secret in the log, and no operation's folder lies in another's."""
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


class Gate:
    """Lets applies in."""

    def __init__(
        self,
        workplace: Workplace,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._workplace = workplace
        self._clock = clock
        is_far = workplace.store.is_far
        self._pause = LOOK_AGAIN_FAR_SECONDS if is_far else LOOK_AGAIN_SECONDS

    async def let_in(self, input: ApplyInput | RunInput) -> str | None:
        """Return once the apply may begin; says by whose word, where it needed one.

        Raises:
            Denied: somebody on the customer's side denied the plan.
            Draining: the worker leaves; another attempt waits on.
            PolicyDenied: the customer's approval is asked for, and there is no plan to approve.
            StalePlan: the store has no such plan.
            StoreError: the store cannot be used.
        """
        store = self._workplace.store
        if await asyncio.to_thread(_has_begun, store, input):
            return None
        async with heartbeating() as say:
            told = ""
            while True:
                waits, why = await asyncio.to_thread(self._look, input)
                if not waits:
                    await asyncio.to_thread(note_let_in, store, input.key, _identity(input))
                    return why
                if waits != told:
                    say(told := waits)
                await self._pause_unless_leaving(waits)

    async def _pause_unless_leaving(self, waits: str) -> None:
        try:
            await asyncio.wait_for(activity.wait_for_worker_shutdown(), self._pause)
        except TimeoutError:
            return
        raise Draining(f"The worker leaves; the next attempt {waits}.")

    def _look(self, input: ApplyInput | RunInput) -> tuple[str, str | None]:
        """What the apply waits for, in words; empty if for nothing, and then who let it in."""
        try:
            policy = self._workplace.rules.policy()
        except PolicyError as error:
            return f"waits until the customer's policy can be used: {error}", None
        waits, by = [], None
        if policy.asks_customer:
            question = self._question(input)
            answer = ask(self._workplace.store, question)
            if answer is None:
                waits.append(f"for the customer's approval of {question.digest}")
            else:
                by = _said(question, answer)
        if not policy.is_open(self._clock()):
            waits.append(_until(policy, self._clock()))
        return ("waits " + ", and ".join(waits) if waits else ""), by

    def _question(self, input: ApplyInput | RunInput) -> Question:
        if isinstance(input, RunInput):
            raise PolicyDenied(
                f"{part_shown(input.component)} is deployed without a plan, and the customer's "
                "policy asks for the customer's approval of every plan. Only the customer can "
                "change it, in the worker's policy file, as `approval`."
            )
        found = load_view(self._workplace.store, input.plan_key)
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
            asked_at=self._clock().timestamp(),
        )


def _said(question: Question, answer: Answer) -> str:
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
