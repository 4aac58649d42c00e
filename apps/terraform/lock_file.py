"""Checks the dependency lock file of a module: the provider versions that its vendor tested."""

from pathlib import Path
from typing import Final

from apps.reading.files import read_below
from apps.terraform.blocks import NotBlocks, declarations

LOCK_FILE: Final = ".terraform.lock.hcl"
_MAX_BYTES: Final = 1024 * 1024
_RIGHT: Final = (
    "run `terraform providers lock -platform=linux_amd64 -platform=linux_arm64` in the module's "
    "folder, and keep the file"
)


def lock_problem(folder: Path) -> str | None:
    """What a worker on another machine cannot do with the module's lock file, or with none."""
    try:
        text = read_below(folder, LOCK_FILE, _MAX_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return (
            "is missing: each worker takes the newest providers that the module allows, and these "
            f"may be others than you tested; {_RIGHT}"
        )
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    try:
        locked = declarations(text).get("provider", [])
    except (NotBlocks, RecursionError):
        return f"cannot be read; {_RIGHT}"
    narrow = sorted(
        name.strip('"')
        for block in locked
        for name, body in block.items()
        if isinstance(body, dict) and _is_of_one_platform(str(body.get("hashes", "")))
    )
    if not narrow:
        return None
    names = ", ".join(f"`{name}`" for name in narrow)
    return (
        f"has the checksum of one platform alone for {names}, and a worker on another platform "
        f"refuses it; {_RIGHT}"
    )


def _is_of_one_platform(hashes: str) -> bool:
    """`zh:` hashes come from the registry, for every platform; `h1:` is of a single one."""
    return "zh:" not in hashes and hashes.count("h1:") < 2
