"""Lets only one `init` at a time use the operator's provider cache, which Terraform does not lock.

Two inits at once write the same file of the cache, and one may read the other's incomplete file and
record its hash. The lock is on the cache's folder itself: all workers and users of a machine share
it, and even a user without write permission can take it. The process that runs `init` holds it,
whatever happens to the worker and the supervisor.
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from activities.operations.spec import Command
from activities.operations.status import ToolEnd

_VARIABLE: Final = "TF_PLUGIN_CACHE_DIR"
_SETTING: Final = re.compile(r'^\s*plugin_cache_dir\s*=\s*("(?:[^"\\\n]|\\.)*")', re.MULTILINE)

_HOLDING: Final = """
import fcntl, os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
folder, *command = sys.argv[1:]
try:
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waits for another init on the provider cache {folder}", flush=True)
        fcntl.flock(held, fcntl.LOCK_EX)
    os.set_inheritable(held, True)
except OSError as error:
    print(f"the provider cache {folder} cannot be locked: {error}", flush=True)
os.execv(command[0], command)
"""
"""A Python program that takes the lock and then executes the command, which keeps it to its end."""

_LINES: Final = 60
_MISMATCH: Final = re.compile(
    r"doesn't match any of the checksums|does not match any of the checksums"
    r"|checksums? (?:previously )?recorded in the dependency lock file"
)


def provider_cache(environment: Mapping[str, str]) -> Path | None:
    """The provider cache of a Terraform with that environment; None if it has none. Blocks."""
    named = environment.get(_VARIABLE) or _configured(environment)
    folder = Path(named) if named else None
    return folder if folder is not None and folder.is_dir() else None


def in_turn(command: Command, cache: Path | None) -> Command:
    """The command, wrapped so that it runs while it holds the cache's lock."""
    if cache is None:
        return command
    holding = [sys.executable, "-I", "-c", _HOLDING, str(cache)]
    return Command(command.name, [*holding, *command.argv], command.stdout, command.ok)


def noted_another_provider(end: ToolEnd) -> bool:
    """Whether a run failed because a provider does not match the recorded hash; blocks."""
    if end.outcome != "exited" or end.failed is None:
        return False
    return _MISMATCH.search(" ".join(end.last_lines(_LINES).split())) is not None


def _configured(environment: Mapping[str, str]) -> str | None:
    file = Path(environment.get("TF_CLI_CONFIG_FILE", ""))
    if not file.is_file():
        return None
    text = file.read_text(errors="replace")
    found = _SETTING.search(text)
    if found is not None:
        named = json.loads(found.group(1))
    else:
        try:
            named = json.loads(text).get("plugin_cache_dir")
        except (ValueError, AttributeError):
            return None
    if not isinstance(named, str) or not named:
        return None
    # Expands variables as Terraform does, with its environment.
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda v: environment.get(v[1] or v[2], ""), named)
