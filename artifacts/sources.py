"""Uploads an app config's folder, for a build to take it by its digest."""

from pathlib import Path

from apps.release import SOURCE_ARTIFACT_TYPE
from artifacts.archive import pack
from artifacts.packages import push_package
from artifacts.registry import Registry
from contracts.builds import SOURCES_REPOSITORY


def push_source(registry: Registry, folder: Path) -> str:
    """Pack and push the folder, and return the digest that `Build` takes as its source.

    Raises:
        ArchiveRefused: the folder cannot be packed; see `artifacts.archive`.
        ArtifactError: see `artifacts.errors`.
    """
    source, _ = push_package(registry, SOURCES_REPOSITORY, SOURCE_ARTIFACT_TYPE, pack(folder))
    return source.digest
