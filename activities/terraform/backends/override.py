"""The override file that sets the backend, and Terraform's record of the backend it uses."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from store.left_files import read_left
from wire.private_files import write_private

_OVERRIDE = "exclave_backend_override.tf.json"
_RECORD = Path(".terraform", "terraform.tfstate")
"""The file in which `init` records the backend that it uses."""


def write(folder: Path, kind: str, config: Mapping[str, Any]) -> None:
    """Write the override file, which replaces any backend that the module names."""
    content = {"terraform": {"backend": {kind: config}}}
    write_private(folder / _OVERRIDE, json.dumps(content).encode())


def used_instead(folder: Path, kind: str, config: Mapping[str, Any]) -> str | None:
    """None if `init` uses this backend; otherwise the kind that it uses."""
    record = folder / _RECORD
    used = json.loads(read_left(record)).get("backend", {}) if record.exists() else {}
    recorded = used.get("config") or {}
    same = used.get("type") == kind and all(
        _matches(recorded.get(name), value) for name, value in config.items()
    )
    return None if same else str(used.get("type"))


def drop_torn_record(folder: Path) -> None:
    """Remove a record that an `init` was killed while writing; the next `init` writes it again, but
    would fail because of the torn one."""
    record = folder / _RECORD
    if record.exists():
        try:
            json.loads(read_left(record))
        except ValueError:
            record.unlink()


def _matches(found: Any, wanted: Any) -> bool:
    """Whether Terraform's record has the wanted settings; it may have more, such as defaults."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            _matches(found.get(name), value) for name, value in wanted.items()
        )
    return bool(found == wanted)
