"""What an install worker knows of an engine: its declaration, and how it is reached.

Shared activities know engines by this alone. Nothing of an engine but its declaration and the
search for its tool is imported before it has something to do.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from contracts.engines import EngineSpec

if TYPE_CHECKING:
    from activities.secrets.masking import Mask
    from activities.tools.tool import Tool
    from store.interface import Store

AnyActivity = Callable[[Any], Awaitable[BaseModel]]


def _nothing_secret(_store: "Store", _run: str, _part: str, known: "Mask") -> "Mask":
    return known


def _none(_store: "Store") -> list[object]:
    return []


def _no_only_copy(_run: Path) -> bool:
    return False


@dataclass(frozen=True, eq=False)
class Engine:
    """The registration of an engine."""

    spec: EngineSpec
    activities: Callable[[Any], Sequence[AnyActivity]]
    """Makes those of the declaration's work, in its order, on an `activities.workplace.Workplace`
    (which knows its engines, so this module does not know it)."""
    find_tool: Callable[[], "Tool"] | None = None
    """Finds its tool, or raises a typed error; blocks. None if it needs none."""
    learn_secrets: Callable[["Store", str, str, "Mask"], "Mask"] = _nothing_secret
    """Adds to a mask what is secret, as far as it is known by now, of a part and of what a run
    planned of it: (store, run, part, mask). Blocks."""
    worker_secrets: Callable[["Store"], list[object]] = _none
    """What of the worker's own its tools are given, and nobody may see; blocks."""
    holds_only_copy: Callable[[Path], bool] = _no_only_copy
    """Whether a run's folder on this machine holds what is nowhere else; blocks."""


def specs(engines: Iterable[Engine]) -> list[EngineSpec]:
    """Their declarations."""
    return [one.spec for one in engines]


def of_activity(engines: Iterable[Engine], activity: object) -> list[Engine]:
    """The engine whose work the activity is, by its name; empty where it is none's."""
    return [
        one
        for one in engines
        if any(declared.name == activity for declared in one.spec.work.activities)
    ]
