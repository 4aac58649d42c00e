"""Warns of scripts that only bash understands, but that `/bin/sh` runs.

A script that does not begin with `#!` is run by the worker's `/bin/sh`. On Debian and Ubuntu that
is dash, which ends at `set -o pipefail`, and takes `[[ … ]]` for a command that does not exist: a
condition is then silently false.
"""

import re
from collections.abc import Iterator
from typing import Final

_FIRST: Final = r"(?:^|[;&|({!]|\b(?:if|then|else|elif|while|until|do)\b)\s*"
"""Where a command begins."""
_ONLY_BASH: Final = {
    "pipefail": re.compile(r"\bset\s[^;&|]{0,80}\bpipefail\b"),
    "[[ … ]]": re.compile(rf"{_FIRST}\[\[\s"),
    "==": re.compile(r"(?:^|[\s;&|(!])(?:\[|test)\s[^];&|]{0,200}\s==\s"),
    "((…))": re.compile(rf"(?:{_FIRST}|\bfor\s*)\(\("),
    "an array": re.compile(r"^\s*[A-Za-z_]\w*\+?=\("),
    "<<<": re.compile(r"<<<"),
    "<(…)": re.compile(r"(?:^|\s)[<>]\("),
    "&>": re.compile(r"(?<![&>\d])&>(?!&)"),
    "$'…'": re.compile(r"(?:^|[\s=(])\$'"),
    "{1..9}": re.compile(r"\{\d+\.\.\d+\}"),
    "${…} beyond POSIX": re.compile(r"\$\{(?:![A-Za-z_]|[A-Za-z_]\w*(?:\[|,|\^|/|:\d))"),
    "function": re.compile(r"^\s*function\s+\w"),
    "a command of bash": re.compile(
        rf"{_FIRST}(?:declare|mapfile|readarray|shopt|source|pushd|popd|typeset|let)\s"
    ),
}
_TEMPLATE: Final = re.compile(r"\{\{[^{}]*\}\}")
_QUOTED: Final = re.compile(
    r"""\\.|'[^']*+'|"(?:\\.|[^"\\])*+"|(?:(?<=\s)|^)\#[^\n]*""", re.DOTALL | re.MULTILINE
)
_EXPANSION: Final = re.compile(r"\$\{[^}\n]*\}|\n")
_HEREDOC: Final = re.compile(r"(?<!<)<<-?\s*(['\"]?)(\w+)\1(?!<)")
_SEARCHED: Final = 128 * 1024
"""Characters of a script: enough for any that a person wrote."""


def only_bash_problem(script: str) -> tuple[str, int] | None:
    """What in a script only bash understands, and in which line; None if another shell is named."""
    if script.startswith("#!"):
        return None
    for number, line in enumerate(_code(script[:_SEARCHED]).split("\n"), 1):
        for what, pattern in _ONLY_BASH.items():
            if pattern.search(line):
                return (
                    f"uses `{what}`, which only bash knows, and is run by `/bin/sh`: begin it with "
                    "`#!/usr/bin/env bash`, or write it for any shell"
                ), number
    return None


def _code(script: str) -> str:
    """The script without comments, quoted text, templates, and what it passes on as documents."""
    text = _TEMPLATE.sub(lambda found: "x" + "\n" * found[0].count("\n"), script)
    return _QUOTED.sub(_emptied, "\n".join(_without_documents(text.split("\n"))))


def _emptied(found: re.Match[str]) -> str:
    quote = found[0][0]
    if quote not in "\"'":
        return "" if quote == "#" else "x"
    inside = _EXPANSION.findall(found[0]) if quote == '"' else "\n" * found[0].count("\n")
    return quote + "".join(inside) + quote


def _without_documents(lines: list[str]) -> Iterator[str]:
    mark = None
    for line in lines:
        if mark is None:
            yield line
            begin = _HEREDOC.search(line)
            mark = begin[2] if begin else None
        else:
            yield ""
            mark = None if line.strip() == mark else mark
