"""Finds the contents of Kubernetes Secrets within any value, whether or not a tool marks them.

To a tool, a Secret's manifest is an ordinary value (in Terraform's `kubernetes_manifest`, in a
chart's values, in the annotation that `kubectl apply` leaves). It is recognised here by its `kind`,
as an object or as YAML or JSON text.
"""

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping

from activities.secrets.documents import documents

Plain = Callable[[object], object]
"""Unwraps a value that a tool has wrapped in something."""

_CONTENTS = ("data", "stringData", "string_data", "binaryData", "binary_data")


def _as_it_is(value: object) -> object:
    return value


def of_kubernetes(value: object, plain: Plain = _as_it_is) -> Iterable[object]:
    """Every value of each Kubernetes Secret anywhere in the given value, as it is and decoded from
    base64."""
    values = [value]
    while values:
        one = values.pop()
        if isinstance(one, Mapping):
            values += one.values()
            if plain(one.get("kind")) == "Secret":
                for name in _CONTENTS:
                    yield from _leaves(one.get(name), plain)
        elif isinstance(one, list | tuple):
            values += one
        elif isinstance(one, str) and "Secret" in one and "kind" in one:
            values += documents(one)


def _leaves(value: object, plain: Plain) -> Iterable[object]:
    values = [value]
    while values:
        one = plain(values.pop())
        if isinstance(one, Mapping):
            values += one.values()
        elif isinstance(one, list | tuple):
            values += one
        elif one is not None and not isinstance(one, bool):
            yield one
            if isinstance(one, str):
                yield from _decoded(one)


def _decoded(text: str) -> Iterable[str]:
    try:
        yield base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, ValueError):
        # Not the base64 form of a text; the value itself has been yielded already.
        return
