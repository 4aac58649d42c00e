"""A worker refuses ids that could not be shown as they are."""

from dataclasses import replace
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.ids import require_ids
from contracts.deploys import ApplyInput
from contracts.errors import BadInput
from contracts.messages import Turn
from contracts.names import is_id
from contracts.operations import StopInput

TURN = Turn(number=7, workflow_id="deploy/acme/7")
RELEASE = "sha256:" + "1" * 64
HIDDEN = "x\u2028y"


def apply_input(**fields: Any) -> ApplyInput:
    said = {"key": "run-1/net/apply/2", "plan_key": "run-1/net/plan/1", "turn": TURN} | fields
    return ApplyInput(
        install="acme", app="shop", release=RELEASE, component="net", digest=RELEASE, **said
    )


@pytest.mark.parametrize(
    "input",
    [
        apply_input(key=HIDDEN),
        apply_input(key="run-1/net/../x"),
        apply_input(plan_key=HIDDEN),
        apply_input(turn=Turn(number=7, workflow_id=f"deploy/acme/{HIDDEN}")),
        apply_input(turn=Turn(number=7, workflow_id="deploy/acme/7\ndb: applied")),
        StopInput(install="acme", subject=HIDDEN, key="run-1/net/apply/2", turn=TURN),
    ],
)
def test_what_a_worker_is_asked_has_ids(input: Any) -> None:
    with pytest.raises(BadInput) as caught:
        require_ids([input])
    assert HIDDEN not in caught.value.message and "\n" not in caught.value.message
    require_ids([apply_input()])


@pytest.mark.parametrize("field", ["activity_id", "workflow_id"])
async def test_the_activity_itself_has_ids(field: str) -> None:
    environment = ActivityEnvironment()
    await environment.run(_looks)
    hidden: dict[str, Any] = {field: HIDDEN}
    environment.info = replace(environment.info, **hidden)
    with pytest.raises(BadInput):
        await environment.run(_looks)


async def _looks() -> None:
    require_ids([])


@pytest.mark.parametrize(
    "id",
    [
        "install/acme", "deploy/acme/7", "action/acme/health/2026-01-05T12:00:00Z", "1",
        "0198c0de-0000-7000-8000-000000000000", "a" * 255,
    ],
)  # fmt: skip
def test_every_id_that_is_made_here_is_one(id: str) -> None:
    assert is_id(id)


@pytest.mark.parametrize(
    "id", ["", "/a", "a b", "a\n", "ü", HIDDEN, "a`b", "a*b", "a<b", "a" * 256]
)
def test_what_is_none(id: str) -> None:
    assert not is_id(id)
