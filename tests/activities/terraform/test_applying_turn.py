"""The turn is checked again just before an apply starts."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from activities.operations.spec import ToolRun
from activities.terraform.applying import _run
from activities.terraform.job import Job
from activities.workplace import Workplace
from contracts.errors import TurnRefused
from contracts.messages import Turn
from store.folder import FolderStore
from store.turns import check_turn


async def test_nothing_is_applied_without_the_turn(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    place = cast(Workplace, SimpleNamespace(store=store, install="acme"))
    started = []

    async def run(label: str, run: ToolRun) -> object:
        started.append(label)
        return SimpleNamespace(outcome="exited", failed=None, succeeded=lambda: True)

    async def free() -> None:
        pass

    async def check(turn: Turn) -> None:
        await Workplace.check_turn(place, turn)

    job = cast(
        Job,
        SimpleNamespace(
            workplace=SimpleNamespace(check_turn=check),
            input=SimpleNamespace(turn=Turn(number=1, workflow_id="deploy/acme/1")),
            operation=SimpleNamespace(run=run),
            state_is_free=free,
            say=lambda words: None,
            tool=SimpleNamespace(name="terraform"),
        ),
    )
    await _run(job, cast(ToolRun, None))
    assert started == ["apply"]
    check_turn(store, 2, "deploy/acme/2")
    with pytest.raises(TurnRefused, match="deploy/acme/2"):
        await _run(job, cast(ToolRun, None))
    assert started == ["apply"]
