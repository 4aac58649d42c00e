"""Records what today's code stores: `python -m tests.stored.record v2`.

To be called when something that is stored has gained a field or a place, which
`tests/test_stored_today.py` tells. Generations of before stay as they are, and stay readable.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.stored.fixed import fixed
from tests.stored.generations import GOLDEN, files
from tests.stored.write_control import write_control
from tests.stored.write_release import write_release
from tests.stored.write_store import write_store
from tests.stored.write_worker import write_worker

_ROOT: Final = b"/var/lib/recorded"
"""What stands in a golden for the folder that it was recorded in."""

_UNTOLD: Final = (
    ("**/.lock", "a lock, without content"),
    ("**/lock", "a lock, without content"),
    ("registry/.locks/**/*", "locks, without content"),
    ("worker/machine-id.*", "left by no version"),
    ("control/gateway/*certificate*.pem", "other each time; in a form that is not ours"),
    ("control/gateway/ca.pem", "other each time; in a form that is not ours"),
    ("worker/releases/**/*", "a cache of the registry, each file proven by its digest"),
)


def record(root: Path) -> None:
    """Write everything that is stored into a folder, the same each time."""
    with fixed():
        write_store(root)
        write_worker(root)
        write_control(root)
    write_release(root)
    for pattern, _ in _UNTOLD:
        for path in root.glob(pattern):
            if path.is_file():
                path.unlink()
    for path in files(root).values():
        content = path.read_bytes()
        if bytes(root) in content:
            path.write_bytes(content.replace(bytes(root), _ROOT))


def main() -> None:
    """Record a generation that is not there yet."""
    [name] = sys.argv[1:]
    new = GOLDEN / name
    if not name.removeprefix("v").isdecimal() or new.exists():
        sys.exit(f"{name} is no new generation; there are {sorted(GOLDEN.glob('v*'))}")
    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder).resolve())
        shutil.copytree(folder, new)


if __name__ == "__main__":
    main()
