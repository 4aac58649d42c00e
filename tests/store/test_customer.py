"""Questions to the customer and their answers: an answer applies to one question only."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from store.customer import (
    APPROVALS_PREFIX,
    AlreadyDecided,
    Question,
    answer_now,
    answered,
    ask,
    decide,
    waiting,
)
from store.folder import FolderStore
from store.interface import ANY

ASKED = Question(
    plan_key="run-1/net/plan/1",
    apply_key="run-1/net/apply/2",
    digest="sha256:" + "d" * 64,
    component="net",
    verb="apply",
    changes="1 to create",
    app="shop",
    release="sha256:" + "1" * 64,
    turn=7,
    run="deploy/acme/7",
    asked_at=1893456000.0,
    artifact="sha256:" + "a" * 64,
    variables="v",
    environment="e",
)
KEY = f"{APPROVALS_PREFIX}{ASKED.plan_key}.json"


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path)


@pytest.mark.parametrize(
    "field",
    ["digest", "component", "verb", "app", "release", "artifact", "variables", "environment"],
)
def test_an_answer_is_to_what_the_plan_was_made_of(store: FolderStore, field: str) -> None:
    ask(store, ASKED)
    decide(store, ASKED, answer_now("approved", "ann@host"))
    changed: dict[str, Any] = {field: "other"}
    other = replace(ASKED, **changed)
    assert answered(store, other) is None
    assert ask(store, other) is None, "it is asked anew"
    with pytest.raises(AlreadyDecided, match="was replaced by"):
        decide(store, ASKED, answer_now("approved", "ann@host"))
    assert waiting(store) == [other], "what was shown before is not what is answered"


def test_another_attempt_need_not_ask_again(store: FolderStore) -> None:
    ask(store, ASKED)
    decide(store, ASKED, answer_now("approved", "ann@host"))
    again = replace(ASKED, apply_key="run-1/net/apply/3", turn=8, run="deploy/acme/8")
    answer = ask(store, again)
    assert answer is not None and answer.by == "ann@host"
    assert answered(store, ASKED) == answer


def test_older_and_newer_workers_read_each_others_questions(store: FolderStore) -> None:
    ask(store, ASKED)
    found = store.get(KEY)
    assert found is not None
    document = json.loads(found.data)
    new = {"artifact", "variables", "environment"}
    assert set(document["question"]) == set(asdict(ASKED)) - new, "older ones take no other field"
    document["question"]["of_tomorrow"] = document["bound"]["of_tomorrow"] = "x"
    store.put(KEY, json.dumps(document).encode(), if_match=ANY)
    assert waiting(store) == [ASKED]
    del document["bound"], document["question"]["of_tomorrow"]
    store.put(KEY, json.dumps(document).encode(), if_match=ANY)
    assert [one.artifact for one in waiting(store)] == [""]
    decide(store, waiting(store)[0], answer_now("approved", "ann@host"))
    assert ask(store, ASKED) is None, "nobody knows what an older worker's question was about"
