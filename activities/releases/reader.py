"""What an install worker reads of a release: index, config, and the files of each part."""

import shutil
import tempfile
from pathlib import Path

from activities.releases.failures import told
from activities.releases.reading import not_of_app, read_config, read_index
from apps.config import AppConfig
from apps.parts import SANDBOX, part_named
from apps.release import MODULE_ARTIFACT_TYPE, MODULE_MEDIA_TYPE, ReleaseIndex
from artifacts.archive import unpack
from artifacts.cache import ArtifactCache
from artifacts.files import make_private_folder, sync_folder, write_atomically
from artifacts.packages import only_layer
from artifacts.registry import Registry
from contracts.builds import app_repository
from contracts.errors import EngineFailed, NotThere

ERRORED_STATE = "errored.tfstate"
"""Where Terraform leaves a state that it could not write: the only copy of it."""


class ReleaseReader:
    """Reads releases, proven by their digests, and keeps what it read.

    Its methods block: call them by `asyncio.to_thread`. Their errors are the contract's: NotThere
    (the app has no such release, or the release no such part), Unreachable, PolicyDenied (the
    content does not have its digest), BadInput (it is no release) and NotUnderstood (it needs a
    newer worker).
    """

    def __init__(self, registry: Registry, cache: Path) -> None:
        """Read from `registry`, and keep what was read below `cache`."""
        self._cache = ArtifactCache(registry, cache)

    def index(self, app: str, release: str) -> ReleaseIndex:
        """What the release is made of."""
        with told(_named(app, release), not_of_app(app, release)):
            return read_index(self._cache, app, release)

    def config(self, app: str, release: str) -> AppConfig:
        """The frozen app config."""
        index = self.index(app, release)
        what = f"the config of {_named(app, release)}"
        with told(what, f"{what} is not in the registry: build the release again"):
            return read_config(self._cache, app, index.config)

    def artifact(self, app: str, release: str, component: str) -> str:
        """The digest of the artifact of a component, or of the sandbox.

        It is equal for equal content, in whichever release.
        """
        index = self.index(app, release)
        if component == SANDBOX:
            if index.sandbox is None:
                raise NotThere(f"{_named(app, release)} has no sandbox")
            return index.sandbox
        if component not in index.components:
            raise NotThere(
                f"{_named(app, release)} has no component {component!r}; "
                f"it has: {', '.join(sorted(index.components)) or 'none'}"
            )
        return index.components[component]

    def unpack_module(self, app: str, release: str, component: str, destination: Path) -> str:
        """Make `destination` the module of a component or of the sandbox; return its digest.

        A folder that was made from the same artifact stays as it is, with what a tool has added to
        it; any other is replaced as a whole. At no time is it half of a module. Only one caller at
        a time may use a destination, and beside it lies a marker file, `.<name>.artifact`.

        Raises:
            EngineFailed: the folder to be replaced holds a state that is nowhere else.
        """
        digest = self.artifact(app, release, component)
        marker = destination.with_name(f".{destination.name}.artifact")
        if destination.is_dir() and marker.is_file() and marker.read_text() == digest:
            return digest
        what = f"{part_named(component)} of {_named(app, release)}"
        with told(what, f"{what} is not in the registry: build the release again"):
            archive = self._archive(app, digest)
            _require_nothing_left(destination)
            _replace(destination, marker, archive)
        write_atomically(marker, digest.encode())
        return digest

    def _archive(self, app: str, digest: str) -> Path:
        repository = app_repository(app)
        manifest = self._cache.get_manifest(repository, digest)
        layer = only_layer(manifest, MODULE_ARTIFACT_TYPE, MODULE_MEDIA_TYPE)
        return self._cache.blob_file(repository, layer.digest)


def _named(app: str, release: str) -> str:
    return f"release {release} of app {app}"


def _require_nothing_left(destination: Path) -> None:
    left = destination / ERRORED_STATE
    if left.exists():
        raise EngineFailed(
            f"{left} is a state that Terraform could not write to its place. The folder is not "
            "replaced while it holds that; put the state in its place, or remove the file."
        )


def _replace(destination: Path, marker: Path, archive: Path) -> None:
    """Put the archive's content where the destination is; without a marker until that is done."""
    parent = destination.parent
    make_private_folder(parent)
    prefix = f".{destination.name}.unpacking-"
    for left_behind in parent.glob(f"{prefix}*"):
        shutil.rmtree(left_behind)
    aside = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        unpack(archive, aside / "new")
        marker.unlink(missing_ok=True)
        sync_folder(parent)
        if destination.exists():
            destination.rename(aside / "old")
        (aside / "new").rename(destination)
        sync_folder(parent)
    finally:
        shutil.rmtree(aside)
