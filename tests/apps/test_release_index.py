import json
from dataclasses import replace

import pytest

from apps.release import (
    CONFIG_ARTIFACT_TYPE,
    MANIFEST_MEDIA_TYPE,
    MODULE_ARTIFACT_TYPE,
    RELEASE_ARTIFACT_TYPE,
    Descriptor,
    ReleaseError,
    ReleaseIndex,
)

CONFIG, ONE, TWO = (f"sha256:{digit * 64}" for digit in "012")
DESCRIPTORS = [
    Descriptor(MANIFEST_MEDIA_TYPE, CONFIG, 10, CONFIG_ARTIFACT_TYPE),
    Descriptor(MANIFEST_MEDIA_TYPE, ONE, 11, MODULE_ARTIFACT_TYPE, {"a": "b"}),
    Descriptor(MANIFEST_MEDIA_TYPE, TWO, 12, MODULE_ARTIFACT_TYPE),
]
RELEASE = ReleaseIndex("shop", CONFIG, {"db": TWO, "api": ONE, "cache": ONE})


def test_the_index_can_be_read_again() -> None:
    index = json.loads(json.dumps(RELEASE.to_index(DESCRIPTORS)))
    assert ReleaseIndex.from_index(index) == RELEASE


def test_the_index_is_deterministic_and_an_oci_index() -> None:
    index = RELEASE.to_index(DESCRIPTORS)
    other = ReleaseIndex("shop", CONFIG, {"cache": ONE, "api": ONE, "db": TWO})
    assert json.dumps(index) == json.dumps(other.to_index(reversed(DESCRIPTORS)))
    assert index["schemaVersion"] == 2
    assert index["artifactType"] == RELEASE_ARTIFACT_TYPE
    assert index["annotations"] == {"org.exclave.app": "shop"}
    manifests = index["manifests"]
    assert isinstance(manifests, list)
    assert [m.get("annotations") for m in manifests] == [
        None,
        {"a": "b", "org.exclave.component": "api"},
        {"a": "b", "org.exclave.component": "cache"},
        {"org.exclave.component": "db"},
    ]


def test_a_sandbox_is_a_manifest_that_names_no_component() -> None:
    release = replace(RELEASE, sandbox=TWO)
    index = json.loads(json.dumps(release.to_index(DESCRIPTORS)))
    assert ReleaseIndex.from_index(index) == release
    assert [m.get("annotations") for m in index["manifests"][:2]] == [
        None,
        {"org.exclave.sandbox": "true"},
    ]
    # A reader of before knows the config by its type, components by their annotation, no more.
    assert index["manifests"][1]["artifactType"] == MODULE_ARTIFACT_TYPE
    del index["manifests"][1]
    assert index == RELEASE.to_index(DESCRIPTORS)


def test_a_release_has_one_sandbox_at_most() -> None:
    index = replace(RELEASE, sandbox=TWO).to_index(DESCRIPTORS)
    manifests = index["manifests"]
    assert isinstance(manifests, list)
    index["manifests"] = [*manifests, manifests[1]]
    with pytest.raises(ReleaseError, match="at most one sandbox, this one has 2"):
        ReleaseIndex.from_index(index)


def test_unknown_manifests_are_ignored() -> None:
    extra = Descriptor(MANIFEST_MEDIA_TYPE, f"sha256:{'9' * 64}", 1, "application/vnd.new")
    index = RELEASE.to_index(DESCRIPTORS)
    index["manifests"] = [*index["manifests"], extra.to_dict()]  # type: ignore[misc]
    assert ReleaseIndex.from_index(index) == RELEASE


def test_a_digest_without_descriptor() -> None:
    with pytest.raises(ReleaseError, match="component `db`"):
        RELEASE.to_index(DESCRIPTORS[:2])
    with pytest.raises(ReleaseError, match="the sandbox"):
        replace(RELEASE, components={}, sandbox=TWO).to_index(DESCRIPTORS[:2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"artifactType": "x"}, "this is not a release: its artifactType is 'x'"),
        ({"annotations": {}}, "names no app"),
        ({"annotations": 5}, "not a map of strings"),
        ({"manifests": None}, "no list of manifests"),
        ({"manifests": []}, "exactly one config, this one has 0"),
        ({"manifests": [5]}, "not an object"),
        ({"manifests": [{"digest": "sha256:x"}]}, "digest is 'sha256:x'"),
        ({"manifests": [{"digest": ONE, "size": -1}]}, "not a number of bytes"),
        ({"manifests": [{"digest": ONE, "size": 1}]}, "no mediaType"),
    ],
)
def test_what_is_no_release_is_told(change: dict[str, object], message: str) -> None:
    with pytest.raises(ReleaseError) as caught:
        ReleaseIndex.from_index({**RELEASE.to_index(DESCRIPTORS), **change})
    assert message in str(caught.value)


def test_an_index_that_is_no_object_or_has_a_component_twice() -> None:
    with pytest.raises(ReleaseError):
        ReleaseIndex.from_index([])
    index = RELEASE.to_index(DESCRIPTORS)
    index["manifests"] = [*index["manifests"], index["manifests"][1]]  # type: ignore[misc,index]
    with pytest.raises(ReleaseError, match="component `api` twice"):
        ReleaseIndex.from_index(index)
