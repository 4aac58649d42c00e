"""`exclave worker plans`, `approve` and `deny`: the customer's own decision on what is applied."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from activities.plans.plan_store import load_view
from apps.parts import part_shown
from client.errors import Refused
from exclave.output import Output, OutputOption, print_json
from exclave.screens.terminal import Lines
from exclave.worker_machine import DataOption, EnrolmentOption, WorkerMachine, at_worker
from store.customer import AnswerKind, Question, answer_now, decide, waiting
from store.journal import who_am_i

_LEAST_DIGITS = 8

PlanOption = Annotated[
    str | None,
    typer.Option(
        "--plan",
        metavar="DIGEST",
        help=f"The plan's digest, or at least its first {_LEAST_DIGITS} digits; not needed if only "
        "one plan waits.",
    ),
]


def plans(
    enrolment: EnrolmentOption,
    data: DataOption,
    view: Annotated[
        bool, typer.Option("--view", help="Print what each plan would change, too.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """List the plans that wait for the customer's approval.

    Example:

        exclave worker plans --view --enrolment acme.toml --data .
    """
    with at_worker(enrolment, data) as worker:
        found = waiting(worker.store)
        views = {one.plan_key: _view(worker, one) if view else "" for one in found}
        if output is Output.JSON:
            print_json({"plans": [_document(one, views[one.plan_key]) for one in found]})
            return
        lines = Lines()
        if not found:
            lines(f"No plan of {worker.install} waits for the customer's approval.")
            if not worker.rules.policy().asks_customer:
                lines("The policy requires none: approval is vendor.")
        for one in found:
            lines(_words(one))
            if view:
                lines.block(views[one.plan_key].rstrip("\n"), indent="    ")


def approve(enrolment: EnrolmentOption, data: DataOption, plan: PlanOption = None) -> None:
    """Approve a plan for the customer; its apply begins at once, or within the policy's hours.

    Example:

        exclave worker approve --plan 3f1c09aa --enrolment acme.toml --data .
    """
    with at_worker(enrolment, data) as worker:
        _decide(worker, plan, "approved", "")


def deny(
    enrolment: EnrolmentOption,
    data: DataOption,
    plan: PlanOption = None,
    reason: Annotated[
        str, typer.Option("--reason", help="Why; shown to the vendor in the run's failure.")
    ] = "",
) -> None:
    """Deny a plan for the customer: its component fails, and nothing of the plan is applied.

    Example:

        exclave worker deny --reason "not this week" --enrolment acme.toml --data .
    """
    with at_worker(enrolment, data) as worker:
        _decide(worker, plan, "denied", reason)


def _decide(worker: WorkerMachine, plan: str | None, decision: AnswerKind, reason: str) -> None:
    worker.require_workers_user()
    question = _named(worker, plan)
    decide(worker.store, question, answer_now(decision, who_am_i(), reason))
    Lines(err=True)(f"{decision}: {_words(question)}")


def _named(worker: WorkerMachine, plan: str | None) -> Question:
    found = waiting(worker.store)
    if not found:
        raise Refused(f"No plan of {worker.install} waits for the customer's approval.")
    listed = "\n".join(_words(one) for one in found)
    if plan is None:
        if len(found) > 1:
            raise Refused(f"Several plans wait; name one with --plan:\n{listed}")
        return found[0]
    digits = plan.removeprefix("sha256:").lower()
    if len(digits) < _LEAST_DIGITS:
        raise Refused(f"{plan!r} is too short; give at least {_LEAST_DIGITS} digits of the digest.")
    matching = [one for one in found if one.digest.removeprefix("sha256:").startswith(digits)]
    if len(matching) != 1:
        raise Refused(f"{len(matching)} waiting plans begin with {plan!r}:\n{listed}")
    return matching[0]


def _words(one: Question) -> str:
    verb = "teardown of " if one.verb == "teardown" else ""
    at = datetime.fromtimestamp(one.asked_at, UTC).isoformat(timespec="seconds")
    what = f"{verb}{part_shown(one.component)}: {one.changes}; {one.digest}"
    return f"{what}, of release {one.release} in {one.run}, waits since {at}"


def _view(worker: WorkerMachine, one: Question) -> str:
    found = load_view(worker.store, one.plan_key)
    return found[1] if found else "The store does not have this plan any more."


def _document(one: Question, view: str) -> dict[str, object]:
    document: dict[str, object] = {
        "component": one.component,
        "verb": one.verb,
        "changes": one.changes,
        "digest": one.digest,
        "release": one.release,
        "run": one.run,
        "waits_since": datetime.fromtimestamp(one.asked_at, UTC).isoformat(timespec="seconds"),
    }
    return document | ({"view": view} if view else {})
