"""The override file that names the backend, and what `init` made of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from store.left_files import read_left
from wire.private_files import write_private

_OVERRIDE = "exclave_backend_override.tf.json"
_RECORD = Path(".terraform", "terraform.tfstate")
"""Where `init` notes which backend it took."""


def write(folder: Path, kind: str, config: Mapping[str, Any]) -> None:
    """Write the override file, which replaces whatever backend the module names."""
    content = {"terraform": {"backend": {kind: config}}}
    write_private(folder / _OVERRIDE, json.dumps(content).encode())


def taken_instead(folder: Path, kind: str, config: Mapping[str, Any]) -> str | None:
    """None if `init` took this backend; otherwise the kind that it took."""
    record = folder / _RECORD
    used = json.loads(read_left(record)).get("backend", {}) if record.exists() else {}
    noted = used.get("config") or {}
    same = used.get("type") == kind and all(
        _holds(noted.get(name), value) for name, value in config.items()
    )
    return None if same else str(used.get("type"))


def drop_torn_record(folder: Path) -> None:
    """Remove the note of a backend that an `init` was killed while writing: the next one, which
    makes it anew, would stop at it."""
    record = folder / _RECORD
    if record.exists():
        try:
            json.loads(read_left(record))
        except ValueError:
            record.unlink()


def _holds(found: Any, wanted: Any) -> bool:
    """Whether what Terraform noted says what was wanted; it adds what was left out."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            _holds(found.get(name), value) for name, value in wanted.items()
        )
    return bool(found == wanted)
