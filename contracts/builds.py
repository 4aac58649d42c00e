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
    """Parts that were packed from this very source before, and whose artifacts are there still."""


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


CHECK = Activity("build.check", CheckSource, CheckedSource, timedelta(minutes=10))
PACK = Activity("build.pack", PackComponent, PackedComponent, timedelta(hours=1))
ASSEMBLE = Activity("build.assemble", AssembleRelease, AssembledRelease, timedelta(minutes=10))
