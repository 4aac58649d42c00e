"""Prints the result of a run that ended well, on standard output."""

import json
from collections.abc import Iterator
from typing import Any

from client.following import End
from exclave.screens.terminal import Lines


def show_result(lines: Lines, end: End) -> None:
    """Write the outputs of an action's steps, or a build's release; other runs have no result."""
    result = end.result if isinstance(end.result, dict) else {}
    answer = Lines()
    if "steps" in result:
        for step in result["steps"]:
            for line in _step_lines(step):
                answer(line)
    elif "reused" in result:
        if result["reused"]:
            lines("Nothing was built: this release existed already.")
        for one in result.get("fetched", ()):
            lines(f"  {_fetched(one)}")
        answer(result["release"])


def _fetched(one: dict[str, Any]) -> str:
    """One line about a source that was fetched for a release."""
    at = f" {one['directory']}" if one["directory"] else ""
    what = f" {one['ref']} = {one['commit'][:12]}" if one["commit"] else f" {one['digest'][:19]}"
    return f"fetched {one['url']}{at}{what}"


def _step_lines(step: dict[str, Any]) -> Iterator[str]:
    outputs = step["outputs"]
    yield step["step"]
    for name, value in sorted(outputs["values"].items()):
        yield f"  {name} = {json.dumps(value, ensure_ascii=False)}"
    for name in outputs["sensitive"]:
        yield f"  {name} is sensitive, and stays with the customer"
    for name in outputs["omitted"]:
        yield f"  {name} is too large to be sent, and stays with the customer"
