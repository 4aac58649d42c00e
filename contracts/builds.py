"""Build: from an uploaded config folder to one release."""

from datetime import timedelta

from pydantic import Field

from contracts.activities import Activity
from contracts.messages import Command, Message
from contracts.names import ComponentName, Digest, Name, PartName

SOURCES_REPOSITORY = "sources"
"""Where `exclave upload` puts config folders; apps lie under `apps/`, so none has that path."""


def app_repository(app: str) -> str:
    """The OCI repository that holds every manifest of the app's releases."""
    return f"apps/{app}"


class BuildInput(Command):
    """What `Build` is started with."""

    app: Name
    source: Digest
    """The digest that `exclave upload` printed."""


class Blob(Message):
    """An OCI descriptor of a manifest in the app's repository."""

    media_type: str
    artifact_type: str
    digest: Digest
    size: int


class FetchedSource(Message):
    """What a release was made of that does not lie in the config's own folder."""

    url: str
    """Of a git repository, or of a file on the web; without credentials and query."""
    ref: str = ""
    """The branch, tag or commit that the config names; empty on the web."""
    commit: str = ""
    """What that was when the release was built."""
    directory: str = ""
    """The folder or file of the repository; empty for all of it."""
    digest: str = ""
    """Of a single file: what its content has."""
    used_by: list[str] = Field(default_factory=list)
    """The files of the config that name it."""


class CheckSource(Message):
    """The input of `build.check`."""

    app: Name
    source: Digest


class CheckedSource(Message):
    """The config is right and frozen; its manifest is in the app's repository."""

    config: Blob
    components: list[ComponentName]
    sandbox: bool = False
    """There is a sandbox to be packed, too."""
    warnings: list[str] = Field(default_factory=list)
    packed: dict[PartName, Blob] = Field(default_factory=dict)
    """Parts whose artifacts are there: they were packed from this very source before, or their
    modules lie elsewhere, and were fetched, checked and packed with the rest."""
    fetched: list[FetchedSource] = Field(default_factory=list)
    """What the config names elsewhere, as it was fetched."""
    steps: dict[str, Blob] = Field(default_factory=dict)
    """What steps of actions run in, by action and index, as in `scan/0`: it is packed."""


class PackComponent(Message):
    """The input of `build.pack`."""

    app: Name
    source: Digest
    component: PartName


class PackedComponent(Message):
    """The component's artifact is in the app's repository."""

    component: PartName
    artifact: Blob
    reused: bool
    """It was there already."""


class AssembleRelease(Message):
    """The input of `build.assemble`."""

    app: Name
    config: Blob
    components: dict[ComponentName, Blob]
    sandbox: Blob | None = None
    steps: dict[str, Blob] = Field(default_factory=dict)


class AssembledRelease(Message):
    """The release's index is in the app's repository."""

    release: Digest
    reused: bool


class BuildResult(Message):
    """What `Build` gives back."""

    app: Name
    release: Digest
    components: dict[ComponentName, Digest]
    sandbox: Digest | None = None
    reused: bool
    """The very same release existed: nothing was built."""
    warnings: list[str] = Field(default_factory=list)
    fetched: list[FetchedSource] = Field(default_factory=list)
    """What it was made of that does not lie in the config's own folder."""


CHECK = Activity("build.check", CheckSource, CheckedSource, timedelta(hours=2))
"""It fetches, too: from repositories of any size, over networks of any speed."""
PACK = Activity("build.pack", PackComponent, PackedComponent, timedelta(hours=1))
ASSEMBLE = Activity("build.assemble", AssembleRelease, AssembledRelease, timedelta(minutes=10))
