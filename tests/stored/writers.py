"""Every function that puts something into a store or onto a disk, found by looking at the code."""

import ast
import re
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
_LASTING: Final = frozenset(
    {
        *("change_document", "write_private", "replace_private", "write_new", "write_atomically"),
        *("make_private", "write_text", "write_bytes", "open_private", "move_durably"),
        *("touch", "hardlink_to", "mkstemp", "executescript", "overwrite"),
    }
)
"""Calls of these names write; so do `put` of a store, and `open` with a mode or flags for that."""

_MODE: Final = re.compile(r"'([wax]b?\+?|r\+b?)'")


def rooms() -> list[str]:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())
    found: list[str] = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    return found


Function = tuple[str, str]
"""The file that it stands in, and its name with its class's."""


def writers() -> set[Function]:
    """All that put something anywhere."""
    return {
        (str(path), name)
        for room in rooms()
        for path in (_ROOT / room).rglob("*.py")
        for name in _in(ast.parse(path.read_bytes()), ())
    }


def _in(node: ast.AST, within: tuple[str, ...]) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _in(child, (*within, child.name))
            continue
        if isinstance(child, ast.Call) and _writes(child):
            yield ".".join(within)
        yield from _in(child, within)


def _writes(call: ast.Call) -> bool:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name == "put":
        return any(one.arg == "if_match" for one in call.keywords)
    if name == "open":
        told = " ".join(ast.unparse(one) for one in [*call.args, *call.keywords])
        return "O_CREAT" in told or _MODE.search(told) is not None
    return name in _LASTING


@contextmanager
def called() -> Iterator[set[Function]]:
    """The functions that are called in the block."""
    found: set[Function] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            found.add((code.co_filename, code.co_qualname.replace(".<locals>", "")))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
