"""Reads uploaded config folders: fetches them by digest, checks them whole, packs their parts."""

import tempfile
import threading
from pathlib import Path, PurePosixPath

from activities.build.newest import Newest
from activities.releases.failures import artifact_errors
from apps.deployable import Deployable
from apps.loader import LoadedApp, load
from apps.reading.fetched import Fetched
from apps.reading.problems import ConfigErrors
from apps.release import MODULE_MEDIA_TYPE, SOURCE_ARTIFACT_TYPE
from artifacts.archive import pack_from, unpack
from artifacts.cache import ArtifactCache
from artifacts.packages import only_layer
from artifacts.registry import Registry
from contracts.builds import SOURCES_REPOSITORY
from contracts.errors import BadConfig
from wire.private_files import make_private_folder

_REMEMBERED = 16
"""The number of configs that are remembered; one has some hundred kilobytes at most."""


class Sources:
    """The uploaded config folders.

    Everything is read from the archive, whose digest is verified, so that no stray file of the
    worker gets into a release.
    """

    def __init__(self, registry: Registry, data: Path, deployable: Deployable) -> None:
        """Keep fetched archives, and folders while they are being checked, below `data`."""
        self._cache = ArtifactCache(registry, data / "cache")
        self._unpacked = data / "sources"
        self._deployable = deployable
        self._loaded: Newest[str, LoadedApp] = Newest(_REMEMBERED)
        self._loading = threading.Lock()

    def loaded(self, digest: str) -> LoadedApp:
        """The source's checked config; remembered, so that it is usually checked only once.

        Raises:
            NotThere: nobody has uploaded it.
            BadInput: it is not a source, or its archive is not safe to unpack.
            BadConfig: the config is wrong; the message has one line for each problem.
        """
        # Locked, since activities that pack other parts would check the same config; and a second
        # thread would gain nothing, since parsing modules is bound to the processor.
        with self._loading:
            found = self._loaded.find(digest)
            if found is None:
                found = self._load(digest)
                self._loaded.keep(digest, found)
            return found

    def whole(self, digest: str, fetched: Fetched) -> LoadedApp:
        """The source's config, checked as a whole with what was fetched for it.

        Raises:
            As `loaded`; also BadConfig if the config is to blame that something was not fetched.
        """
        with self._loading:
            return self._load(digest, fetched)

    def pack(self, digest: str, directory: PurePosixPath) -> bytes:
        """One folder of the source, as an archive.

        Raises:
            NotThere: nobody has uploaded the source.
            BadInput: it is not a source, or the folder is empty.
        """
        with artifact_errors(f"source {digest}", _missing(digest)):
            return pack_from(self._archive(digest), directory)

    def _load(self, digest: str, fetched: Fetched | None = None) -> LoadedApp:
        make_private_folder(self._unpacked)
        with tempfile.TemporaryDirectory(dir=self._unpacked) as name:
            folder = Path(name) / "source"
            with artifact_errors(f"source {digest}", _missing(digest)):
                unpack(self._archive(digest), folder, durable=False)
            return _checked(folder, digest, self._deployable, fetched)

    def _archive(self, digest: str) -> Path:
        manifest = self._cache.get_manifest(SOURCES_REPOSITORY, digest)
        layer = only_layer(manifest, SOURCE_ARTIFACT_TYPE, MODULE_MEDIA_TYPE)
        return self._cache.blob_file(SOURCES_REPOSITORY, layer.digest)


def _missing(digest: str) -> str:
    return f"source {digest} is not there; run `exclave upload DIR` first, and use what it prints"


def _checked(
    folder: Path, digest: str, deployable: Deployable, fetched: Fetched | None
) -> LoadedApp:
    try:
        return load(folder, deployable, fetched)
    except ConfigErrors as error:
        problems = [str(problem) for problem in error.problems]
        count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
        raise BadConfig("\n".join([f"the app config has {count} ({digest}):", *problems])) from None
