"""The last lines of a tool's log are masked before they are cut, and begin with a whole line."""

import json
from pathlib import Path

import pytest

from activities.operations.spec import OUTPUT_FILE
from activities.operations.status import ToolEnd
from activities.secrets.masking import MASK, Mask

SECRET = "0123456789abcdef" * 8


def end(folder: Path, text: str) -> ToolEnd:
    (folder / OUTPUT_FILE).write_text(text)
    return ToolEnd("apply", "exited", {"apply": 1}, "apply", folder)


@pytest.mark.parametrize("after", [*range(8 * 1024 - 140, 8 * 1024 + 20, 7)])
def test_the_end_of_a_secret_does_not_get_through_the_cut(tmp_path: Path, after: int) -> None:
    tool = end(tmp_path, f"first\n{SECRET} " + "x" * (after - 5) + "\nlast\n")
    for told in (tool.last_lines(mask=Mask.of([SECRET]).text), tool.last_lines()):
        assert SECRET[-8:] not in told or SECRET in told
    assert "last" in tool.last_lines()


def test_a_secret_over_the_first_of_the_lines_is_masked(tmp_path: Path) -> None:
    lines = "".join(f"line {number}\n" for number in range(18))
    tool = end(tmp_path, f"it says correct horse\nbattery staple\n{lines}")
    told = tool.last_lines(mask=Mask.of(["correct horse battery staple"]).text)
    assert told.splitlines()[0] == f"it says {MASK}"
    tool = end(tmp_path, f"it says correct horse\nbattery staple\n{lines}line 18\n")
    assert "battery" not in tool.last_lines(mask=Mask.of(["correct horse battery staple"]).text)


def test_at_most_so_many_lines_and_bytes(tmp_path: Path) -> None:
    tool = end(tmp_path, "".join(f"{number} {'y' * 1000}\n" for number in range(400)))
    told = tool.last_lines()
    assert len(told.encode()) <= 8 * 1024
    assert [line.split()[0] for line in told.splitlines()] == [str(n) for n in range(392, 400)]
    assert end(tmp_path, "a\nb\nc\n").last_lines(2) == "b\nc"


@pytest.mark.parametrize("length", [10, 200_000])
@pytest.mark.parametrize("after", ["", "\n\nError: Failed to persist state\n"])
def test_a_printed_state_is_not_shown(tmp_path: Path, length: int, after: str) -> None:
    """Not even if the state began long before the tail, or if its end is missing."""
    document = {"version": 4, "terraform_version": "1.11.4", "lineage": "l", "id": ["x" * length]}
    state = json.dumps(document, indent=2)
    for printed in (state + after, state[: len(state) // 2]):
        told = end(tmp_path, f"it begins\n{printed}").last_lines()
        assert "xx" not in told
        assert "a Terraform state, which is not shown" in told
        assert ("Failed to persist" in told) == ("Failed to persist" in printed)


def test_what_only_looks_like_a_state_is_shown(tmp_path: Path) -> None:
    text = '{\n  "version": 4,\n  "name": "chart"\n}\nx {\n  "version": 4,\n'
    assert end(tmp_path, text).last_lines() == text.strip("\n")
