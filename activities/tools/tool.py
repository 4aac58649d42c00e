"""A tool on this machine: where it is, and its version, as it tells it itself."""

import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from apps.version_numbers import version_numbers
from contracts.errors import EngineFailed, Unreachable

_ASK_SECONDS = 60
"""A tool tells its version in 0.1 s; a machine that swaps takes longer."""

_BELIEVED_SECONDS = 60.0
"""How long an answer holds for the same file: components that start together ask once. No longer,
since the file may be a wrapper that chooses a version by other things."""


@dataclass(frozen=True)
class Tool:
    """An executable, and what it is."""

    path: Path
    name: str
    version: str
    platform: str

    @property
    def identity(self) -> str:
        """A plan is applied by the same tool, version and platform that made it."""
        return f"{self.name} {self.version} {self.platform}"

    @property
    def numbers(self) -> tuple[int, int, int]:
        """The numbers of its version."""
        return version_numbers(self.version)


@dataclass(frozen=True)
class Answer:
    """What a tool says of itself."""

    version: str
    platform: str


@dataclass(frozen=True)
class Question:
    """How a tool is asked for its version."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    read: Callable[[bytes], Answer]
    """Reads what it prints; raises ValueError, KeyError or TypeError where that is no answer."""
    is_it: str
    """What it should be, for whoever reads that it is not: `Terraform 1.x or OpenTofu`."""


_asking = threading.Lock()
_known: dict[Path, "_Known"] = {}


@dataclass(frozen=True)
class _Known:
    file: tuple[int, int, int]
    at: float
    answer: Answer


def ask(path: Path, question: Question) -> Answer:
    """Ask the tool, or believe what it said a moment ago; blocks.

    Raises:
        Unreachable: the machine could not run it now.
        EngineFailed: it does not tell its version.
    """
    with _asking:
        try:
            status = path.stat()
        except OSError:
            return _ask(path, question)
        file = (status.st_ino, status.st_size, status.st_mtime_ns)
        known = _known.get(path)
        if known and known.file == file and time.monotonic() - known.at <= _BELIEVED_SECONDS:
            return known.answer
        answer = _ask(path, question)
        _known[path] = _Known(file, time.monotonic(), answer)
        return answer


def _ask(path: Path, question: Question) -> Answer:
    told = _run(path, question)
    try:
        told.check_returncode()
        return question.read(told.stdout)
    except (subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise EngineFailed(
            f"`{_command(path, question)}` does not tell a version ({type(error).__name__}); "
            f"is it {question.is_it}?"
        ) from None


def _run(path: Path, question: Question) -> subprocess.CompletedProcess[bytes]:
    """What the machine itself cannot do now is tried again: it says nothing about the tool."""
    try:
        told = subprocess.run(
            [str(path), *question.arguments],
            capture_output=True,
            check=False,
            timeout=_ASK_SECONDS,
            env=question.environment,
        )
    except subprocess.TimeoutExpired:
        why = f"it did not answer within {_ASK_SECONDS} s"
    except OSError as error:
        why = error.strerror or type(error).__name__
    else:
        if told.returncode >= 0:
            return told
        why = f"it was ended by signal {-told.returncode}"
    raise Unreachable(
        f"`{_command(path, question)}` could not be run: {why}. Is the worker's machine out of "
        "memory, or may its user not run it? It is tried again."
    )


def _command(path: Path, question: Question) -> str:
    return " ".join([str(path), *question.arguments])
