"""The customer's decisions about plans: one object of the store for each plan.

The worker asks by writing down which plan waits. Somebody on the customer's side answers by
changing that object, and the worker sees the change. An answer applies only to that plan of that
operation, its digest, and what the plan was made of; another plan, or another release, is a new
question.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Final, Literal

from store.documents import Document, change_document, read_document
from store.errors import Malformed, StoreError
from store.interface import Store
from store.journal import Journal
from store.turns import highest_turn

CUSTOMER_PREFIX: Final = "customer/"
"""Objects below this stay when everything else of an install is deleted, like the journals."""

APPROVALS_PREFIX: Final = f"{CUSTOMER_PREFIX}approvals/"
ALLOWED_PREFIX: Final = f"{CUSTOMER_PREFIX}let-in/"
_SUFFIX: Final = ".json"

AnswerKind = Literal["approved", "denied"]


class AlreadyDecided(StoreError):
    """Somebody has already decided differently."""


@dataclass(frozen=True)
class Question:
    """A plan that needs the customer's approval."""

    plan_key: str
    """The operation that made the plan."""
    apply_key: str
    """The operation that waits for the answer."""
    digest: str
    component: str
    verb: str
    """`apply` or `teardown`."""
    changes: str
    """The heading of its view, which contains only counts."""
    app: str
    release: str
    turn: int
    run: str
    """The workflow that holds the turn."""
    asked_at: float
    """Epoch seconds."""
    artifact: str = ""
    """Digest of the files that the plan was made from; like the next two fields, empty if an older
    worker asked."""
    variables: str = ""
    """Keyed digest of its rendered variables."""
    environment: str = ""
    """Keyed digest of its rendered environment."""

    def is_about(self, other: "Question") -> bool:
        """Whether both ask the same, so that one answer applies to both, whichever attempt asks."""
        return all(getattr(self, name) == getattr(other, name) for name in _ABOUT)


_ABOUT: Final = (
    *("plan_key", "digest", "component", "verb", "app", "release"),
    *("artifact", "variables", "environment"),
)
_BOUND: Final = ("artifact", "variables", "environment")
"""Stored beside the question, since an older worker refuses unknown fields within it."""


@dataclass(frozen=True)
class Answer:
    """The decision of somebody on the customer's side."""

    decision: AnswerKind
    by: str
    """`user@host`."""
    at: float
    """Epoch seconds."""
    reason: str = ""


def ask(store: Store, question: Question) -> Answer | None:
    """Record that a plan waits, unless that is recorded; returns the answer, if any. Blocks.

    Raises:
        StoreError: the store is unusable.
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
    """The answer to a recorded question, or None; blocks."""
    found = read_document(store, _key(question.plan_key))
    if found is None:
        return None
    asked, answer = _parse(question.plan_key, found[0])
    return answer if asked.is_about(question) else None


def decide(store: Store, question: Question, answer: Answer) -> None:
    """Answer a question; blocks.

    Raises:
        AlreadyDecided: somebody has decided the opposite, or the plan was replaced meanwhile.
        StoreError: the store is unusable.
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

    Plans of a run that was cancelled or has lost its turn are left out, since nothing waits for
    their answers.
    """
    journal, turn = Journal(store), highest_turn(store)
    found = []
    for key in store.list(APPROVALS_PREFIX):
        read = read_document(store, key)
        if read is None:
            continue
        question, answer = _parse(key.removeprefix(APPROVALS_PREFIX), read[0])
        if answer is None and question.turn >= turn and not journal.outcome(question.apply_key):
            found.append(question)
    return sorted(found, key=lambda one: one.asked_at)


def note_allowed(store: Store, apply_key: str, what: Document) -> None:
    """Record that an apply was allowed to begin, and what it applies; blocks.

    Raises:
        StoreError: the store is unusable.
    """
    change_document(store, _allowed_key(apply_key), lambda standing: standing or what)


def was_allowed(store: Store, apply_key: str, what: Document) -> bool:
    """Whether exactly that was allowed to begin before; blocks.

    Raises:
        StoreError: the store is unusable.
    """
    found = read_document(store, _allowed_key(apply_key))
    return found is not None and found[0] == what


def answer_now(
    decision: AnswerKind, by: str, reason: str = "", clock: Callable[[], float] = time.time
) -> Answer:
    """An answer that is given now."""
    return Answer(decision, by, clock(), reason)


def _allowed_key(apply_key: str) -> str:
    return f"{ALLOWED_PREFIX}{apply_key}{_SUFFIX}"


def _key(plan_key: str) -> str:
    return f"{APPROVALS_PREFIX}{plan_key}{_SUFFIX}"


def _document(question: Question, answer: Document | None) -> Document:
    own = asdict(question)
    bound = {name: own.pop(name) for name in _BOUND}
    return {"question": own, "bound": bound, "answer": answer}


def _known(form: type[Question | Answer], document: Document) -> Document:
    """The fields that this version knows; a newer worker may have written others."""
    return {one.name: document[one.name] for one in fields(form) if one.name in document}


def _parse(key: str, document: Document) -> tuple[Question, Answer | None]:
    try:
        answer, own = document["answer"], document["question"] | document.get("bound", {})
        return Question(**_known(Question, own)), Answer(
            **_known(Answer, answer)
        ) if answer else None
    except (KeyError, TypeError) as error:
        raise Malformed(f"{APPROVALS_PREFIX}{key} is not an approval: {error!r}") from error
