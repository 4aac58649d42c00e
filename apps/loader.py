"""Loads an app config from its folder, and tells everything that is wrong with it at once."""

from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from apps.checks import check_entities
from apps.config import AppConfig, Metadata
from apps.discovery import read_kinds
from apps.entities import Entities, read_entities
from apps.files import MAX_TOML_BYTES, FileRefused, Folder
from apps.findings import Findings
from apps.problems import ConfigErrors, Problem

__all__ = ["CheckedApp", "ConfigErrors", "LoadedApp", "Problem", "check", "load"]


@dataclass(frozen=True)
class CheckedApp:
    """What there is to say of a folder."""

    config: AppConfig | None
    """None if it cannot be used."""
    problems: list[Problem]
    """Errors first, then warnings, then notes; each by file and line."""
    files: int
    """How many files the folder has."""


@dataclass(frozen=True)
class LoadedApp:
    """A config that can be used."""

    config: AppConfig
    warnings: list[Problem]
    """What is odd, and has no effect."""


def load(folder: Path) -> LoadedApp:
    """The app config that lies in `folder`, read and checked.

    Raises:
        ConfigErrors: it cannot be used; with every error, and the warnings after them.
    """
    checked = check(folder)
    if checked.config is None:
        raise ConfigErrors(checked.problems)
    return LoadedApp(checked.config, checked.problems)


def check(folder: Path) -> CheckedApp:
    """Everything that is wrong with the app config in `folder`, and the config if it can be used.

    It reads regular files below the folder alone, and ends whatever they hold.
    """
    findings = Findings()
    try:
        opened = Folder(folder)
    except FileRefused as refused:
        return CheckedApp(None, [Problem(refused.file, "", refused.message)], 0)
    for left_out in opened.refused:
        findings.error(left_out.file, "", left_out.message)
    entities = read_entities(read_kinds(opened, findings), opened, findings)
    check_entities(entities, opened, findings)
    problems = findings.placed(lambda file: _text(opened, file))
    can_be_used = not any(problem.severity == "error" for problem in problems)
    metadata = entities.metadata.model if entities.metadata and can_be_used else None
    config = _config(metadata, entities) if metadata else None
    return CheckedApp(config, problems, len(opened.files))


def _text(folder: Folder, file: str) -> str | None:
    if not file.endswith(".toml") or file not in folder.files:
        return None
    with suppress(FileRefused):
        return folder.text(file, MAX_TOML_BYTES)
    return None


def _config(metadata: Metadata, entities: Entities) -> AppConfig:
    by_name = attrgetter("name")
    return AppConfig(
        metadata=metadata,
        sandbox=entities.sandbox.model if entities.sandbox else None,
        inputs=sorted((item.model for item in entities.inputs), key=by_name),
        groups=sorted((item.model for item in entities.groups), key=by_name),
        components=sorted((item.model for item in entities.components), key=by_name),
        actions=sorted((item.model for item in entities.actions), key=by_name),
    )
