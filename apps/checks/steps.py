"""Checks the repositories that steps of actions run in, and that they have the commands' files."""

from apps.checks.module_places import Modules, source_key
from apps.config.actions import Action, ActionStep
from apps.reading.entities import Entities
from apps.reading.fetched import NotFetched, Tree
from apps.reading.findings import Findings
from apps.spelling import did_you_mean


def check_steps(entities: Entities, modules: Modules, findings: Findings) -> None:
    """Adds a problem for each repository that could not be fetched, and each script it lacks."""
    for action in entities.of(Action):
        for index, step in enumerate(action.model.steps):
            source = step.public_repo or step.connected_repo
            found = modules.find(source) if source is not None else None
            if isinstance(found, NotFetched):
                key = action.key("steps", index, source_key(step), found.key)
                findings.error(action.file, key, found.message)
            elif found is not None:
                problem = _script_problem(step, found)
                if problem:
                    findings.error(action.file, action.key("steps", index, "command"), problem)


def _script_problem(step: ActionStep, tree: Tree) -> str | None:
    """Why a command that begins with a file of the repository cannot run; None if it can."""
    words = (step.command or "").split(maxsplit=1)
    if not words or not words[0].startswith("./") or not words[0].isprintable():
        return None
    name = words[0].removeprefix("./")
    if any(sign in name for sign in "{}$*?;|&<>()'\"`\\") or (tree.folder / name).exists():
        return None
    there = [path.name for path in tree.folder.iterdir()]
    return f"there is no file `{name}` in `{tree.name or '.'}`{did_you_mean(name, there)}"
