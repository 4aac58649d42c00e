"""Reads a module's outputs, as Terraform prints them."""

import json
from collections.abc import Mapping
from pathlib import Path

from activities.disk import disk_full
from contracts.errors import EngineFailed
from store.install_records import Output
from store.left_files import read_left


def read_whole(file: Path) -> bytes:
    """Read the JSON that Terraform printed into a file; an incomplete file is removed. Blocks.

    Raises:
        DiskFull: it is incomplete or empty; Terraform does not notice that the disk is full.
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
        printed: What it printed; Terraform leaves out outputs that are null.
        declared: The module's outputs by name, and whether each is sensitive.

    Raises:
        EngineFailed: it does not have the form that Terraform documents.
    """
    null = {name: Output(value=None, sensitive=one) for name, one in (declared or {}).items()}
    try:
        return null | {
            name: Output(value=one["value"], sensitive=bool(one["sensitive"]))
            for name, one in json.loads(printed).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineFailed(
            f"`terraform output -json` printed an unknown format ({type(error).__name__})."
        ) from None
