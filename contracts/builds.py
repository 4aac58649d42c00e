"""Build: from an uploaded config folder to one release."""

from datetime import timedelta

from pydantic import Field

from contracts.activities import Activity
from contracts.messages import Command, Message
from contracts.names import ComponentName, Digest, Name, PartName

SOURCES_REPOSITORY = "sources"
"""The repository for config folders that `exclave upload` sends; no app clashes with it, since
apps have repositories under `apps/`."""


def app_repository(app: str) -> str:
    """The OCI repository that holds every manifest of the app's releases."""
    return f"apps/{app}"


class BuildInput(Command):
    """The input of the workflow `Build`."""

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
    """A source of a release that lies outside the config's own folder."""

    url: str
    """URL of a git repository, or of a file on the web; without credentials and query."""
    ref: str = ""
    """The branch, tag or commit that the config names; empty for a file on the web."""
    commit: str = ""
    """The commit that `ref` meant when the release was built."""
    directory: str = ""
    """The folder or file within the repository; empty for all of it."""
    digest: str = ""
    """The digest of the content, if it is a single file."""
    used_by: list[str] = Field(default_factory=list)
    """The files of the config that name it."""


class CheckSource(Message):
    """The input of `build.check`."""

    app: Name
    source: Digest


class CheckedSource(Message):
    """The config is valid and frozen; its manifest is in the app's repository."""

    config: Blob
    components: list[ComponentName]
    sandbox: bool = False
    """Whether there is a sandbox to pack, too."""
    warnings: list[str] = Field(default_factory=list)
    packed: dict[PartName, Blob] = Field(default_factory=dict)
    """Parts whose artifacts exist already: they were packed from this very source before, or their
    modules come from elsewhere and were fetched, checked and packed together."""
    fetched: list[FetchedSource] = Field(default_factory=list)
    """The sources outside the config's folder, as they were fetched."""
    steps: dict[str, Blob] = Field(default_factory=dict)
    """The packed folders that steps of actions run in, by action and index, such as `scan/0`."""


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
    """Whether it was there already."""


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
    """The result of the workflow `Build`."""

    app: Name
    release: Digest
    components: dict[ComponentName, Digest]
    sandbox: Digest | None = None
    reused: bool
    """Whether the very same release existed, so that nothing was built."""
    warnings: list[str] = Field(default_factory=list)
    fetched: list[FetchedSource] = Field(default_factory=list)
    """Its sources outside the config's own folder."""


CHECK = Activity("build.check", CheckSource, CheckedSource, timedelta(hours=2))
"""Includes fetching, from repositories of any size over networks of any speed."""
PACK = Activity("build.pack", PackComponent, PackedComponent, timedelta(hours=1))
ASSEMBLE = Activity("build.assemble", AssembleRelease, AssembledRelease, timedelta(minutes=10))
