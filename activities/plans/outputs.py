"""Outputs as they may travel: without what is sensitive or large; the store has them whole."""

import json
from collections.abc import Iterable, Mapping

from activities.secrets.masking import Mask
from contracts.deploys import Outputs
from store.install_records import Output

LARGEST_SENT_BYTES = 32 * 1024
"""Of values that travel in one result; the rest is named. A payload ends at 2 MiB, and a result
holds the outputs of many steps."""

_LARGEST_NAMES_BYTES = 4 * 1024


def as_sent(
    outputs: Mapping[str, Output], mask: Mask, limit_bytes: int = LARGEST_SENT_BYTES
) -> Outputs:
    """What of the outputs may leave the customer's side: the small ones first, up to the limit."""
    # A name may hold a secret, too: a script writes what it likes.
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
    """How much the values take of the limit."""
    return sum(_size(name, value) for name, value in outputs.values.items())


def _size(name: str, value: object) -> int:
    return len(json.dumps({name: value}))


def _listed(names: Iterable[str]) -> list[str]:
    """The names, sorted; of more than can travel, how many there are besides."""
    every, listed, total = sorted(names), list[str](), 0
    for name in every:
        total += len(json.dumps(name))
        if total > _LARGEST_NAMES_BYTES:
            return [*listed, f"… and {len(every) - len(listed)} more"]
        listed.append(name)
    return listed
