"""The chain: any change in it is found, and reported with the number of the line."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.customer.audit_chain import (
    HEAD_MESSAGE,
    START,
    Head,
    Line,
    make_line,
    parse_line,
    verify,
    without_heads,
)

TEXT = st.text('ab"\\\\\u00e9\u2028\U0001f600 \n', max_size=8)

FACTS = st.dictionaries(
    TEXT.map(lambda name: f"x{name}"),
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | TEXT,
    max_size=3,
)


def chain(facts: list[dict[str, object]]) -> list[bytes]:
    lines: list[Line] = []
    for one in facts:
        lines.append(make_line(lines[-1].head if lines else START, "2030-01-01", "told", one))
    return [line.render() for line in lines]


def head(raw: bytes) -> Head:
    return parse_line(raw).head


SIX = chain([{"n": n} for n in range(6)])


@given(st.lists(FACTS, min_size=1, max_size=6))
def test_a_whole_chain_has_no_problem(facts: list[dict[str, object]]) -> None:
    raws = chain(facts)
    found = verify(raws, [head(raw) for raw in raws])
    assert (found.problems, found.count) == ([], len(facts))
    assert found.last is not None and found.last.head == head(raws[-1])


@given(st.lists(FACTS, min_size=1, max_size=4), st.data())
def test_any_changed_byte_is_found(facts: list[dict[str, object]], data: st.DataObject) -> None:
    raws = chain(facts)
    at = data.draw(st.integers(0, len(raws) - 1))
    place = data.draw(st.integers(0, len(raws[at]) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda one: one != raws[at][place]))
    changed = bytearray(raws[at])
    changed[place] = byte
    found = verify([*raws[:at], bytes(changed), *raws[at + 1 :]])
    assert found.problems, changed
    assert str(at + 1) in " ".join(found.problems)


@given(st.lists(FACTS, min_size=1, max_size=4), st.data())
def test_any_added_or_dropped_byte_is_found(
    facts: list[dict[str, object]], data: st.DataObject
) -> None:
    raws = chain(facts)
    at = data.draw(st.integers(0, len(raws) - 1))
    place = data.draw(st.integers(0, len(raws[at]) - 1))
    raw = raws[at]
    added = bytes([data.draw(st.integers(0, 255))])
    for changed in (raw[:place] + raw[place + 1 :], raw[:place] + added + raw[place:]):
        assert verify([*raws[:at], changed, *raws[at + 1 :]]).problems


@given(st.permutations(range(6)).filter(lambda order: order != sorted(order)))
def test_any_other_order_is_found(order: list[int]) -> None:
    assert verify([SIX[n] for n in order]).problems


@given(st.sets(st.integers(0, 5), min_size=1))
def test_whatever_is_removed_is_found_by_a_kept_head(gone: set[int]) -> None:
    left = [raw for n, raw in enumerate(SIX) if n not in gone]
    found = verify(left, [head(SIX[-1])])
    assert found.problems
    for n in gone:
        assert f"{n + 1}" in " ".join(found.problems) or n - 1 in gone


@given(st.integers(0, 5), FACTS)
def test_a_line_that_was_made_anew_does_not_fit(at: int, facts: dict[str, object]) -> None:
    """A forger can compute a changed line's hash, but the next line or a kept head shows it."""
    before = head(SIX[at - 1]) if at else START
    forged = make_line(before, "2030-01-01", "told", facts | {"forged": True}).render()
    raws = [*SIX[:at], forged, *SIX[at + 1 :]]
    assert verify(raws, [head(SIX[-1])]).problems
    assert bool(verify(raws).problems) == (at < 5)


def _without_spaces(raw: bytes) -> bytes:
    return json.dumps(json.loads(raw)).encode()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda raws: raws[:2] + raws[3:], "line 3 is missing"),
        (lambda raws: raws[:1] + raws[4:], "lines 2 to 4 are missing"),
        (lambda raws: raws[1:], "line 1 is missing"),
        (lambda raws: [raws[0], raws[2], raws[1], *raws[3:]], "line 2 stands where line 4 belongs"),
        (lambda raws: [*raws[:3], b"{}", *raws[4:]], "line 4 was changed: it is not a"),
        (lambda raws: [*raws[:3], b"[" * 9999, *raws[4:]], "line 4 was changed: it is not a"),
        (lambda raws: [*raws[:3], _without_spaces(raws[3]), *raws[4:]], "line 4 was changed: its"),
        (lambda raws: [*raws[:2], raws[1], *raws[2:]], "line 2 stands where line 3 belongs"),
    ],
)
def test_a_problem_names_the_line(change: Callable[[list[bytes]], list[bytes]], says: str) -> None:
    assert any(says in one for one in verify(change(list(SIX))).problems)


def test_an_audit_log_whose_old_files_were_archived_begins_later() -> None:
    assert verify(SIX[3:], [head(SIX[1]), head(SIX[5])], first=4).problems == []
    assert verify(SIX[3:], first=3).problems == ["line 3 is missing"]


def test_an_empty_audit_log_is_whole_unless_a_head_was_kept() -> None:
    assert verify([]).problems == []
    [problem] = verify([], [head(SIX[2])]).problems
    assert problem.startswith("line 3, of the kept head sha256:")


HEAD = f"7:sha256:{'a' * 64}"


def test_only_what_the_log_names_as_a_head_is_one() -> None:
    line = HEAD_MESSAGE % HEAD
    assert Head.all_in(f"INFO dev activities.customer.guard: {line}\nmore\n") == [
        Head(7, "sha256:" + "a" * 64)
    ]
    for other in (HEAD, f"an activity {HEAD}.", f"{line} and more", f"quoted {line!r}"):
        assert Head.all_in(other) == []
    assert Head.all_in(without_heads(f"an activity with the id x {line}")) == []
    assert Head.parse(HEAD) == Head(7, "sha256:" + "a" * 64)
    assert Head.parse(f"{HEAD} ") is None and Head.parse(f"0{HEAD}") is None
