"""A saved plan in the store: the file that is applied, what it would do, and what it binds to."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from activities.terraform.changes import Changes, read_changes
from apps.display_text import shown_lines
from contracts.errors import StalePlan
from store.interface import ANY, Store
from store.left_files import read_left


class PlanRecord(BaseModel):
    """What a plan was made of: an apply refuses it when any of this has changed."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    component: str
    digest: str
    teardown: bool
    plan_file: str
    """SHA-256 of the saved plan."""
    tool: str
    """Name, version and platform of the Terraform that made it."""
    providers: str
    """SHA-256 of the dependency lock file; empty where the module needs no provider."""
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
class SavedPlan:
    """A plan as the store holds it."""

    record: PlanRecord
    file: bytes
    changes: Changes


@dataclass(frozen=True)
class PlanFiles:
    """What a plan is kept as, besides its record."""

    file: bytes
    """What `terraform plan -out` wrote."""
    shown: bytes
    """What `terraform show -json` printed of it; secrets in clear."""
    view: str
    """What an approver sees."""
    lock: bytes
    """The dependency lock file; empty where the module needs no provider."""


def load_record(store: Store, key: str) -> PlanRecord | None:
    """What a plan was made of; None where the store has no such plan."""
    found = store.get(f"plans/{key}/record.json")
    return PlanRecord.model_validate_json(found.data) if found else None


def save_plan(store: Store, key: str, record: PlanRecord, files: PlanFiles) -> None:
    """Keep a plan; the record is written last, so that what has a record is whole."""
    store.put(f"plans/{key}/terraform.tfplan", files.file, if_match=ANY)
    store.put(f"plans/{key}/changes.json", files.shown, if_match=ANY)
    store.put(f"plans/{key}/view.txt", files.view.encode(), if_match=ANY)
    store.put(f"plans/{key}/terraform.lock.hcl", files.lock, if_match=ANY)
    store.put(f"plans/{key}/record.json", record.model_dump_json().encode(), if_match=ANY)


def load_plan(store: Store, key: str) -> SavedPlan:
    """Read a plan back, and check that its file is the one that was planned.

    Raises:
        StalePlan: it is gone, or not what it was.
    """
    record = store.get(f"plans/{key}/record.json")
    file = store.get(f"plans/{key}/terraform.tfplan")
    shown = store.get(f"plans/{key}/changes.json")
    if record is None or file is None or shown is None:
        raise StalePlan("the saved plan is no longer in the store")
    read = PlanRecord.model_validate_json(record.data)
    if sha256(file.data) != read.plan_file:
        raise StalePlan("the saved plan's file is not the one that was planned")
    return SavedPlan(read, file.data, read_changes(shown.data))


def load_lock(store: Store, key: str) -> bytes:
    """The dependency lock file that the plan was made with; empty where there was none."""
    found = store.get(f"plans/{key}/terraform.lock.hcl")
    return found.data if found else b""


def load_view(store: Store, key: str) -> tuple[PlanRecord, str] | None:
    """The plan view, without what is sensitive, and the plan's record.

    An older worker may have made the view: it is shown (`apps.display_text`) here again.
    """
    record = store.get(f"plans/{key}/record.json")
    view = store.get(f"plans/{key}/view.txt")
    if record is None or view is None:
        return None
    return PlanRecord.model_validate_json(record.data), shown_lines(view.data.decode())


def providers_identity(lock: Path) -> str:
    """What changes with any provider; empty where the module needs none."""
    content = read_lock_file(lock)
    return sha256(content) if content else ""


def read_lock_file(lock: Path) -> bytes:
    """The dependency lock file of a working folder; empty where the module needs none. Blocks.

    Raises:
        NoFileLeft: it is no file.
    """
    try:
        return read_left(lock)
    except FileNotFoundError:
        return b""


def sha256(content: bytes) -> str:
    """The hexadecimal SHA-256 of the content."""
    return hashlib.sha256(content).hexdigest()
