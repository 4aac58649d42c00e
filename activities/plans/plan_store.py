"""A saved plan in the store: the file that is applied, what it would do, and what it binds to."""

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
    """What a plan was made of: an apply refuses it when any of this has changed."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    component: str
    digest: str
    teardown: bool
    plan_file: str
    """SHA-256 of the saved plan."""
    tool: str
    """Name, version and platform of the tool that made it."""
    providers: str
    """Terraform's alone: SHA-256 of the dependency lock file; empty where the module needs no
    provider."""
    state: str
    """Identity of the state that it was made against."""
    app: str = ""
    """What follows is empty where a worker made it that did not note it yet."""
    release: str = ""
    artifact: str = ""
    """Digest of the files that it was made of."""
    variables: str = ""
    """Keyed digest of the variables as they were rendered."""
    environment: str = ""
    """Keyed digest of what the app config sets in the tool's environment."""


@dataclass(frozen=True)
class PlanFormat(Generic[C]):
    """How an engine keeps its plans."""

    file: str
    """The name in the store of what is applied."""
    read: Callable[[bytes], C]
    """Reads what the plan would do; raises EngineFailed."""


@dataclass(frozen=True)
class SavedPlan(Generic[C]):
    """A plan as the store holds it."""

    record: PlanRecord
    file: bytes
    changes: C


@dataclass(frozen=True)
class PlanFiles:
    """What a plan is kept as, besides its record."""

    file: bytes
    """What is applied."""
    shown: bytes
    """What it would do, as the engine's format reads it; secrets in clear."""
    view: str
    """What an approver sees."""
    others: Mapping[str, bytes] = field(default_factory=dict)
    """Whatever else the apply needs, by its name in the store."""


def load_record(store: Store, key: str) -> PlanRecord | None:
    """What a plan was made of; None where the store has no such plan."""
    found = load_file(store, key, _RECORD)
    return PlanRecord.model_validate_json(found) if found is not None else None


def save_plan(
    store: Store, key: str, format: PlanFormat[C], record: PlanRecord, files: PlanFiles
) -> None:
    """Keep a plan; the record is written last, so that what has a record is whole."""
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
    """Read a plan back, and check that its file is the one that was planned.

    Raises:
        StalePlan: it is gone, or not what it was.
    """
    record = load_record(store, key)
    file, shown = load_file(store, key, format.file), load_file(store, key, _CHANGES)
    if record is None or file is None or shown is None:
        raise StalePlan("the saved plan is no longer in the store")
    if sha256(file) != record.plan_file:
        raise StalePlan("the saved plan's file is not the one that was planned")
    return SavedPlan(record, file, format.read(shown))


def load_file(store: Store, key: str, name: str) -> bytes | None:
    """A file of the plan by its name in the store; None where it has none of that name."""
    found = store.get(f"plans/{key}/{name}")
    return found.data if found else None


def load_shown(store: Store, prefix: str) -> Iterator[bytes]:
    """What each plan under the prefix of keys would do, as its engine printed it."""
    for key in store.list(f"plans/{prefix}"):
        found = store.get(key) if key.endswith(f"/{_CHANGES}") else None
        if found is not None:
            yield found.data


def load_view(store: Store, key: str) -> tuple[PlanRecord, str] | None:
    """The plan view, without what is sensitive, and the plan's record.

    An older worker may have made the view: it is shown (`apps.display_text`) here again.
    """
    record, view = load_record(store, key), load_file(store, key, _VIEW)
    if record is None or view is None:
        return None
    return record, shown_lines(view.decode())


def sha256(content: bytes) -> str:
    """The hexadecimal SHA-256 of the content."""
    return hashlib.sha256(content).hexdigest()
