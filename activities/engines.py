"""The registration of an engine: its declaration, and how an install worker reaches it.

This is all that shared activities know about engines. Until an engine has work to do, only its
declaration and the search for its tool are imported.
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
    """Makes the declared activities, in the declaration's order, for an
    `activities.workplace.Workplace` (a type that this module cannot import, since it imports this
    one)."""
    find_tool: Callable[[], "Tool"] | None = None
    """Finds the engine's tool, or raises a typed error; blocks. None if it needs no tool."""
    learn_secrets: Callable[["Store", str, str, "Mask"], "Mask"] = _nothing_secret
    """Called with (store, run, part, mask): returns the mask with the part's secrets added, as far
    as its state and the run's plan show them now. Blocks."""
    worker_secrets: Callable[["Store"], list[object]] = _none
    """Secrets of the worker that its tools receive; they are masked. Blocks."""
    holds_only_copy: Callable[[Path], bool] = _no_only_copy
    """Whether a run's folder on this machine holds the only copy of something; blocks."""


def specs(engines: Iterable[Engine]) -> list[EngineSpec]:
    """The engines' declarations."""
    return [one.spec for one in engines]


def of_activity(engines: Iterable[Engine], activity: object) -> list[Engine]:
    """The engine that the activity of this name belongs to; empty if it is no engine's."""
    return [
        one
        for one in engines
        if any(declared.name == activity for declared in one.spec.work.activities)
    ]
