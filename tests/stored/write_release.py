"""Builds a release with today's code into a registry, and unpacks it as an install worker does."""

import asyncio
import json
import tempfile
from pathlib import Path

from activities.releases.reader import ReleaseReader
from apps.parts import SANDBOX
from apps.release import INDEX_MEDIA_TYPE
from artifacts.layout import Layout
from tests.activities.build.shop_source import SANDBOX_FILES, build, registry_of, write_shop
from tests.stored.fixed import APP, INSTALL


def write_release(root: Path) -> None:
    """Write `registry` below the folder, and the sandbox's marker."""
    with (
        tempfile.TemporaryDirectory() as aside,
        registry_of(Layout(root / "registry")) as registry,
    ):
        source = write_shop(Path(aside, "app"), SANDBOX_FILES)
        _, built = asyncio.run(build(registry, source, Path(aside, "build"), APP))
        reader = ReleaseReader(registry, root / "worker/releases")
        reader.config(APP, built.release)
        destination = root / "worker/work" / INSTALL / SANDBOX
        reader.unpack_module(APP, built.release, SANDBOX, destination)


def release_in(registry: Path) -> str:
    """The digest of the release that was built there."""
    index = json.loads((registry / "apps+shop/index.json").read_bytes())
    [release] = [
        one["digest"] for one in index["manifests"] if one["mediaType"] == INDEX_MEDIA_TYPE
    ]
    return str(release)
