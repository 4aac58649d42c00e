"""Outputs as they are sent in results: without sensitive or large values, which the store keeps."""

import json
from collections.abc import Iterable, Mapping

from activities.secrets.masking import Mask
from contracts.deploys import Outputs
from store.install_records import Output

LARGEST_SENT_BYTES = 32 * 1024
"""The most that the values in one result may take; the other outputs are only named. A payload may
have 2 MiB, and a result holds the outputs of many steps."""

_LARGEST_NAMES_BYTES = 4 * 1024


def as_sent(
    outputs: Mapping[str, Output], mask: Mask, limit_bytes: int = LARGEST_SENT_BYTES
) -> Outputs:
    """The outputs that may leave the customer's side, smallest first, up to the limit."""
    # A name may contain a secret too, since scripts choose names freely.
    named = {mask.text(name): one for name, one in outputs.items()}
    open_ = {name: mask.value(one.value) for name, one in named.items() if not one.sensitive}
    sizes = {name: _size(name, value) for name, value in open_.items()}
    fitting, total = set[str](), 0
    for name in sorted(sizes, key=lambda name: (sizes[name], name)):
        total += sizes[name]
        if total > limit_bytes:
            break
        fitting.add(name)
    return Outputs(
        values={name: value for name, value in open_.items() if name in fitting},
        sensitive=_listed(name for name, one in named.items() if one.sensitive),
        omitted=_listed(open_.keys() - fitting),
    )


def sent_bytes(outputs: Outputs) -> int:
    """How many bytes of the limit the values take."""
    return sum(_size(name, value) for name, value in outputs.values.items())


def _size(name: str, value: object) -> int:
    return len(json.dumps({name: value}))


def _listed(names: Iterable[str]) -> list[str]:
    """The names, sorted; if there are too many, the last entry says how many more."""
    every, listed, total = sorted(names), list[str](), 0
    for name in every:
        total += len(json.dumps(name))
        if total > _LARGEST_NAMES_BYTES:
            return [*listed, f"… and {len(every) - len(listed)} more"]
        listed.append(name)
    return listed
