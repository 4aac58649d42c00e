"""What of a run's history lies plain in Temporal's database."""

import base64
import json
import subprocess
from collections.abc import Iterator
from typing import Any

from tests.e2e.plane import BIN, PATIENCE_SECONDS

PLAIN_BY_NATURE = {"searchAttributes"}
"""What Temporal itself must read; there is nothing in it that a visibility query may not show."""


def plain_payloads(address: str, run: str) -> Iterator[str]:
    """Where in a run's history payloads lie plain, to whoever has not got the keys."""
    done = subprocess.run(
        [
            *(BIN / "temporal", "workflow", "show", "--workflow-id", run, "-o", "json"),
            *("--address", address, "--namespace", "dev", "--no-json-shorthand-payloads"),
        ],
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    assert base64.b64encode(b"binary/encrypted") in done.stdout
    for event in json.loads(done.stdout)["events"]:
        for key, attributes in event.items():
            yield from _plain_within(attributes, key)


def _plain_within(value: Any, where: str) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _plain_within(one, where)
    elif isinstance(value, dict):
        encoding = value.get("metadata", {}).get("encoding")
        if encoding is None:
            for key, one in value.items():
                named = where if where == "searchAttributes" else key
                yield from _plain_within(one, named)
        elif base64.b64decode(encoding) != b"binary/encrypted":
            yield where if where == "searchAttributes" else f"{where}: {value}"
