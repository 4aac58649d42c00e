"""Loads an app config from its folder, and tells everything that is wrong with it at once."""

from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from apps.checks import check_entities
from apps.config import AppConfig, Metadata
from apps.discovery import read_kinds
from apps.entities import Entities, read_entities
from apps.files import FileRefused, Folder
from apps.problems import ConfigErrors, Problem
from apps.tables import Findings

__all__ = ["ConfigErrors", "LoadedApp", "Problem", "load"]


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
    findings = Findings()
    try:
        opened = Folder(folder)
    except FileRefused as refused:
        raise ConfigErrors([Problem(refused.file, "", refused.message)]) from None
    for left_out in opened.refused:
        findings.error(left_out.file, "", left_out.message)
    entities = read_entities(read_kinds(opened, findings), opened, findings)
    check_entities(entities, opened, findings)
    errors, warnings = findings.of("error"), findings.of("warning")
    if errors or entities.metadata is None:
        raise ConfigErrors([*errors, *warnings])
    return LoadedApp(_config(entities.metadata.model, entities), warnings)


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
