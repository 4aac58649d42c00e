"""The enrolment file: it is written and read back; a wrong one is refused, naming file and key."""

from pathlib import Path

import pytest

from stacks.enrolment import BuildEnrolment, Enrolment, EnrolmentError

RIGHT = Enrolment.of(
    install="acme",
    namespace="dev",
    temporal="127.0.0.1:7233",
    releases="http://127.0.0.1:5081",
)


def test_what_is_rendered_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "acme.toml"
    path.write_text(RIGHT.render())
    assert Enrolment.read(path) == RIGHT


WITH_BUCKET = Enrolment.of(
    install="acme",
    namespace="dev",
    temporal="127.0.0.1:7233",
    releases="http://127.0.0.1:5081",
    store="s3://bucket/installs/acme/",
    store_region="eu-central-1",
    store_endpoint="http://127.0.0.1:9000",
)


def test_a_bucket_is_rendered_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "acme.toml"
    path.write_text(WITH_BUCKET.render())
    assert Enrolment.read(path) == WITH_BUCKET
    assert WITH_BUCKET.store_description(tmp_path) == {
        "kind": "s3",
        "bucket": "bucket",
        "prefix": "installs/acme",
        "region": "eu-central-1",
        "endpoint": "http://127.0.0.1:9000",
    }


def test_without_a_bucket_the_store_is_a_folder_and_the_file_is_as_before(tmp_path: Path) -> None:
    assert RIGHT.store_description(tmp_path) == {"kind": "folder", "root": f"{tmp_path}/store"}
    assert "store" not in RIGHT.render()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("s3://bucket/installs/acme", "bucket/acme", "store: 'bucket/acme' names no bucket"),
        ("s3://bucket/installs/acme", "s3://bucket/../x", "store: what follows the bucket in"),
        (
            "s3://bucket/installs/acme",
            "s3://id:secret@bucket",
            "names no bucket; write s3://BUCKET",
        ),
        ('store = "s3://bucket/installs/acme"\n', "", ": store_region is of no use without store"),
        ("eu-central-1", "eu central", "store_region: 'eu central' is not a region"),
        ("http://127.0.0.1:9000", "127.0.0.1:9", "store_endpoint: '127.0.0.1:9' is not a URL"),
        (
            "http://127.0.0.1:9000",
            "http://id:word@h",
            "store_endpoint: 'http://id:word@h' is not a URL",
        ),
    ],
)
def test_a_wrong_bucket_is_refused_by_key(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "acme.toml"
    assert old in WITH_BUCKET.render()
    path.write_text(WITH_BUCKET.render().replace(old, new))
    with pytest.raises(EnrolmentError) as caught:
        Enrolment.read(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('install = "acme"', 'install = "Acme"', "install: 'Acme' is not a name"),
        ('install = "acme"', "", "install: is missing"),
        ('install = "acme"', "install = 7", "install: "),
        ('install = "acme"', 'install = "acme"\ntoken = "x"', "token: there is no such key"),
        ("127.0.0.1:7233", "127.0.0.1", "temporal: '127.0.0.1' is not an address; write HOST:PORT"),
        ("127.0.0.1:7233", "127.0.0.1:70000", "temporal: '127.0.0.1:70000' is not an address"),
        ("http://127.0.0.1:5081", "127.0.0.1:5081", "releases: '127.0.0.1:5081' is not a URL"),
        ('install = "acme"', "install =", "is not TOML"),
    ],
)
def test_a_wrong_file_is_refused_by_key(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "acme.toml"
    path.write_text(RIGHT.render().replace(old, new))
    with pytest.raises(EnrolmentError) as caught:
        Enrolment.read(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(EnrolmentError, match="exclave install INSTALL"):
        Enrolment.read(tmp_path / "acme.toml")


@pytest.mark.parametrize("value", ['a"b:1', "a\nb:1", "a b:1", "ü:1"])
def test_nothing_that_breaks_the_quoting_gets_in(value: str) -> None:
    with pytest.raises(EnrolmentError, match="temporal: "):
        Enrolment.of(install="acme", namespace="dev", temporal=value, releases="http://a")


def test_a_closing_slash_does_not_double() -> None:
    made = Enrolment.of(
        install="acme", namespace="dev", temporal="h:1", releases="https://registry.test/a/"
    )
    assert made.releases == "https://registry.test/a"


def test_an_authority_is_named_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "acme.toml"
    path.write_text(RIGHT.render() + 'ca_bundle = "/etc/exclave/ca.pem"\n')
    assert Enrolment.read(path).ca_bundle == "/etc/exclave/ca.pem"
    path.write_text(RIGHT.render() + 'ca_bundle = "ca.pem"\n')
    with pytest.raises(EnrolmentError, match="is not an absolute path, such as"):
        Enrolment.read(path)


def test_a_build_worker_needs_an_enrolment_of_its_own_and_a_gateway(tmp_path: Path) -> None:
    path = tmp_path / "enrolment.toml"
    path.write_text(RIGHT.render())
    with pytest.raises(EnrolmentError) as caught:
        BuildEnrolment.read(path)
    assert f"{path}: install: there is no such key" in str(caught.value)
    assert f"{path}: gateway: is missing" in str(caught.value)
    with pytest.raises(EnrolmentError, match="exclave access build-worker"):
        BuildEnrolment.read(tmp_path / "nowhere.toml")
    with pytest.raises(EnrolmentError, match="control_key: this is not a control key"):
        BuildEnrolment.of(namespace="dev", gateway="https://a", gateway_ca=None, control_key="no")
