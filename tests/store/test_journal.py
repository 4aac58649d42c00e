"""The journal: attempts, runs, and one outcome that stays."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from store.errors import Malformed
from store.interface import ANY, Store
from store.journal import Failure, Journal, Outcome
from store.machine import Machine

ROOT = Path(__file__).resolve().parents[2]
HERE = Machine("here", "boot1")
KEY = "run-1/vpc/apply/0"

RECORDER = """
import json, sys
from store.journal import Journal
from store.opening import open_store
store = open_store(json.loads(sys.argv[1]))
print(Journal(store).record_result("k", {"by": sys.argv[2]}).result["by"])
"""


@pytest.fixture
def journal(store: Store) -> Journal:
    return Journal(store, clock=lambda: 7.0)


def test_attempts_and_runs_are_noted(journal: Journal) -> None:
    assert journal.outcome(KEY) is None
    entry = journal.begin(KEY, HERE)
    assert (entry.attempts, entry.runs, entry.outcome) == (1, (), None)
    assert journal.begin_run(KEY, "apply", HERE).number == 1
    second = journal.begin_run(KEY, "show", Machine("there", "x"))
    assert (second.number, second.label, second.machine, second.at) == (2, "show", "there", 7.0)
    entry = journal.begin(KEY, HERE)
    assert entry.attempts == 2
    assert [run.label for run in entry.runs] == ["apply", "show"]


def test_attempts_without_end_do_not_grow_the_object(journal: Journal) -> None:
    for _ in range(60):
        journal.begin(KEY, HERE)
    found = journal.store.get(f"journals/{KEY}.json")
    assert found is not None
    document = json.loads(found.data)
    assert document["attempts"] == 60
    assert len(document["newest_attempts"]) == 50


def test_the_first_outcome_stands(journal: Journal) -> None:
    first = journal.record_failure(KEY, "EngineFailed", "no such region")
    assert first == Outcome(failure=Failure("EngineFailed", "no such region"))
    assert journal.record_result(KEY, {"late": True}) == first
    assert journal.outcome(KEY) == first
    assert journal.begin(KEY, HERE).outcome == first


def test_a_result_comes_back_as_it_was(journal: Journal) -> None:
    result = {"n": 1, "list": [None, "x"], "nested": {"a": 1.5}}
    journal.record_result(KEY, result)
    assert journal.outcome(KEY) == Outcome(result=result)


def test_processes_that_record_at_once_agree(described: Any) -> None:
    recorders = [
        subprocess.Popen(
            [sys.executable, "-c", RECORDER, json.dumps(described.description), name],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "abcd"
    ]
    said = {recorder.communicate(timeout=60)[0] for recorder in recorders}
    assert len(said) == 1
    assert said <= {"a\n", "b\n", "c\n", "d\n"}


def test_what_is_no_journal_is_reported(journal: Journal) -> None:
    journal.store.put(f"journals/{KEY}.json", b'{"runs": 1}', if_match=ANY)
    with pytest.raises(Malformed, match="not a journal entry"):
        journal.outcome(KEY)
    with pytest.raises(Malformed):
        journal.begin(KEY, HERE)


def test_what_is_known_of_a_run(journal: Journal) -> None:
    for key in ("run-1/net/plan/1", "run-1/net/apply/1", "run-10/net/plan/1"):
        journal.begin(key, Machine("here", "b"))
    assert journal.operations("run-1") == ["run-1/net/apply/1", "run-1/net/plan/1"]
    assert journal.operations("run-2") == []
    entry = journal.entry("run-1/net/plan/1")
    assert entry is not None
    assert (entry.attempts, entry.newest_attempt_at, entry.outcome) == (1, 7.0, None)
    assert journal.entry("run-2/net/plan/1") is None
