"""Specific to the S3 store: lost answers, failing servers, and messages to those who must act."""

import contextlib
import random
import socket
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from store.checking import check_store
from store.documents import change_document, read_document
from store.errors import Conflict, StoreUnavailable
from store.interface import ABSENT, ANY, Store
from store.s3 import S3Store
from store.s3_place import S3Place
from tests.s3_faults import (
    BROKEN,
    BROKEN_ANSWER,
    HALF_ANSWER,
    LOST_ANSWER,
    LOST_REQUEST,
    OVERLOADED,
    Fault,
    Request,
    Way,
    refused,
    way_to,
)
from tests.s3_server import ENVIRONMENT, S3Server


@pytest.fixture
def way(s3_server: S3Server) -> Iterator[Way]:
    with way_to(s3_server.endpoint) as way:
        yield way


@pytest.fixture
def far(s3_place: S3Place, way: Way) -> Iterator[S3Store]:
    """The same store as `s3`, over a connection on which requests fail."""
    with contextlib.closing(S3Store(replace(s3_place, endpoint=way.endpoint))) as store:
        yield store


TRANSIENT = pytest.mark.parametrize(
    "fault", [LOST_REQUEST, LOST_ANSWER, BROKEN, BROKEN_ANSWER, OVERLOADED]
)


@TRANSIENT
def test_a_first_put_whose_answer_is_lost_is_done_once(
    s3: S3Store, far: S3Store, way: Way, fault: Fault
) -> None:
    way.faults = [fault]
    etag = far.put("a", b"mine", if_match=ABSENT)
    found = s3.get("a")
    assert found is not None
    assert (found.data, found.etag) == (b"mine", etag)


@TRANSIENT
def test_a_change_whose_answer_is_lost_is_done_once(
    s3: S3Store, far: S3Store, way: Way, fault: Fault
) -> None:
    s3.put("count", b'{"n": 1}', if_match=ABSENT)
    way.faults = [None, fault]
    change_document(far, "count", lambda now: {"n": (now or {})["n"] + 1})
    found = read_document(s3, "count")
    assert found is not None
    assert found[0] == {"n": 2}


@TRANSIENT
def test_a_delete_whose_answer_is_lost_is_done(
    s3: S3Store, far: S3Store, way: Way, fault: Fault
) -> None:
    etag = s3.put("a", b"1", if_match=ABSENT)
    way.faults = [fault]
    far.delete("a", if_match=etag)
    assert s3.get("a") is None


@TRANSIENT
def test_reading_is_tried_again(s3: S3Store, far: S3Store, way: Way, fault: Fault) -> None:
    s3.put("a", b"1", if_match=ABSENT)
    way.faults = [fault]
    found = far.get("a")
    assert found is not None
    assert found.data == b"1"
    way.faults = [fault]
    assert far.list("") == ["a"]


def test_a_put_that_came_second_is_a_conflict_though_it_says_the_same(
    s3: S3Store, far: S3Store, way: Way
) -> None:
    """If two writers each count to 2, the second one must count to 3 instead."""
    first = s3.put("count", b"1", if_match=ABSENT)

    def overtaken(request: Request) -> Fault:
        way.look = lambda request: None
        s3.put("count", b"2", if_match=first)
        return OVERLOADED

    way.look = overtaken
    with pytest.raises(Conflict):
        far.put("count", b"2", if_match=first)


def test_a_put_that_others_have_built_on_is_a_conflict(s3: S3Store, far: S3Store, way: Way) -> None:
    first = s3.put("count", b"1", if_match=ABSENT)
    way.faults = [LOST_ANSWER]

    def built_on(request: Request) -> None:
        found = s3.get("count")
        assert found is not None
        if found.data == b"2":
            s3.put("count", b"3", if_match=found.etag)

    way.look = built_on
    with pytest.raises(Conflict):
        far.put("count", b"2", if_match=first)


def test_a_delete_whose_answer_is_lost_does_not_take_what_came_after(
    s3: S3Store, far: S3Store, way: Way
) -> None:
    etag = s3.put("lease", b"mine", if_match=ABSENT)
    way.faults = [LOST_ANSWER]

    def taken(request: Request) -> None:
        if s3.get("lease") is None:
            s3.put("lease", b"theirs", if_match=ABSENT)

    way.look = taken
    with pytest.raises(Conflict):
        far.delete("lease", if_match=etag)
    found = s3.get("lease")
    assert found is not None
    assert found.data == b"theirs"


@pytest.mark.chance
def test_no_change_is_lost_on_a_bad_way(s3: S3Store, far: S3Store, way: Way, seed: int) -> None:
    chance = random.Random(seed)
    trouble = [LOST_REQUEST, LOST_ANSWER, BROKEN, BROKEN_ANSWER]
    way.look = lambda request: chance.choice(trouble) if chance.random() < 0.1 else None

    def add(name: int) -> None:
        # Retried like an activity, until the store answers.
        with contextlib.suppress(StoreUnavailable):
            change_document(far, "names", lambda now: {**(now or {}), str(name): True})
            return
        add(name)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(add, range(18)))
    found = read_document(s3, "names")
    assert found is not None
    assert found[0] == {str(name): True for name in range(18)}


def test_an_answer_that_breaks_off_is_asked_for_again(s3: S3Store, far: S3Store, way: Way) -> None:
    data = bytes(range(256)) * 10_000
    s3.put("plan", data, if_match=ABSENT)
    way.faults = [HALF_ANSWER, HALF_ANSWER]
    found = far.get("plan")
    assert found is not None
    assert found.data == data
    way.look = lambda request: HALF_ANSWER
    with pytest.raises(StoreUnavailable, match="does not answer"):
        far.get("plan")


def test_trouble_that_lasts_is_reported_and_ends(s3: S3Store, far: S3Store, way: Way) -> None:
    way.look = lambda request: BROKEN
    with pytest.raises(StoreUnavailable, match=r"'a': InternalError \(500\): .* it may pass"):
        far.put("a", b"1", if_match=ABSENT)
    assert len(way.requests) == 3
    way.look = lambda request: None
    far.put("a", b"1", if_match=ABSENT)


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (
            403,
            "AccessDenied",
            r"allow it s3:GetObject, .* on arn:aws:s3:::bucket-\w+/installs/acme/",
        ),
        (403, "RequestTimeTooSkewed", "clock differs"),
        (403, "ExpiredToken", "does not accept the AWS credentials"),
        (403, "InvalidAccessKeyId", "does not accept the AWS credentials"),
        (403, "SignatureDoesNotMatch", "does not accept the AWS credentials"),
        (404, "NoSuchBucket", "there is no bucket bucket-.*create it, or correct `store`"),
        (501, "NotImplemented", "lacks something that is needed here"),
        (400, "AuthorizationHeaderMalformed", "set `store_region`"),
        (409, "OperationAborted", r"OperationAborted \(409\): a fault"),
    ],
)
def test_what_the_service_refuses_is_reported_with_what_to_do(
    far: S3Store, way: Way, status: int, code: str, said: str
) -> None:
    way.look = lambda request: refused(status, code)
    for ask in (
        lambda: far.put("a", b"1", if_match=ABSENT),
        lambda: far.get("a"),
        lambda: far.list("a"),
        lambda: far.delete("a"),
    ):
        with pytest.raises(StoreUnavailable, match=said) as caught:
            ask()
        words = str(caught.value)
        assert words.startswith(f"the store s3://{far.s3_place().bucket}/installs/acme at http")
        assert code in words
        assert "'a'" in words
        _require_no_secret(caught.value)


def test_a_missing_bucket_is_reported(s3_place: S3Place) -> None:
    missing = S3Store(replace(s3_place, bucket="not-there"))
    with contextlib.closing(missing), pytest.raises(StoreUnavailable, match="no bucket not-there"):
        missing.get("a")


def test_an_address_that_does_not_answer_is_reported(s3_place: S3Place) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}"
        away = S3Store(replace(s3_place, endpoint=endpoint))
        with contextlib.closing(away), pytest.raises(StoreUnavailable) as caught:
            away.get("a")
    assert f"{endpoint} does not answer (Connection refused)" in str(caught.value)
    assert "network, firewall" in str(caught.value)


def test_an_unknown_name_is_reported(s3_place: S3Place) -> None:
    away = S3Store(replace(s3_place, endpoint="http://store.invalid"))
    with contextlib.closing(away), pytest.raises(StoreUnavailable, match="name is not known"):
        away.get("a")


def test_credentials_may_come_later(s3: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(StoreUnavailable, match="no usable AWS credentials"):
        s3.get("a")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, ENVIRONMENT[name])
    assert s3.get("a") is None


def test_settings_that_cannot_be_read_are_reported_without_quoting_them(
    s3: S3Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = tmp_path / "config"
    settings.write_text("[default]\ncredential_process = sh -c 'echo of-a-helper >&2; exit 1'\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(settings))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(StoreUnavailable, match="CredentialRetrievalError") as caught:
        s3.get("a")
    assert "of-a-helper" not in _all_that_is_printed(caught.value)


@pytest.mark.parametrize(
    ("header", "said"),
    [("if-none-match", "If-None-Match"), ("if-match", "writes an object only if it is unchanged")],
)
def test_a_store_that_ignores_conditions_is_not_used(
    s3: S3Store, far: S3Store, way: Way, header: str, said: str
) -> None:
    way.stripped = {header}
    with pytest.raises(StoreUnavailable, match=said):
        check_store(far)
    assert s3.list("") == []


def test_what_may_not_be_deleted_is_not_written_by_the_check(
    s3: S3Store, far: S3Store, way: Way
) -> None:
    def look(request: Request) -> Fault | None:
        return refused(403, "AccessDenied") if request.method == "DELETE" else None

    way.look = look
    with pytest.raises(StoreUnavailable, match="s3:DeleteObject"):
        check_store(far)
    assert s3.list("") == []


def test_each_put_proves_its_bytes(far: S3Store, way: Way) -> None:
    far.put("a", b"1", if_match=ANY)
    (request,) = way.requests
    assert request.headers["content-md5"] == "xMpCOKC5I4INzFCab3WEmw=="
    way.faults = [refused(400, "BadDigest")]
    with pytest.raises(StoreUnavailable, match="BadDigest"):
        far.put("a", b"1", if_match=ANY)


def test_stores_of_one_bucket_do_not_see_each_other(s3: S3Store, s3_place: S3Place) -> None:
    with (
        contextlib.closing(S3Store(replace(s3_place, prefix="installs/acme-2"))) as other,
        contextlib.closing(S3Store(replace(s3_place, prefix=""))) as whole,
    ):
        s3.put("a", b"1", if_match=ABSENT)
        other.put("b", b"2", if_match=ABSENT)
        assert s3.list("") == ["a"]
        assert other.list("") == ["b"]
        assert whole.list("installs/") == ["installs/acme-2/b", "installs/acme/a"]


def test_what_is_no_key_is_not_listed(s3: S3Store, s3_place: S3Place) -> None:
    s3.put("a", b"1", if_match=ABSENT)
    client = s3._client()
    for name in ("installs/acme/", "installs/acme/folder/", "installs/acme/a b"):
        client.put_object(Bucket=s3_place.bucket, Key=name, Body=b"")
    assert s3.list("") == ["a"]


def test_it_is_no_file_of_this_machine(s3: Store, s3_place: S3Place) -> None:
    assert s3.local_path("a") is None
    assert s3.s3_place() == s3_place


def test_without_a_region_a_store_that_speaks_s3_is_used_all_the_same(s3_place: S3Place) -> None:
    with contextlib.closing(S3Store(replace(s3_place, region=""))) as store:
        check_store(store)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("s3://abc", S3Place("abc")),
        ("s3://abc/", S3Place("abc")),
        ("s3://a.b-c/x/y_1/", S3Place("a.b-c", "x/y_1")),
    ],
)
def test_a_place_is_parsed(url: str, place: S3Place) -> None:
    assert S3Place.parse(url) == place


@pytest.mark.parametrize(
    "url", ["", "abc", "s3://", "s3://ab", "s3://Abc", "S3://abc", "s3://abc//x", "s3://abc/../x",
            "s3://abc/a b", "s3://abc?x=1", "s3://user:word@abc", "https://abc/x", "s3://abc\n"],
)  # fmt: skip
def test_what_is_no_place_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"s3://|cannot be used"):
        S3Place.parse(url)


def _require_no_secret(error: BaseException) -> None:
    printed = _all_that_is_printed(error)
    assert ENVIRONMENT["AWS_SECRET_ACCESS_KEY"] not in printed
    assert ENVIRONMENT["AWS_ACCESS_KEY_ID"] not in printed


def _all_that_is_printed(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
