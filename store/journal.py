"""The journal of operations: the attempts, the tools that were started, and the one outcome.

There is one object per operation, `journals/<key>.json`. It is not deleted on success: Temporal may
time out an activity that succeeded, and its next attempt finds the outcome here.
"""

import os
import pwd
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from store.documents import Document, change_document, read_document
from store.errors import Malformed
from store.interface import Store
from store.machine import Machine

_PREFIX: Final = "journals/"
_SUFFIX: Final = ".json"

_ATTEMPTS_KEPT: Final = 50
"""How many of the newest attempts are kept, since an activity is retried without limit."""


@dataclass(frozen=True)
class Failure:
    """A final failure, which no later attempt changes."""

    type: str
    message: str


@dataclass(frozen=True)
class Outcome:
    """The outcome of an operation: either a result or a failure."""

    result: dict[str, Any] | None = None
    failure: Failure | None = None


@dataclass(frozen=True)
class Run:
    """The run of a tool that was started, or was about to be."""

    number: int
    """Counted from 1, across all machines."""
    label: str
    machine: str
    at: float
    """Epoch seconds."""
    by: str = ""
    """`user@host` that started it; empty if an older worker recorded it."""


@dataclass(frozen=True)
class Entry:
    """The journal's content about one operation."""

    attempts: int
    runs: tuple[Run, ...]
    outcome: Outcome | None
    newest_attempt_at: float = 0.0
    """Epoch seconds; 0 if there was none."""
    outcome_at: float | None = None
    """Epoch seconds."""
    bound_to: Mapping[str, Any] | None = None
    """What may be done under the key; None if an older worker recorded nothing."""


@dataclass(frozen=True)
class Journal:
    """The journal of an install's operations."""

    store: Store
    clock: Callable[[], float] = time.time

    def bind(self, key: str, what: Mapping[str, Any]) -> Mapping[str, Any]:
        """Binds the key to what may be done under it, unless it is bound; returns what it is bound
        to."""
        bound: Mapping[str, Any] = self._note(key, "let_in", dict(what))
        return bound

    def script(self, key: str, digest: str) -> str:
        """Records the one script that may run under the key, unless one is; returns what is."""
        return str(self._note(key, "script", digest))

    def begin(self, key: str, machine: Machine) -> Entry:
        """Records that an attempt began on the machine; returns what is known so far."""
        attempt = {"at": self.clock(), "machine": machine.id, "boot": machine.boot}

        def add(document: Document) -> None:
            document["attempts"] += 1
            document["newest_attempts"] = [*document["newest_attempts"], attempt][-_ATTEMPTS_KEPT:]

        return self._change(key, add)

    def begin_run(self, key: str, label: str, machine: Machine) -> Run:
        """Records that a tool is about to be started; returns its numbered run."""

        def add(document: Document) -> None:
            number = len(document["runs"]) + 1
            run = Run(number, label, machine.id, self.clock(), who_am_i())
            document["runs"].append(asdict(run))

        return self._change(key, add).runs[-1]

    def outcome(self, key: str) -> Outcome | None:
        """The recorded outcome of the operation, or None."""
        entry = self.entry(key)
        return entry.outcome if entry else None

    def entry(self, key: str) -> Entry | None:
        """What is known about the operation, or None."""
        found = read_document(self.store, _key(key))
        return _parse(key, found[0]) if found else None

    def operations(self, run: str) -> list[str]:
        """The keys of a run's operations; the run is their first segment."""
        found = self.store.list(f"{_PREFIX}{run}/")
        return [key.removeprefix(_PREFIX).removesuffix(_SUFFIX) for key in found]

    def all_operations(self) -> list[str]:
        """The keys of all operations."""
        found = self.store.list(_PREFIX)
        return [
            key.removeprefix(_PREFIX).removesuffix(_SUFFIX) for key in found if key.count("/") > 2
        ]

    def record_result(self, key: str, result: dict[str, Any]) -> Outcome:
        """Records the result, unless there is an outcome already; returns the recorded outcome."""
        return self._record(key, {"result": result})

    def record_failure(self, key: str, type_: str, message: str) -> Outcome:
        """Records a final failure, unless there is an outcome already; returns the recorded one."""
        return self._record(key, {"failure": {"type": type_, "message": message}})

    def _note(self, key: str, name: str, value: Any) -> Any:
        standing: list[Any] = []

        def note(document: Document | None) -> Document | None:
            changed = document or _new(key)
            _parse(key, changed)
            noted = changed.get(name)
            standing[:] = [value if noted is None else noted]
            return changed | {name: value} if noted is None else None

        change_document(self.store, _key(key), note)
        return standing[0]

    def _record(self, key: str, outcome: Document) -> Outcome:
        def add(document: Document) -> None:
            if document["outcome"] is None:
                document["outcome"] = outcome | {"at": self.clock()}

        standing = self._change(key, add).outcome
        if standing is None:
            raise Malformed(f"{_key(key)} did not keep the outcome")
        return standing

    def _change(self, key: str, add: Callable[[Document], None]) -> Entry:
        entries: list[Entry] = []

        def change(document: Document | None) -> Document:
            changed = document or _new(key)
            _parse(key, changed)
            add(changed)
            entries[:] = [_parse(key, changed)]
            return changed

        change_document(self.store, _key(key), change)
        return entries[0]


def who_am_i() -> str:
    """The owner of this process as `user@host`; without the user if it has no name."""
    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        # In a container, the user may have no name.
        user = ""
    return f"{user}@{os.uname().nodename}"


def _new(key: str) -> Document:
    return {"key": key, "attempts": 0, "newest_attempts": [], "runs": [], "outcome": None}


def _key(key: str) -> str:
    return f"{_PREFIX}{key}{_SUFFIX}"


def _parse(key: str, document: Document) -> Entry:
    try:
        return Entry(
            attempts=int(document["attempts"]),
            runs=tuple(_run(run) for run in document["runs"]),
            outcome=_outcome(document["outcome"]),
            outcome_at=float(document["outcome"].get("at", 0.0)) if document["outcome"] else None,
            newest_attempt_at=max(
                (float(attempt["at"]) for attempt in document["newest_attempts"]), default=0.0
            ),
            bound_to=dict(document["let_in"]) if document.get("let_in") is not None else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"{_key(key)} is not a journal entry: {error!r}") from error


def _run(recorded: Document) -> Run:
    return Run(
        number=int(recorded["number"]),
        label=str(recorded["label"]),
        machine=str(recorded["machine"]),
        at=float(recorded["at"]),
        by=str(recorded.get("by", "")),
    )


def _outcome(recorded: Document | None) -> Outcome | None:
    if recorded is None:
        return None
    if "result" in recorded:
        return Outcome(result=dict(recorded["result"]))
    failure = recorded["failure"]
    return Outcome(failure=Failure(str(failure["type"]), str(failure["message"])))
