"""Debian's registry behind the gateway collects garbage, and releases survive it."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from artifacts.names import digest_of, keeping_tag
from artifacts.packages import push_artifact
from artifacts.registry import Registry
from contracts.builds import SOURCES_REPOSITORY
from tests.gateway.pulls.pull_site import SHOP, PullSite, upstream_backend, worker
from tests.gateway.pulls.test_pushes import BIG, push_release

pytestmark = pytest.mark.process

PROGRAM = shutil.which("docker-registry") or ""


@dataclass(frozen=True)
class DebiansRegistry:
    """The registry's command and data."""

    folder: Path
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def config(self) -> Path:
        config = self.folder / "config.yml"
        config.write_text(f"""
version: 0.1
log: {{accesslog: {{disabled: true}}, level: error}}
storage: {{filesystem: {{rootdirectory: {self.folder}/data}}, delete: {{enabled: true}}}}
http: {{addr: "127.0.0.1:{self.port}"}}
""")
        return config

    @contextmanager
    def serving(self) -> Iterator[None]:
        process = subprocess.Popen(
            [PROGRAM, "serve", str(self.config)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until = time.monotonic() + 60
            while not self._answers():
                assert process.poll() is None and time.monotonic() < until
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            process.wait(20)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.address}/v2/", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def collect(self) -> None:
        """Collect garbage, while nobody pushes."""
        subprocess.run(
            [PROGRAM, "garbage-collect", "--delete-untagged", str(self.config)],
            check=True,
            capture_output=True,
            timeout=60,
        )


@pytest.fixture
def registry(tmp_path: Path, unused_tcp_port: int) -> DebiansRegistry:
    if not PROGRAM:
        pytest.fail(
            "docker-registry is not here, whose garbage collector is tried (Debian: apt-get "
            "install docker-registry)."
        )
    return DebiansRegistry(tmp_path, unused_tcp_port)


def test_a_garbage_collector_leaves_what_was_pushed(registry: DebiansRegistry) -> None:
    with registry.serving():
        site = PullSite(upstream_backend(registry.address))
        with site.serving() as address, worker(address, "build") as builder:
            release = push_release(builder)
            refused = builder._transport  # a builder that tries to set a tag of its own
            with refused.stream(
                "PUT", httpx.URL(f"{address}/v2/{SHOP}/manifests/{keeping_tag(release)}")
            ) as answer:
                assert answer.status_code == 404
        # Pushed without a gateway, as by an upload, or by the build worker in development.
        with Registry(registry.address, keeps=True) as directly:
            kept, _ = push_artifact(directly, SOURCES_REPOSITORY, "test/source", "test/type", b"s")
        with Registry(registry.address) as untagged:
            gone, _ = push_artifact(untagged, SHOP, "test/module", "test/type", b"untagged")
    registry.collect()
    with registry.serving():
        site = PullSite(upstream_backend(registry.address))
        site.installs.pullable = {"acme": [release]}
        with site.serving() as address, worker(address, "acme") as install:
            assert install.get_manifest(SHOP, release)
            assert install.get_blob(SHOP, digest_of(BIG)) == BIG
        with Registry(registry.address) as directly:
            assert directly.get_blob(SOURCES_REPOSITORY, digest_of(b"s")) == b"s"
            assert directly.has_manifest(SOURCES_REPOSITORY, kept.digest)
            assert not directly.has_manifest(SHOP, gone.digest), "it does collect what has no tag"


def test_what_was_pushed_before_there_were_tags_gets_one_when_it_is_built_again(
    registry: DebiansRegistry,
) -> None:
    with registry.serving():
        with Registry(registry.address) as untagged:
            release = push_release(untagged)
            source, _ = push_artifact(
                untagged, SOURCES_REPOSITORY, "test/source", "test/type", b"s"
            )
        site = PullSite(upstream_backend(registry.address))
        with site.serving() as address, worker(address, "build") as builder:
            assert push_release(builder) == release
            assert builder.has_manifest(SHOP, release)
            assert not builder.has_manifest(SHOP, digest_of(b"nothing")), "and only what is there"
        with Registry(registry.address, keeps=True) as directly:
            assert directly.has_manifest(SOURCES_REPOSITORY, source.digest)
    registry.collect()
    with registry.serving():
        site = PullSite(upstream_backend(registry.address))
        site.installs.pullable = {"acme": [release]}
        with site.serving() as address, worker(address, "acme") as install:
            assert install.get_blob(SHOP, digest_of(BIG)) == BIG
        with Registry(registry.address) as directly:
            assert directly.get_blob(SOURCES_REPOSITORY, digest_of(b"s")) == b"s"


def test_the_tag_is_in_nobodys_way() -> None:
    """Tags of cosign and of referrers are `sha256-…`; a tag has at most 128 characters."""
    tag = keeping_tag(digest_of(b"a manifest"))
    assert tag == f"exclave-sha256-{digest_of(b'a manifest').removeprefix('sha256:')}"
    assert not tag.startswith("sha256-")
    assert len(tag) <= 128
