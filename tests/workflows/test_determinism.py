"""No clock, no randomness, no I/O in workflows.

Temporal's sandbox refuses those at run time, but only in modules that it executes itself; what the
workflows share is passed through it, since executing it for each run costs more than the run. So
all of them are held to a list of what they may import and call.
"""

import ast
from pathlib import Path

import pytest

ROOM = Path(__file__).resolve().parents[2] / "workflows"
MODULES = sorted(ROOM.rglob("*.py"))

IMPORTS = {
    *("asyncio", "collections.abc", "contextlib", "dataclasses", "datetime", "functools", "json"),
    *("typing",),
    *("pydantic", "temporalio", "apps", "contracts", "workflows"),
}
"""A module may import these, and what lies below the last five."""

BELOW = {"temporalio", "apps", "contracts", "workflows"}

FORBIDDEN_CALLS = {"open", "input", "print", "eval", "exec", "hash", "id", "vars", "globals"}

CLOCKS = {"now", "utcnow", "today", "time", "monotonic"}
"""As methods of anything but `workflow`, which has a clock of its own (`asyncio.sleep` is one of
Temporal's timers there)."""


def _may_import(name: str) -> bool:
    return name in IMPORTS or name.partition(".")[0] in BELOW


def _problems(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found += [f"imports {n.name}" for n in names if not _may_import(n.name)]
            case ast.ImportFrom(module=str(module)) if not _may_import(module):
                found.append(f"imports {module}")
            case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS:
                found.append(f"calls {name}")
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in CLOCKS:
                if not (isinstance(of, ast.Name) and of.id == "workflow"):
                    found.append(f"calls {ast.unparse(of)}.{name}")
    return found


# Parsed while tests are collected: on Python 3.11, `ast.parse` fails when another thread parses at
# the same time, as one does that prints a traceback.
TREES = {str(path.relative_to(ROOM)): ast.parse(path.read_text()) for path in MODULES}

WRONG = {
    code: ast.parse(code)
    for code in (
        "import random",
        "from os import environ",
        "import urllib.request",
        "from datetime import datetime\ndatetime.now()",
        "import time",
        "open('x')",
    )
}


@pytest.mark.parametrize("module", TREES)
def test_a_workflow_module_is_deterministic(module: str) -> None:
    assert _problems(TREES[module]) == []


@pytest.mark.parametrize("code", WRONG)
def test_the_check_can_fail(code: str) -> None:
    assert _problems(WRONG[code])
