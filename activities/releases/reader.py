"""How an install worker reads a release: its index, its config, and the files of each part."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from activities.releases.failures import artifact_errors
from activities.releases.reading import not_of_app, read_config, read_index
from activities.releases.unpacked import Unpacked, marker_of, unpacked_at
from activities.removal import remove_each
from apps.config.app import AppConfig
from apps.parts import SANDBOX, part_named, step_name
from apps.release import ReleaseIndex
from artifacts.archive import unpack
from artifacts.cache import ArtifactCache
from artifacts.packages import package
from artifacts.registry import Registry
from contracts.builds import app_repository
from contracts.errors import BadInput, EngineFailed, NotThere
from wire.private_files import make_private_folder, sync_folder, write_whole


class ReleaseReader:
    """Reads releases, verifies their digests, and caches what it has read.

    Its methods block: call them through `asyncio.to_thread`. They raise the contract's errors:
    NotThere (the app has no such release, or the release no such part), Unreachable, PolicyDenied
    (the content does not match its digest), BadInput (it is not a release) and NotUnderstood (it
    needs a newer worker).
    """

    def __init__(
        self, registry: Registry, cache: Path, only_copies: Mapping[str, str] | None = None
    ) -> None:
        """Read from `registry`, and cache what was read below `cache`.

        Args:
            registry: The registry that has the releases.
            cache: A folder.
            only_copies: Names of files that may be the only copy of something, and what each one
                is; a folder with such a file is never replaced.
        """
        self._cache = ArtifactCache(registry, cache)
        self._only_copies = only_copies or {}

    def index(self, app: str, release: str) -> ReleaseIndex:
        """The release's index: the digests of its config and artifacts."""
        with artifact_errors(_named(app, release), not_of_app(app, release)):
            return read_index(self._cache, app, release)

    def config(self, app: str, release: str) -> AppConfig:
        """The frozen app config."""
        index = self.index(app, release)
        what = f"the config of {_named(app, release)}"
        with artifact_errors(what, f"{what} is not in the registry: build the release again"):
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

    def unpack_module(self, app: str, release: str, component: str, destination: Path) -> Unpacked:
        """Unpack the files of a component or the sandbox into `destination`.

        A folder that was unpacked from the same artifact is left as it is, including what a tool
        has added to it; any other is replaced as a whole, so that it never holds half a module.
        Only one caller at a time may use a destination. A marker file, `.<name>.artifact`, is kept
        beside it.

        Raises:
            EngineFailed: the folder to be replaced has a file that is in `only_copies`.
        """
        digest = self.artifact(app, release, component)
        what = f"{part_named(component)} of {_named(app, release)}"
        return self._unpack(app, digest, destination, what)

    def unpack_step(
        self, app: str, release: str, action: str, index: int, destination: Path
    ) -> Unpacked:
        """Unpack the files that an action's step runs in; otherwise as `unpack_module`."""
        name, what = step_name(action, index), f"step {index} of action {action}"
        digest = self.index(app, release).steps.get(name)
        if digest is None:
            raise NotThere(
                f"{_named(app, release)} lacks the repository of {what}, since an older version "
                "built it; build the release again"
            )
        return self._unpack(app, digest, destination, f"{what} of {_named(app, release)}")

    def _unpack(self, app: str, digest: str, destination: Path, what: str) -> Unpacked:
        known = unpacked_at(destination)
        if known is not None and known.artifact == digest:
            return known
        repository = app_repository(app)
        with artifact_errors(what, f"{what} is not in the registry: build the release again"):
            found = package(self._cache.get_manifest(repository, digest))
            archive = self._cache.blob_file(repository, found.layer.digest)
            self._require_nothing_left(destination)
            _replace(destination, marker_of(destination), archive)
        new = Unpacked(digest, destination / found.directory)
        if not new.folder.is_dir():
            raise BadInput(f"{what} cannot be used: it has no folder {found.directory}")
        write_whole(marker_of(destination), f"{digest} {found.directory}".encode())
        return new

    def _require_nothing_left(self, destination: Path) -> None:
        for name, what in self._only_copies.items():
            left = next(destination.rglob(name), None)
            if left is not None:
                raise EngineFailed(
                    f"{left} is {what}. The folder is not replaced while that file is in it; move "
                    "it to where it belongs, or remove it."
                )


def _named(app: str, release: str) -> str:
    return f"release {release} of app {app}"


def _replace(destination: Path, marker: Path, archive: Path) -> None:
    """Replace the destination by the archive's content; meanwhile there is no marker file."""
    parent = destination.parent
    make_private_folder(parent)
    prefix = f".{destination.name}.unpacking-"
    remove_each(parent.glob(f"{prefix}*"))
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
        remove_each([aside])
