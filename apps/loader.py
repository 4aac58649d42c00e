"""Loads an app config from its folder, and reports everything that is wrong with it at once."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from apps.checks import check_entities
from apps.checks.module_places import Modules
from apps.checks.unsupported import Stage, missing_in
from apps.config.app import AppConfig
from apps.config.sources import Source
from apps.config.vendor import PlaneConfig
from apps.deployable import Deployable
from apps.reading.assembly import app_config, plane_config
from apps.reading.discovery import read_kinds
from apps.reading.entities import Entities
from apps.reading.fetched import Fetched, Wanted, wanted
from apps.reading.files import MAX_TOML_BYTES, FileRefused, Folder
from apps.reading.findings import MAX_PROBLEMS, Findings, TooManyProblems, in_order
from apps.reading.models import read_entities
from apps.reading.problems import ConfigErrors, Problem
from apps.templates.state_paths import Parsed, ReadsOf

__all__ = ["CheckedApp", "ConfigErrors", "LoadedApp", "Problem", "check", "load"]


@dataclass(frozen=True)
class LoadedApp:
    """A config that can be used."""

    config: AppConfig
    """What goes into a release."""
    warnings: list[Problem]
    """What is odd, and has no effect."""
    notes: list[Problem]
    """What Exclave does not support yet; see `apps.checks.unsupported`."""
    unbuildable: list[Problem]
    """The notes that make a build refuse the config."""
    plane: PlaneConfig
    """What is only for the vendor's control plane."""
    wanted: list[Wanted]
    """What a build has to fetch to complete the config; empty when it was read with `fetched`."""
    roots: Mapping[Source, str]
    """The folder to pack, by the place of each module that reaches outside its own folder."""


@dataclass(frozen=True)
class CheckedApp:
    """The result of checking a folder."""

    app: LoadedApp | None
    """None if it cannot be used."""
    problems: list[Problem]
    """Errors first, then warnings, then notes; each by file and line."""
    files: int
    """How many files the folder has."""
    asked_for: list[Problem] = field(default_factory=list)
    """The harmless ones of the problems: what the format asks for, but no build needs."""


def load(folder: Path, deployable: Deployable, fetched: Fetched | None = None) -> LoadedApp:
    """The app config that lies in `folder`, read and checked, with what was `fetched` for it.

    Args:
        folder: Where it lies.
        deployable: The parts that some engine deploys.
        fetched: What lies elsewhere.

    Raises:
        ConfigErrors: it cannot be used; with every error, and the warnings after them.
    """
    checked = check(folder, deployable, fetched)
    if checked.app is None:
        raise ConfigErrors(
            [
                problem
                for problem in checked.problems
                if problem.severity != "note" and problem not in checked.asked_for
            ]
        )
    return checked.app


def check(folder: Path, deployable: Deployable, fetched: Fetched | None = None) -> CheckedApp:
    """Everything that is wrong with the app config in `folder`, and the config if it can be used.

    It reads only regular files below the folder (and those that were fetched), fetches nothing, and
    comes to an end whatever they hold.
    """
    findings = Findings()
    try:
        opened = Folder(folder)
    except FileRefused as error:
        return CheckedApp(None, [Problem(error.file, "", error.message)], 0)
    entities: Entities | None = None
    refused: set[str] = set()
    missing: list[Wanted] = []
    roots: Mapping[Source, str] = {}
    is_cut = uses_a_cloud = False
    try:
        for left_out in opened.refused:
            findings.error(left_out.file, "", left_out.message)
        entities = read_entities(read_kinds(opened, findings), opened, findings, fetched)
        reads_of = Parsed()
        modules = Modules(opened, fetched)
        check_entities(entities, modules, deployable, reads_of, findings)
        roots, uses_a_cloud = modules.roots, modules.uses_a_cloud
        refused = _note_unsupported(entities, deployable, reads_of, findings)
        missing = [] if fetched is not None or findings.has_errors else wanted(entities, deployable)
        for one in missing:
            findings.note(one.file, one.key, one.note)
    except TooManyProblems:
        is_cut = True
    problems = findings.placed(lambda file: _text(opened, file))
    if is_cut:
        message = f"has more than {MAX_PROBLEMS} problems; fix these, and check again"
        problems.insert(0, Problem(".", "", message))
    asked_for = _asked_for(entities, uses_a_cloud=uses_a_cloud) if entities else []
    can_be_used = not any(problem.severity == "error" for problem in problems)
    config = app_config(entities) if entities and can_be_used else None
    if entities is None or config is None:
        return CheckedApp(None, in_order([*problems, *asked_for]), len(opened.files), asked_for)
    notes = [one for one in problems if one.severity == "note"]
    app = LoadedApp(
        config,
        warnings=[one for one in problems if one.severity == "warning"],
        notes=notes,
        unbuildable=[one for one in notes if one.message in refused],
        plane=plane_config(entities),
        wanted=missing,
        roots=roots,
    )
    return CheckedApp(app, in_order([*problems, *asked_for]), len(opened.files), asked_for)


def _asked_for(entities: Entities, *, uses_a_cloud: bool) -> list[Problem]:
    """What the format asks a config to have, but a deploy does not need.

    A runner says which cloud it is, so it is not asked of an app whose modules need none.
    """
    missing = []
    if entities.lacks_sandbox:
        missing.append(("sandbox.toml", _NO_SANDBOX))
    if entities.lacks_runner and uses_a_cloud:
        missing.append(("runner.toml", _NO_RUNNER))
    return [Problem(file, "", f"is missing: {why}", "warning") for file, why in missing]


_NO_SANDBOX: Final = (
    "the format asks for a sandbox, which prepares the customer's account; without one, components "
    "are deployed into what is there already"
)
_NO_RUNNER: Final = (
    'the format asks for a runner, as in runner_type = "aws"; without one, nothing is checked '
    "against the cloud"
)


def _note_unsupported(
    entities: Entities, deployable: Deployable, reads_of: ReadsOf, findings: Findings
) -> set[str]:
    """Adds a note for each thing that is not supported yet, at its first place.

    Returns:
        The notes that make a build refuse the config.
    """
    places: dict[str, list[tuple[str, str]]] = {}
    stages: dict[str, Stage] = {}
    for located in entities.all():
        for missing in missing_in(located.model, deployable, reads_of):
            places.setdefault(missing.message, []).append(
                (located.file, located.joined(missing.key))
            )
            stages[missing.message] = missing.refused_at
    refused: set[str] = set()
    for message, (first, *more) in places.items():
        note = f"{message} ({_more_places(len(more))})" if more else message
        findings.note(*first, note)
        if stages[message] == "build":
            refused.add(note)
    return refused


def _more_places(count: int) -> str:
    return f"and in {count} more place{'' if count == 1 else 's'}"


def _text(folder: Folder, file: str) -> str | None:
    if not file.endswith(".toml") or file not in folder.files:
        return None
    with suppress(FileRefused):
        return folder.text(file, MAX_TOML_BYTES)
    return None
