"""Wrong input fails at once with its type, from `temporal workflow start` and `update` alike."""

import pytest

from tests.e2e.plane import Plane

RELEASE = "sha256:" + "1" * 64

STARTS = [
    ("Build", "build/x/1", ["{}"], "BadInput"),
    ("Build", "build/x/2", ['{"app": "x", "source": "latest"}'], "BadInput"),
    ("Build", "build/other/3", [f'{{"app": "x", "source": "{RELEASE}"}}'], "build/x"),
    ("Install", "install/x", ['{"install": "x", "aap": "y"}'], "did you mean `app`"),
    ("Install", "install/x", ['{"install": "X!", "app": "y"}'], "install"),
    ("Deploy", "deploy/x/1", [], "0 were given"),
    ("Deploy", "deploy/x/2", [f'{{"install": "x", "release": "{RELEASE}"}}'] * 2, "2 were given"),
    ("Deploy", "deploy/x/3", ['"text"'], "BadInput"),
    ("Deploy", "other/x/4", [f'{{"install": "x", "release": "{RELEASE}"}}'], "deploy/x"),
    ("Action", "action/x/1", ['{"install": "x", "action": 7}'], "action"),
    ("Depoly", "deploy/x/5", ["{}"], "no workflow type 'Depoly'"),
]


@pytest.mark.parametrize(("kind", "workflow_id", "inputs", "says"), STARTS)
def test_a_start_fails_at_once(
    plane: Plane, kind: str, workflow_id: str, inputs: list[str], says: str
) -> None:
    arguments = [word for one in inputs for word in ("--input", one)]
    plane.temporal(
        *("workflow", "start", "--type", kind, "--task-queue", "control"),
        *("--workflow-id", workflow_id, *arguments),
    )
    answer = plane.result(workflow_id)
    assert answer["status"] == "FAILED", answer
    assert "BadInput" in str(answer)
    assert says in str(answer)


UPDATES = [
    ("deploy", ['{"relase": "x"}'], "release"),
    ("deploy", [], "0 were given"),
    ("deploy", [f'{{"release": "{RELEASE}"}}'] * 2, "2 were given"),
    ("act", ['{"action": ""}'], "action"),
    ("set_inputs", ['{"values": {"a": 1}}'], "values"),
    ("set_inputs", ['{"values": {"a": "1"}}'], "has not read a release"),
    ("deplyo", ["{}"], "known updates"),
]


@pytest.mark.parametrize(("name", "inputs", "says"), UPDATES)
def test_an_update_fails_at_once(plane: Plane, name: str, inputs: list[str], says: str) -> None:
    install = "bad-updates"
    plane.temporal(
        *("workflow", "start", "--type", "Install", "--task-queue", "control"),
        *("--workflow-id", f"install/{install}"),
        *("--input", f'{{"install": "{install}", "app": "none"}}'),
    )
    arguments = [word for one in inputs for word in ("--input", one)]
    refused = plane.temporal(
        *("workflow", "update", "execute", "--workflow-id", f"install/{install}"),
        *("--name", name, *arguments),
        ok=False,
    )
    assert says in refused
