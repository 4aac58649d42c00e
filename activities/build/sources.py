"""Opens an uploaded config folder: fetched by its digest, unpacked, and checked as a whole."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from activities.releases.failures import told
from apps.loader import LoadedApp, load
from apps.problems import ConfigErrors
from apps.release import MODULE_MEDIA_TYPE, SOURCE_ARTIFACT_TYPE
from artifacts.archive import unpack
from artifacts.cache import ArtifactCache
from artifacts.files import make_private_folder
from artifacts.packages import only_layer
from artifacts.registry import Registry
from contracts.builds import SOURCES_REPOSITORY
from contracts.errors import BadConfig


@dataclass(frozen=True)
class OpenSource:
    """A config folder that is there for as long as the block that opened it."""

    folder: Path
    loaded: LoadedApp


class Sources:
    """The uploaded folders, as a build worker sees them."""

    def __init__(self, registry: Registry, data: Path) -> None:
        """Keep fetched archives and unpacked folders below `data`."""
        self._cache = ArtifactCache(registry, data / "cache")
        self._unpacked = data / "sources"

    @contextmanager
    def opened(self, digest: str) -> Iterator[OpenSource]:
        """Unpack the source into a folder of its own, and check all of it.

        Every use begins from the archive, whose digest is proven, and no folder is used twice:
        nothing that lies about on the worker gets into a release.

        Raises:
            NotThere: nobody uploaded it.
            BadInput: it is no source, or its archive is not safe to unpack.
            BadConfig: the config is wrong; the message has one line for each problem.
        """
        make_private_folder(self._unpacked)
        with tempfile.TemporaryDirectory(dir=self._unpacked) as name:
            folder = Path(name) / "source"
            with told(f"source {digest}", _missing(digest)):
                unpack(self._archive(digest), folder)
            yield OpenSource(folder, _load(folder, digest))

    def _archive(self, digest: str) -> Path:
        manifest = self._cache.get_manifest(SOURCES_REPOSITORY, digest)
        layer = only_layer(manifest, SOURCE_ARTIFACT_TYPE, MODULE_MEDIA_TYPE)
        return self._cache.blob_file(SOURCES_REPOSITORY, layer.digest)


def _missing(digest: str) -> str:
    return f"source {digest} is not there; run `exclave upload DIR` first, and use what it prints"


def _load(folder: Path, digest: str) -> LoadedApp:
    try:
        return load(folder)
    except ConfigErrors as error:
        problems = [str(problem) for problem in error.problems]
        count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
        raise BadConfig("\n".join([f"the app config has {count} ({digest}):", *problems])) from None
