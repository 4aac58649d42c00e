"""Whatever a caller writes, the sender is the one that the gateway writes."""

import re
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue

from gateway.identity import Identity
from gateway.telemetry.queue import Batch
from gateway.telemetry.rows import rows
from gateway.telemetry.signals import LOGS, METRICS, SIGNALS, TRACES, Signal, attributes_of
from gateway.telemetry.stamping import Bounds, TooMany, stamp
from tests.gateway.gateway_parts import build, install

BOUNDS = Bounds(resources=3, scopes=4, items=4, item_bytes=2_000, attributes=3, value_bytes=300)

LETTERS = "aeExclvKkoins.-_ é·\0\n"
"""Looking up all of Unicode would take half a minute."""

words = st.sampled_from(["org", "install", "key", "component", "", "x"])
separators = st.text(alphabet="._-/ ·:", max_size=3)
names = st.sampled_from(["exclave", "Exclave", "EXCLAVE", "exclaves", "service", "k8s"])
keys = st.one_of(
    st.builds(lambda *parts: "".join(parts), separators, names, separators, words, separators),
    st.text(alphabet=LETTERS, max_size=20),
)
values = st.recursive(
    st.one_of(
        st.builds(
            lambda text: AnyValue(string_value=text),
            st.text(alphabet=LETTERS, max_size=40).map(lambda text: text * 10),
        ),
        st.builds(lambda data: AnyValue(bytes_value=data), st.integers(0, 400).map(bytes)),
        st.builds(lambda number: AnyValue(double_value=number), st.floats()),
        st.just(AnyValue()),
    ),
    lambda inner: st.lists(inner, max_size=2).map(
        lambda found: AnyValue(array_value=ArrayValue(values=found))
    ),
    max_leaves=3,
)
attributes = st.lists(
    st.builds(lambda key, value: KeyValue(key=key, value=value), keys, values), max_size=4
)
identities = st.sampled_from([install("acme"), install("other", "prod"), build()])


@st.composite
def requests(draw: st.DrawFn) -> tuple[Signal, Any]:
    signal = draw(st.sampled_from(SIGNALS))
    request = signal.request()
    # The same few in another order each time, since drawing new ones takes long.
    drawn = deque(draw(attributes))

    def some() -> list[KeyValue]:
        drawn.rotate()
        return list(drawn)

    for _ in range(draw(st.integers(0, 2))):
        resource = signal.resources_of(request).add()
        resource.resource.attributes.extend(some())
        for _ in range(draw(st.integers(0, 2))):
            scope = signal.scopes_of(resource).add()
            scope.scope.attributes.extend(some())
            for _ in range(draw(st.integers(0, 3))):
                _fill(signal, signal.items_of(scope).add(), draw(st.integers(0, 2)), some)
    return signal, request


def _fill(signal: Signal, item: Any, parts: int, some: Callable[[], list[KeyValue]]) -> None:
    if signal is METRICS:
        item.metadata.extend(some())
        for _ in range(parts):
            point = item.histogram.data_points.add()
            point.attributes.extend(some())
            point.exemplars.add().filtered_attributes.extend(some())
        return
    item.attributes.extend(some())
    if signal is TRACES:
        item.events.add().attributes.extend(some())
        item.links.add().attributes.extend(some())
    if signal is LOGS:
        for one in some()[:1]:
            item.body.CopyFrom(one.value)


def normal(key: str) -> str:
    """A key as stores of telemetry write it, without characters that they do not allow."""
    return re.sub(r"[^a-z0-9]+", "_", key.lower()).strip("_")


@given(requests(), identities)
def test_nobody_can_pass_for_another(made: tuple[Signal, Any], identity: Identity) -> None:
    signal, request = made
    stamp(signal, request, identity, BOUNDS)
    expected = {
        "exclave_org": identity.org,
        "exclave_install": identity.name,
        "exclave_key": identity.key,
    }
    for resource in signal.resources_of(request):
        own = [
            (normal(one.key), one.value.string_value)
            for one in resource.resource.attributes
            if normal(one.key) == "exclave" or normal(one.key).startswith("exclave_")
        ]
        assert own == [(key, value) for key, value in expected.items() if value]
        for scope in signal.scopes_of(resource):
            elsewhere = [scope.scope.attributes]
            elsewhere += [found for item in signal.items_of(scope) for found in attributes_of(item)]
            for found in elsewhere:
                assert not {normal(one.key) for one in found} & expected.keys()
                assert len(found) <= BOUNDS.attributes


@given(requests(), identities)
def test_what_is_kept_and_dropped_is_all_there_was(
    made: tuple[Signal, Any], identity: Identity
) -> None:
    signal, request = made
    before = _count(signal, request)
    stamped = stamp(signal, request, identity, BOUNDS)
    assert stamped.items == _count(signal, request) <= BOUNDS.items
    assert stamped.items + stamped.dropped == before
    # Stamping it again, as another gateway behind this one would, changes nothing.
    again = signal.request()
    again.CopyFrom(request)
    stamp(signal, again, identity, BOUNDS)
    assert again == request


def _count(signal: Signal, request: Any) -> int:
    return sum(
        max(len(item.histogram.data_points), 1) if signal is METRICS else 1
        for resource in signal.resources_of(request)
        for scope in signal.scopes_of(resource)
        for item in signal.items_of(scope)
    )


@given(requests(), identities)
def test_everything_that_is_stamped_can_be_kept_as_rows(
    made: tuple[Signal, Any], identity: Identity
) -> None:
    signal, request = made
    stamped = stamp(signal, request, identity, BOUNDS)
    batch = Batch(signal, identity, request.SerializeToString(), stamped.items)
    found = list(rows(batch))
    assert {(one.org, one.install, one.key) for one in found} <= {
        (identity.org, identity.name, identity.key)
    }


@given(st.sampled_from(SIGNALS), st.binary(max_size=200))
def test_no_bytes_break_it(signal: Signal, data: bytes) -> None:
    request = signal.request()
    try:
        request.ParseFromString(data)
        stamped = stamp(signal, request, install("acme"), BOUNDS)
    except (DecodeError, TooMany):
        return
    list(rows(Batch(signal, install("acme"), request.SerializeToString(), stamped.items)))


def test_a_flood_of_empty_items_is_refused_as_a_whole() -> None:
    request: Any = LOGS.request()
    records = request.resource_logs.add().scope_logs.add().log_records
    for _ in range(5 * BOUNDS.items):
        records.add()
    assert stamp(LOGS, request, install("acme"), BOUNDS).dropped == 4 * BOUNDS.items
    for _ in range(5 * BOUNDS.items + 1 - len(records)):
        records.add()
    with pytest.raises(TooMany, match="21 items"):
        stamp(LOGS, request, install("acme"), BOUNDS)


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda one: one.name)
def test_what_only_a_collector_would_know_goes_no_further(signal: Signal) -> None:
    """OTLP had other fields in the past, and will have others: their content is neither limited nor
    checked here. One was field 1000, which contained log records."""
    old = b"\xc2\x3e\x0bexclave.org"
    request = signal.request.FromString(b"\x0a" + bytes([len(old)]) + old)
    assert b"exclave.org" in request.SerializeToString()
    stamp(signal, request, build(), BOUNDS)
    assert request.SerializeToString().count(b"exclave.org") == 1
    assert old not in request.SerializeToString()
