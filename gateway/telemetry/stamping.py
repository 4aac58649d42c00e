"""Makes telemetry safe to pass on: limits its size, and stamps it with its sender's identity.

The gateway writes the sender into each resource: `exclave.org`, `exclave.install` and
`exclave.key`. Whatever the sender wrote there is removed, and so is everything that could be
mistaken for it, since stores of telemetry merge the attributes of resource, scope and item, and
turn dots into underscores.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from gateway.identity import Identity
from gateway.telemetry.signals import Signal, attributes_of, size_of

ORG = "exclave.org"
INSTALL = "exclave.install"
KEY = "exclave.key"

_RESERVED = re.compile(r"[^a-z0-9]*exclave(?![a-z0-9])", re.IGNORECASE)
"""Refused in resources: everything that begins with the name."""
_IDENTITY = re.compile(r"[^a-z0-9]*exclave[^a-z0-9]+(org|install|key)[^a-z0-9]*", re.IGNORECASE)
"""Refused in scopes and items, which may have other attributes of Exclave's."""
_MAYBE_IDENTITY = re.compile(rb"exclave[^a-z0-9]{1,12}(?:org|install|key)", re.IGNORECASE)

_FLOOD = 5
"""A request with this many times the allowed items is refused as a whole: even dropping the excess
would take too long."""


class TooMany(Exception):
    """A request has more parts than anybody would send."""


@dataclass(frozen=True)
class Bounds:
    """What one request may contain; anything beyond is cut or dropped, and counted."""

    resources: int = 1_000
    scopes: int = 10_000
    items: int = 20_000
    """Log records, spans, data points."""
    item_bytes: int = 256 * 1024
    parts: int = 1_000
    """Events and links of one span."""
    text_bytes: int = 64 * 1024
    """The body of a log record."""
    attributes: int = 128
    key_bytes: int = 256
    value_bytes: int = 4 * 1024


@dataclass(frozen=True)
class Stamped:
    """How many items were kept and dropped."""

    items: int
    dropped: int


def stamp(signal: Signal, request: Message, identity: Identity, bounds: Bounds) -> Stamped:
    """Limit and stamp the request, in place.

    Raises:
        TooMany: it has too many resources or scopes, or far too many items.
    """
    # Unknown fields cannot be checked here, but a collector may understand them.
    request.DiscardUnknownFields()
    resources = signal.resources_of(request)
    _refuse_floods(signal, resources, bounds)
    found = dropped = 0
    forged = _MAYBE_IDENTITY.search(request.SerializeToString()) is not None
    for one in resources:
        _stamp_resource(one.resource, identity, bounds)
        for scope in signal.scopes_of(one):
            _bound(scope.scope.attributes, bounds, _IDENTITY.fullmatch if forged else None)
            kept, lost = _bound_items(signal.items_of(scope), bounds, bounds.items - found, forged)
            found += kept
            dropped += lost
    return Stamped(found, dropped)


def _refuse_floods(signal: Signal, resources: Any, bounds: Bounds) -> None:
    """Counts without looking at each item, since millions of empty ones fit into a body."""
    if len(resources) > bounds.resources:
        raise TooMany(f"it has {len(resources)} resources, more than {bounds.resources}")
    scopes = sum(len(signal.scopes_of(one)) for one in resources)
    if scopes > bounds.scopes:
        raise TooMany(f"it has {scopes} scopes, more than {bounds.scopes}")
    items = sum(len(signal.items_of(scope)) for one in resources for scope in signal.scopes_of(one))
    most = bounds.items * _FLOOD
    if items > most:
        raise TooMany(f"it has {items} items, more than {most}; send smaller batches")


def _stamp_resource(resource: Resource, identity: Identity, bounds: Bounds) -> None:
    _bound(resource.attributes, bounds, _RESERVED.match)
    stamps = {ORG: identity.org, INSTALL: identity.name, KEY: identity.key}
    for name, value in stamps.items():
        if value:
            resource.attributes.add(key=name).value.string_value = value


def _bound_items(items: Any, bounds: Bounds, room: int, forged: bool) -> tuple[int, int]:
    """Cut items that are too long, and drop excess ones; returns the counts of kept and dropped."""
    kept = dropped = 0
    good: list[Any] = []
    for item in items:
        size = max(size_of(item), 1)
        if kept + size > room or not _is_bounded(item, bounds):
            dropped += size
            continue
        kept += size
        good.append(item)
        _bound_item(item, bounds, forged)
    if len(good) < len(items):
        del items[:]
        items.extend(good)
    return kept, dropped


def _is_bounded(item: Any, bounds: Bounds) -> bool:
    parts = len(getattr(item, "events", ())) + len(getattr(item, "links", ()))
    return parts <= bounds.parts and bool(item.ByteSize() <= bounds.item_bytes)


def _bound_item(item: Any, bounds: Bounds, forged: bool) -> None:
    length = item.ByteSize()
    # Skipped for most items, which are too small to contain anything that must be cut.
    if forged or length > min(bounds.key_bytes, 2 * bounds.attributes):
        for attributes in attributes_of(item):
            _bound(attributes, bounds, _IDENTITY.fullmatch if forged else None)
    if length > bounds.text_bytes and hasattr(item, "body"):
        _cut_value(item.body, bounds.text_bytes)


def _bound(
    attributes: Any, bounds: Bounds, refused: Callable[[str], re.Match[str] | None] | None
) -> None:
    """Cut attributes in place, and drop excess ones and those whose name is refused."""
    if len(attributes) > bounds.attributes:
        del attributes[bounds.attributes :]
    if refused is not None:
        for index in reversed(range(len(attributes))):
            if refused(attributes[index].key):
                del attributes[index]
    for attribute in attributes:
        if attribute.ByteSize() > bounds.key_bytes:
            attribute.key = _cut(attribute.key, bounds.key_bytes)
            _cut_value(attribute.value, bounds.value_bytes)


def _cut_value(value: Any, most: int) -> None:
    size = value.ByteSize()
    if size <= most:
        return
    if value.WhichOneof("value") == "string_value":
        value.string_value = _cut(value.string_value, most)
    else:
        value.string_value = f"left out by the gateway: {size} bytes"


def _cut(text: str, most: int) -> str:
    data = text.encode()
    return text if len(data) <= most else data[:most].decode(errors="ignore")
