"""A layout stores content only under its own digest, per repository; writers may be concurrent."""

import fcntl
import json
import os
import threading
from pathlib import Path
from typing import IO

import pytest

from apps.release import INDEX_MEDIA_TYPE, MANIFEST_MEDIA_TYPE, Descriptor
from artifacts.layout import BlobUnknown, Layout, ManifestUnknown, ReferenceUnknown, Repository
from artifacts.manifests import InvalidManifest, artifact_manifest, canonical_json
from artifacts.names import InvalidDigest, InvalidName, digest_of
from artifacts.uploads import (
    UPLOAD_LIFE_SECONDS,
    TooLarge,
    UploadRefused,
    UploadUnknown,
    WrongDigest,
)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Layout(tmp_path / "root", blob_limit=1000).repository("apps/shop")


def manifest_of(repository: Repository, content: bytes) -> bytes:
    digest = repository.put_blob(content)
    blob = Descriptor("text/plain", digest, len(content))
    return artifact_manifest("test/artifact", blob, [blob])


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_gives_back_a_blob_and_keeps_no_other_digest(repository: Repository) -> None:
    digest = repository.put_blob([b"he", b"llo"], digest_of(b"hello"))
    assert repository.blob(digest).read_bytes() == b"hello"
    assert repository.blob(digest).stat().st_mode & 0o777 == 0o600

    before = files(repository.folder.parent)
    with pytest.raises(WrongDigest, match="announced as"):
        repository.put_blob(b"hellO", digest)
    with pytest.raises(TooLarge):
        repository.put_blob([b"x" * 600, b"x" * 600])
    assert files(repository.folder.parent) == before


def test_a_repository_is_a_layout_that_other_tools_read(repository: Repository) -> None:
    data = manifest_of(repository, b"hello")
    repository.put_manifest(data, MANIFEST_MEDIA_TYPE, "v1")

    assert json.loads((repository.folder / "oci-layout").read_bytes()) == {
        "imageLayoutVersion": "1.0.0"
    }
    index = json.loads((repository.folder / "index.json").read_bytes())
    assert index["manifests"] == [
        {
            "annotations": {"org.opencontainers.image.ref.name": "v1"},
            "digest": digest_of(data),
            "mediaType": MANIFEST_MEDIA_TYPE,
            "size": len(data),
        }
    ]


def test_repositories_share_nothing(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    one, other = layout.repository("apps/shop"), layout.repository("apps/shop/blobs")
    data = manifest_of(one, b"secret")
    one.put_manifest(data, MANIFEST_MEDIA_TYPE, "v1")

    with pytest.raises(BlobUnknown):
        other.blob(digest_of(b"secret"))
    with pytest.raises(ManifestUnknown):
        other.manifest(digest_of(data))
    with pytest.raises(ManifestUnknown):
        other.manifest("v1")


@pytest.mark.parametrize(
    "name",
    ["", "..", "../x", "a/../b", "/a", "a/", "a//b", "A", "a+b", "a\n", ".a", "x" * 256, "a/_b"],
)
def test_refuses_names_outside_of_the_grammar(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidName):
        Layout(tmp_path).repository(name)


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:" + "A" * 64, "sha256:../" + "a" * 61])
def test_refuses_what_is_no_digest(repository: Repository, digest: str) -> None:
    with pytest.raises(InvalidDigest):
        repository.blob(digest)


def test_a_tag_moves_and_the_manifest_that_had_it_stays(repository: Repository) -> None:
    first, second = manifest_of(repository, b"1"), manifest_of(repository, b"2")
    for data in (first, second):
        repository.put_manifest(data, MANIFEST_MEDIA_TYPE, "latest")
    repository.put_manifest(second, MANIFEST_MEDIA_TYPE, "v2")

    assert repository.manifest("latest").data == second
    assert repository.manifest(digest_of(first)).data == first
    assert repository.tags() == ["latest", "v2"]
    index = json.loads((repository.folder / "index.json").read_bytes())
    assert len(index["manifests"]) == 3


def test_a_blob_is_not_a_manifest(repository: Repository) -> None:
    data = manifest_of(repository, b"1")
    repository.put_blob(data)
    with pytest.raises(ManifestUnknown):
        repository.manifest(digest_of(data))


def test_a_manifest_needs_what_it_names(repository: Repository) -> None:
    blob = Descriptor("text/plain", repository.put_blob(b"here"), 4)
    away = Descriptor("text/plain", digest_of(b"away"), 4)
    longer = Descriptor("text/plain", blob.digest, 5)
    with pytest.raises(ReferenceUnknown, match="push it first"):
        repository.put_manifest(artifact_manifest("t", blob, [away]), MANIFEST_MEDIA_TYPE)
    with pytest.raises(ReferenceUnknown, match="push it first"):
        repository.put_manifest(artifact_manifest("t", away, [blob]), MANIFEST_MEDIA_TYPE)
    with pytest.raises(InvalidManifest, match="has 4 bytes, and the manifest says 5"):
        repository.put_manifest(artifact_manifest("t", blob, [longer]), MANIFEST_MEDIA_TYPE)
    # The blob is there, but not as a manifest.
    index = canonical_json({"schemaVersion": 2, "manifests": [blob.to_dict()]})
    with pytest.raises(ReferenceUnknown, match="has no manifest"):
        repository.put_manifest(index, INDEX_MEDIA_TYPE)
    with pytest.raises(ManifestUnknown):
        repository.manifest(digest_of(index))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"[]", "not a JSON object"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"{}", "schemaVersion"),
        (b'{"schemaVersion":2,"layers":[{"digest":"x"}]}', "digest"),
        (b'{"schemaVersion":2,"mediaType":"other/type"}', "was sent as"),
    ],
    ids=["list", "text", "deep", "version", "descriptor", "type"],
)
def test_refuses_what_is_no_manifest(repository: Repository, data: bytes, why: str) -> None:
    with pytest.raises(InvalidManifest, match=why):
        repository.put_manifest(data, MANIFEST_MEDIA_TYPE)


def test_a_manifest_by_digest_must_have_it(repository: Repository) -> None:
    data = manifest_of(repository, b"1")
    with pytest.raises(WrongDigest):
        repository.put_manifest(data, MANIFEST_MEDIA_TYPE, digest_of(b"other"))
    repository.put_manifest(data, MANIFEST_MEDIA_TYPE, digest_of(data))
    assert repository.tags() == []


def test_many_writers_lose_no_manifest(tmp_path: Path) -> None:
    def push(number: int) -> None:
        own = Layout(tmp_path).repository("apps/shop")
        data = manifest_of(own, str(number).encode())
        own.put_manifest(data, MANIFEST_MEDIA_TYPE, f"v{number}")

    threads = [threading.Thread(target=push, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Layout(tmp_path).repository("apps/shop").tags()) == 12


def test_an_upload_goes_on_by_its_id_and_has_one_writer(repository: Repository) -> None:
    upload = repository.start_upload()
    with upload.writing(0) as writer:
        writer.write(b"he")
        with pytest.raises(UploadRefused, match="another request"), upload.writing():
            pytest.fail("two writers")
    again = repository.upload(upload.id)
    assert again.size == 2
    with pytest.raises(UploadRefused, match="has 2 bytes"), again.writing(3):
        pytest.fail("a hole")
    with again.writing(2) as writer:
        writer.write(b"llo")
    assert again.finish() == digest_of(b"hello")
    for use in (upload.finish, upload.writing().__enter__, lambda: repository.upload(upload.id)):
        with pytest.raises(UploadUnknown):
            use()


def test_a_writer_that_comes_too_late_does_not_change_the_blob(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload, flock = repository.start_upload(), fcntl.flock

    def finished_in_between(file: IO[bytes], operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        repository.upload(upload.id).finish()
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", finished_in_between)
    with pytest.raises(UploadUnknown), upload.writing() as writer:
        writer.write(b"late")
    assert repository.blob(digest_of(b"")).read_bytes() == b""


@pytest.mark.parametrize("upload_id", ["..", "../../apps+shop/index.json", "", "0" * 32, "x" * 32])
def test_an_unknown_upload_is_reported(repository: Repository, upload_id: str) -> None:
    with pytest.raises(UploadUnknown):
        repository.upload(upload_id)


def test_uploads_that_were_left_are_given_up(repository: Repository) -> None:
    left, recent = repository.start_upload(), repository.start_upload()
    path = next(p for p in files(repository.folder.parent) if p.name == left.id)
    old = path.stat().st_mtime - UPLOAD_LIFE_SECONDS - 1
    os.utime(path, (old, old))
    repository.start_upload()
    assert repository.upload(recent.id).size == 0
    with pytest.raises(UploadUnknown):
        repository.upload(left.id)
