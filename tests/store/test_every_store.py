"""What every store must do: put-if-match and keys, also with many writing threads and processes."""

import json
import secrets
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from store.checking import check_store
from store.documents import change_document, read_document
from store.errors import BadKey, Conflict
from store.interface import ABSENT, ANY, Store

ROOT = Path(__file__).resolve().parents[2]

ADDER = """
import json, sys
from store.documents import change_document
from store.opening import open_store
store = open_store(json.loads(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    change_document(store, "count.json", lambda now: {"count": now["count"] + 1})
"""

WRITER = """
import json, sys
from store.errors import Conflict
from store.interface import ABSENT
from store.opening import open_store
store = open_store(json.loads(sys.argv[1]))
for number in range(int(sys.argv[2])):
    try:
        store.put(f"first/{number}", sys.argv[3].encode(), if_match=ABSENT)
        print(number)
    except Conflict:
        pass
"""


def test_an_object_is_put_and_read_back(store: Store) -> None:
    etag = store.put("a/b.json", b"one", if_match=ABSENT)
    found = store.get("a/b.json")
    assert found is not None
    assert (found.data, found.etag) == (b"one", etag)
    assert store.get("a/c.json") is None
    assert store.get("a/b.json/c") is None
    assert store.get("a") is None


def test_a_put_needs_the_etag_that_is_there(store: Store) -> None:
    with pytest.raises(Conflict):
        store.put("a", b"1", if_match='"of nothing"')
    first = store.put("a", b"1", if_match=ABSENT)
    with pytest.raises(Conflict):
        store.put("a", b"2", if_match=ABSENT)
    second = store.put("a", b"2", if_match=first)
    assert second != first
    with pytest.raises(Conflict) as refused:
        store.put("a", b"3", if_match=first)
    assert refused.value.key == "a"
    store.put("a", b"4", if_match=ANY)
    found = store.get("a")
    assert found is not None
    assert found.data == b"4"


def test_a_delete_needs_the_etag_that_is_there(store: Store) -> None:
    etag = store.put("a", b"1", if_match=ABSENT)
    with pytest.raises(Conflict):
        store.delete("a", if_match='"another"')
    assert store.get("a") is not None
    store.delete("a", if_match=etag)
    assert store.get("a") is None
    assert store.list("") == []


def test_what_is_gone_is_deleted_whatever_it_was(store: Store) -> None:
    store.delete("a")
    store.delete("a", if_match='"gone"')
    store.delete("a/b/c")


def test_what_was_deleted_is_put_anew(store: Store) -> None:
    etag = store.put("a", b"1", if_match=ABSENT)
    store.delete("a")
    with pytest.raises(Conflict):
        store.put("a", b"2", if_match=etag)
    store.put("a", b"2", if_match=ABSENT)


def test_list_gives_keys_by_prefix(store: Store) -> None:
    for key in ("a/2", "a/1/x", "ab", "b"):
        store.put(key, b"", if_match=ABSENT)
    assert store.list("") == ["a/1/x", "a/2", "ab", "b"]
    assert store.list("a") == ["a/1/x", "a/2", "ab"]
    assert store.list("a/") == ["a/1/x", "a/2"]
    assert store.list("none/") == []


def test_list_gives_more_than_one_page(store: Store) -> None:
    keys = [f"many/{number:03}" for number in range(23)]
    for key in keys:
        store.put(key, b"", if_match=ABSENT)
    assert store.list("many/") == keys


@pytest.mark.parametrize("key", ["", "/a", "a/", "a//b", "../a", "a/../b", ".lock", "a b", "a\n"])
def test_a_key_of_another_form_is_refused(store: Store, key: str) -> None:
    with pytest.raises(BadKey):
        store.put(key, b"", if_match=ANY)
    with pytest.raises(BadKey):
        store.get(key)
    with pytest.raises(BadKey):
        store.delete(key)
    with pytest.raises(BadKey):
        store.local_path(key)


@pytest.mark.parametrize("data", [b"", b"\0\xff\r\n", "ä".encode()])
def test_bytes_come_back_as_they_were(store: Store, data: bytes) -> None:
    store.put("a", data, if_match=ABSENT)
    found = store.get("a")
    assert found is not None
    assert found.data == data


def test_a_large_object_comes_back_whole(store: Store) -> None:
    data = secrets.token_bytes(30_000_000)
    etag = store.put("plans/large", data, if_match=ABSENT)
    found = store.get("plans/large")
    assert found is not None
    assert found.etag == etag
    assert found.data == data


def test_of_several_threads_one_is_first(store: Store) -> None:
    def put(args: tuple[str, Any, int]) -> bool:
        key, condition, number = args
        try:
            store.put(key, b"of %d" % number, if_match=condition)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        for number in range(10):
            etag = store.put("k", b"of before %d" % number, if_match=ANY)
            assert sum(pool.map(put, [("k", etag, one) for one in range(8)])) == 1
            absent: list[tuple[str, Any, int]] = [(f"n{number}", ABSENT, one) for one in range(8)]
            assert sum(pool.map(put, absent)) == 1


def test_of_several_processes_one_is_first(described: Any) -> None:
    said = _run_at_once(WRITER, described.description, "20")
    won = [line for out in said for line in out.split()]
    assert sorted(won, key=int) == [str(number) for number in range(20)]


def test_no_change_of_several_processes_is_lost(described: Any) -> None:
    described.store.put("count.json", b'{"count": 0}', if_match=ABSENT)
    _run_at_once(ADDER, described.description, "15")
    found = read_document(described.store, "count.json")
    assert found is not None
    assert found[0] == {"count": 60}


def test_no_change_of_many_threads_is_lost(store: Store) -> None:
    def add(_: int) -> None:
        change_document(store, "n.json", lambda now: {"n": (now or {"n": 0})["n"] + 1})

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(add, range(48)))
    found = read_document(store, "n.json")
    assert found is not None
    assert found[0] == {"n": 48}


def test_a_store_that_works_passes_its_check_and_keeps_nothing_of_it(store: Store) -> None:
    store.put("a", b"1", if_match=ABSENT)
    check_store(store)
    assert store.list("") == ["a"]


def _run_at_once(script: str, description: dict[str, str], number: str) -> list[str]:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, json.dumps(description), number, name],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "abcd"
    ]
    said = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    return said
