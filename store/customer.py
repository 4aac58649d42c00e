"""What the customer has decided about plans, as the store holds it: one object for each plan.

The worker asks, by writing down which plan waits; somebody on the customer's side answers by
changing that object, and the worker sees it. The answer belongs to that plan of that operation, to
its digest, and to what the plan was made of: another plan, or another release, asks anew.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Final, Literal

from store.documents import Document, change_document, read_document
from store.errors import Malformed, StoreError
from store.interface import Store
from store.journal import Journal
from store.turns import standing_turn

CUSTOMER_PREFIX: Final = "customer/"
"""What lies below stays when everything else of an install is gone, like the journals."""

APPROVALS_PREFIX: Final = f"{CUSTOMER_PREFIX}approvals/"
LET_IN_PREFIX: Final = f"{CUSTOMER_PREFIX}let-in/"
_SUFFIX: Final = ".json"

AnswerKind = Literal["approved", "denied"]


class AlreadyDecided(StoreError):
    """Somebody has decided otherwise."""


@dataclass(frozen=True)
class Question:
    """A plan that needs the customer's approval."""

    plan_key: str
    """The operation that made the plan."""
    apply_key: str
    """The operation that waits."""
    digest: str
    component: str
    verb: str
    """`apply` or `teardown`."""
    changes: str
    """The heading of its view: counts, nothing else."""
    app: str
    release: str
    turn: int
    run: str
    """The workflow that holds the turn."""
    asked_at: float
    """Epoch seconds."""
    artifact: str = ""
    """Digest of the files that the plan was made of. This and what follows is empty where an older
    worker asked."""
    variables: str = ""
    """Keyed digest of what its variables were rendered to."""
    environment: str = ""
    """Keyed digest of what its environment was rendered to."""

    def is_about(self, other: "Question") -> bool:
        """Whether an answer to the one is an answer to the other, whichever attempt asks."""
        return all(getattr(self, name) == getattr(other, name) for name in _ABOUT)


_ABOUT: Final = (
    *("plan_key", "digest", "component", "verb", "app", "release"),
    *("artifact", "variables", "environment"),
)
_BOUND: Final = ("artifact", "variables", "environment")
"""Kept beside the question: an older worker takes no field that it does not know in it."""


@dataclass(frozen=True)
class Answer:
    """What somebody on the customer's side has said."""

    decision: AnswerKind
    by: str
    """`user@host`."""
    at: float
    """Epoch seconds."""
    reason: str = ""


def ask(store: Store, question: Question) -> Answer | None:
    """Write down that a plan waits, unless it is; returns the answer, if there is one. Blocks.

    Raises:
        StoreError: the store cannot be used.
    """
    answers: list[Answer | None] = []

    def write(document: Document | None) -> Document | None:
        answers[:] = [None]
        if document is not None:
            asked, answer = _parse(question.plan_key, document)
            if asked.is_about(question):
                answers[:] = [answer]
                if (asked.apply_key, asked.turn) == (question.apply_key, question.turn):
                    return None
                return _document(question, document["answer"])
        return _document(question, None)

    change_document(store, _key(question.plan_key), write)
    return answers[0]


def answered(store: Store, question: Question) -> Answer | None:
    """The answer to a question that was asked, or None; blocks."""
    found = read_document(store, _key(question.plan_key))
    if found is None:
        return None
    asked, answer = _parse(question.plan_key, found[0])
    return answer if asked.is_about(question) else None


def decide(store: Store, question: Question, answer: Answer) -> None:
    """Answer a question; blocks.

    Raises:
        AlreadyDecided: somebody has said the opposite, or the plan is another one by now.
        StoreError: the store cannot be used.
    """

    def write(document: Document | None) -> Document | None:
        if document is None:
            raise AlreadyDecided(f"The plan {question.digest} does not wait any more.")
        asked, standing = _parse(question.plan_key, document)
        if not asked.is_about(question):
            raise AlreadyDecided(
                f"The plan {question.digest} was replaced by {asked.digest} of release "
                f"{asked.release}."
            )
        if standing is None:
            return _document(asked, asdict(answer))
        if standing.decision != answer.decision:
            raise AlreadyDecided(
                f"The plan {question.digest} was {standing.decision} before, by {standing.by}."
            )
        return None

    change_document(store, _key(question.plan_key), write)


def waiting(store: Store) -> list[Question]:
    """The plans that wait for an answer now, oldest first; blocks.

    Not those of a run that was cancelled, or that has lost its turn: nothing waits for them.
    """
    journal, turn = Journal(store), standing_turn(store)
    found = []
    for key in store.list(APPROVALS_PREFIX):
        read = read_document(store, key)
        if read is None:
            continue
        question, answer = _parse(key.removeprefix(APPROVALS_PREFIX), read[0])
        if answer is None and question.turn >= turn and not journal.outcome(question.apply_key):
            found.append(question)
    return sorted(found, key=lambda one: one.asked_at)


def note_let_in(store: Store, apply_key: str, what: Document) -> None:
    """Write down that an apply was let in, and of what; blocks.

    Raises:
        StoreError: the store cannot be used.
    """
    change_document(store, _let_in_key(apply_key), lambda standing: standing or what)


def was_let_in(store: Store, apply_key: str, what: Document) -> bool:
    """Whether exactly that was let in before; blocks.

    Raises:
        StoreError: the store cannot be used.
    """
    found = read_document(store, _let_in_key(apply_key))
    return found is not None and found[0] == what


def answer_now(
    decision: AnswerKind, by: str, reason: str = "", clock: Callable[[], float] = time.time
) -> Answer:
    """An answer as somebody gives it now."""
    return Answer(decision, by, clock(), reason)


def _let_in_key(apply_key: str) -> str:
    return f"{LET_IN_PREFIX}{apply_key}{_SUFFIX}"


def _key(plan_key: str) -> str:
    return f"{APPROVALS_PREFIX}{plan_key}{_SUFFIX}"


def _document(question: Question, answer: Document | None) -> Document:
    own = asdict(question)
    bound = {name: own.pop(name) for name in _BOUND}
    return {"question": own, "bound": bound, "answer": answer}


def _known(form: type[Question | Answer], document: Document) -> Document:
    """What a newer worker has written besides is nothing to this one."""
    return {one.name: document[one.name] for one in fields(form) if one.name in document}


def _parse(key: str, document: Document) -> tuple[Question, Answer | None]:
    try:
        answer, own = document["answer"], document["question"] | document.get("bound", {})
        return Question(**_known(Question, own)), Answer(
            **_known(Answer, answer)
        ) if answer else None
    except (KeyError, TypeError) as error:
        raise Malformed(f"{APPROVALS_PREFIX}{key} is no approval: {error!r}") from error
