"""Outputs: kept whole in the store, and sent without what is sensitive or large."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from activities.disk import disk_full
from activities.secrets.masking import Mask
from contracts.deploys import Outputs
from contracts.errors import EngineFailed
from store.install_state import Output
from store.left_files import read_left

LARGEST_SENT_BYTES = 32 * 1024
"""Of values that travel in one result; the rest is named. A payload ends at 2 MiB, and a result
holds the outputs of many steps."""

_LARGEST_NAMES_BYTES = 4 * 1024


def read_whole(file: Path) -> bytes:
    """What Terraform printed as JSON into a file, which goes where it is torn; blocks.

    Raises:
        DiskFull: it is torn or empty. Terraform does not notice that its output has no room.
    """
    printed = read_left(file)
    try:
        json.loads(printed)
    except ValueError:
        file.unlink()
        raise disk_full(file.parent, f"what Terraform prints into {file.name}") from None
    return printed


def read_outputs(printed: bytes, declared: Mapping[str, bool] | None = None) -> dict[str, Output]:
    """Read `terraform output -json`.

    Args:
        printed: What it printed: Terraform leaves out what is null.
        declared: The module's outputs by name, and whether each is sensitive.

    Raises:
        EngineFailed: where it is not what Terraform documents.
    """
    null = {name: Output(value=None, sensitive=one) for name, one in (declared or {}).items()}
    try:
        return null | {
            name: Output(value=one["value"], sensitive=bool(one["sensitive"]))
            for name, one in json.loads(printed).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineFailed(
            f"`terraform output -json` printed what is not understood ({type(error).__name__})."
        ) from None


def as_sent(
    outputs: Mapping[str, Output], mask: Mask, limit_bytes: int = LARGEST_SENT_BYTES
) -> Outputs:
    """What of the outputs may leave the customer's side: the small ones first, up to the limit."""
    open_ = {name: mask.value(one.value) for name, one in outputs.items() if not one.sensitive}
    sizes = {name: _size(name, value) for name, value in open_.items()}
    fitting, total = set[str](), 0
    for name in sorted(sizes, key=lambda name: (sizes[name], name)):
        total += sizes[name]
        if total > limit_bytes:
            break
        fitting.add(name)
    return Outputs(
        values={name: value for name, value in open_.items() if name in fitting},
        sensitive=_listed(name for name, one in outputs.items() if one.sensitive),
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
