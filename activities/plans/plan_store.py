"""Saved plans in the store: the file that is applied, its changes, and what it was made from."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from activities.plans.changes import Changes
from apps.display_text import shown_lines
from contracts.errors import StalePlan
from store.interface import ANY, Store

C = TypeVar("C", bound=Changes)

_RECORD = "record.json"
_CHANGES = "changes.json"
_VIEW = "view.txt"


class PlanRecord(BaseModel):
    """What a plan was made from: an apply refuses the plan if any of this has changed."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    component: str
    digest: str
    teardown: bool
    plan_file: str
    """SHA-256 of the saved plan."""
    tool: str
    """Name, version and platform of the tool that made it."""
    providers: str
    """For Terraform only: SHA-256 of the dependency lock file; empty if the module needs no
    provider."""
    state: str
    """Identity of the state that it was made against."""
    app: str = ""
    """This field and the following ones are empty in records of older workers."""
    release: str = ""
    artifact: str = ""
    """Digest of the files that the plan was made from."""
    variables: str = ""
    """Keyed digest of the rendered variables."""
    environment: str = ""
    """Keyed digest of what the app config sets in the tool's environment."""


@dataclass(frozen=True)
class PlanFormat(Generic[C]):
    """How an engine keeps its plans."""

    file: str
    """The name in the store of the file that is applied."""
    read: Callable[[bytes], C]
    """Reads the plan's changes; raises EngineFailed."""


@dataclass(frozen=True)
class SavedPlan(Generic[C]):
    """A plan, read from the store."""

    record: PlanRecord
    file: bytes
    changes: C


@dataclass(frozen=True)
class PlanFiles:
    """The files of a plan, apart from its record."""

    file: bytes
    """The file that is applied."""
    shown: bytes
    """Its changes, in the form that `PlanFormat.read` reads; secrets are in clear."""
    view: str
    """The text that an approver sees."""
    others: Mapping[str, bytes] = field(default_factory=dict)
    """Other files that the apply needs, by their names in the store."""


def load_record(store: Store, key: str) -> PlanRecord | None:
    """A plan's record; None if the store has no such plan."""
    found = load_file(store, key, _RECORD)
    return PlanRecord.model_validate_json(found) if found is not None else None


def save_plan(
    store: Store, key: str, format: PlanFormat[C], record: PlanRecord, files: PlanFiles
) -> None:
    """Save a plan; the record is written last, so that a plan with a record is complete."""
    contents = {
        format.file: files.file,
        _CHANGES: files.shown,
        _VIEW: files.view.encode(),
        **files.others,
        _RECORD: record.model_dump_json().encode(),
    }
    for name, content in contents.items():
        store.put(f"plans/{key}/{name}", content, if_match=ANY)


def load_plan(store: Store, key: str, format: PlanFormat[C]) -> SavedPlan[C]:
    """Read a plan, and check that its file is the one that was saved.

    Raises:
        StalePlan: the plan is gone, or its file has changed.
    """
    record = load_record(store, key)
    file, shown = load_file(store, key, format.file), load_file(store, key, _CHANGES)
    if record is None or file is None or shown is None:
        raise StalePlan("the saved plan is no longer in the store")
    if sha256(file) != record.plan_file:
        raise StalePlan("the saved plan's file is not the one that was planned")
    return SavedPlan(record, file, format.read(shown))


def load_file(store: Store, key: str, name: str) -> bytes | None:
    """A file of the plan, by its name in the store; None if there is none."""
    found = store.get(f"plans/{key}/{name}")
    return found.data if found else None


def load_shown(store: Store, prefix: str) -> Iterator[bytes]:
    """The changes of each plan whose key has the prefix, as its engine printed them."""
    for key in store.list(f"plans/{prefix}"):
        found = store.get(key) if key.endswith(f"/{_CHANGES}") else None
        if found is not None:
            yield found.data


def load_view(store: Store, key: str) -> tuple[PlanRecord, str] | None:
    """The plan's record, and its view without sensitive values.

    An older worker may have made the view, so it is made safe to display here again.
    """
    record, view = load_record(store, key), load_file(store, key, _VIEW)
    if record is None or view is None:
        return None
    return record, shown_lines(view.decode())


def sha256(content: bytes) -> str:
    """The hexadecimal SHA-256 of the content."""
    return hashlib.sha256(content).hexdigest()
