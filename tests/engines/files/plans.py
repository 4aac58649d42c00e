"""What the engine plans: which files would be written and removed, and how the store keeps that."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from activities.plans.changes import Change, Changes
from activities.plans.plan_store import PlanFormat

Texts = dict[str, str | None]
"""By a file's name, what is to be in it; None where it is to go."""


@dataclass(frozen=True)
class Target:
    """Where files are written."""

    folder: Path
    lines: str
    seconds: float

    def plan(self, wanted: Mapping[str, str], owned: list[str]) -> tuple[Changes, Texts]:
        """What differs from what is there.

        Args:
            wanted: By a file's name, what is to be in it.
            owned: The files that a former apply wrote.
        """
        names = sorted({*wanted, *owned})
        there = {name: _text(self.folder / name) for name in names}
        texts: Texts = {n: wanted.get(n) for n in names if wanted.get(n) != there[n]}
        objects = tuple(_change(name, there[name], text) for name, text in texts.items())
        return Changes(objects, ()), texts

    def tool_input(self, texts: Texts) -> bytes:
        """What the tool reads."""
        plan = {"folder": str(self.folder), "lines": self.lines, "seconds": self.seconds}
        return json.dumps(plan | {"files": texts}).encode()


def show(changes: Changes) -> bytes:
    """What a plan would do, as the store keeps it."""
    objects = [[one.address, one.actions[0], one.before, one.after] for one in changes.objects]
    return json.dumps(objects).encode()


def beyond(approved: Changes, rest: Changes) -> list[str]:
    """What remains to be done after a crash, and was not approved."""
    known = {one.address: one for one in approved.objects}
    return [
        one.address
        for one in rest.objects
        if one.address not in known or one.after != known[one.address].after
    ]


def _read(shown: bytes) -> Changes:
    return Changes(tuple(Change(a, (v,), b, c, False) for a, v, b, c in json.loads(shown)), ())


SAVED = PlanFormat("plan.json", _read)


def _text(file: Path) -> str | None:
    return file.read_text() if file.is_file() else None


def _change(name: str, before: str | None, after: str | None) -> Change:
    verb = "create" if before is None else "delete" if after is None else "update"
    old, new = (None if one is None else {"text": one} for one in (before, after))
    return Change(name, (verb,), old, new, unknown=False)
