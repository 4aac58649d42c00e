"""Checks the scripts of actions, and the repositories that they run in."""

from typing import Final

from apps.checks.module_places import Modules, source_key
from apps.checks.scripts import only_bash_problem
from apps.config.actions import Action, ActionStep
from apps.config.sources import is_remote
from apps.reading.entities import Entities, Located
from apps.reading.fetched import NotFetched, Tree
from apps.reading.files import read_below
from apps.reading.findings import Findings
from apps.spelling import did_you_mean

_SCRIPT_BYTES: Final = 256 * 1024


def check_steps(entities: Entities, modules: Modules, findings: Findings) -> None:
    """Adds a problem for each repository that could not be fetched, and each script it lacks.

    And a warning for each script that the shell which runs it may not understand.
    """
    for action in entities.of(Action):
        for index, step in enumerate(action.model.steps):
            _check_shell(action, index, step, findings)
            source = step.public_repo or step.connected_repo
            found = modules.find(source) if source is not None else None
            if isinstance(found, NotFetched):
                key = action.key("steps", index, source_key(step), found.key)
                findings.error(action.file, key, found.message)
            elif found is not None:
                problem = _script_problem(step, found)
                if problem:
                    findings.error(action.file, action.key("steps", index, "command"), problem)
                elif action.model.image is None:
                    _check_file(action, index, step, found, findings)


def _check_shell(action: Located[Action], index: int, step: ActionStep, findings: Findings) -> None:
    key = "command" if step.inline_contents is None else "inline_contents"
    text = getattr(step, key) or ""
    found = None if is_remote(text) else only_bash_problem(text)
    if found is not None:
        message, line = found
        findings.warning(action.file, action.key("steps", index, key), message, within=line)


def _check_file(
    action: Located[Action], index: int, step: ActionStep, tree: Tree, findings: Findings
) -> None:
    """Warns of what the shell does not understand in the file that a command begins with."""
    name = _file_named(step)
    if name is None:
        return
    try:
        text = read_below(tree.folder, name, _SCRIPT_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return  # no script: the command may name a folder or a program
    key = action.key("steps", index, "command")
    found = only_bash_problem(text)
    if found is not None:
        findings.warning(action.file, key, f"`{name}`, line {found[1]}: {found[0]}")
    if "\r\n" in text:
        message = (
            f"`{name}` has lines that end in CRLF, and a shell takes the CR as part of each line; "
            "save it with LF"
        )
        findings.warning(action.file, key, message)


def _script_problem(step: ActionStep, tree: Tree) -> str | None:
    """Why a command that begins with a file of the repository cannot run; None if it can."""
    name = _file_named(step)
    if name is None or (tree.folder / name).exists():
        return None
    there = [path.name for path in tree.folder.iterdir()]
    return f"there is no file `{name}` in `{tree.name or '.'}`{did_you_mean(name, there)}"


def _file_named(step: ActionStep) -> str | None:
    """The file of the repository that a command begins with, if it does."""
    words = (step.command or "").split(maxsplit=1)
    if not words or not words[0].startswith("./") or not words[0].isprintable():
        return None
    name = words[0].removeprefix("./")
    return None if any(sign in name for sign in "{}$*?;|&<>()'\"`\\") else name
