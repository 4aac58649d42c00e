"""A tool on this machine: where it is, and the version that it reports."""

import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from apps.version_numbers import version_numbers
from contracts.errors import EngineFailed, Unreachable

_ASK_SECONDS = 60
"""A tool usually reports its version within 0.1 s; a machine that swaps takes longer."""

_BELIEVED_SECONDS = 60.0
"""How long an answer is cached for the same file, so that components that start together ask only
once. Not longer, since the file may be a wrapper that chooses a version."""


@dataclass(frozen=True)
class Tool:
    """An executable, with its name, version and platform."""

    path: Path
    name: str
    version: str
    platform: str

    @property
    def identity(self) -> str:
        """Name, version and platform: a plan is applied only by a tool equal in these to the one
        that made it."""
        return f"{self.name} {self.version} {self.platform}"

    @property
    def numbers(self) -> tuple[int, int, int]:
        """The numbers of its version."""
        return version_numbers(self.version)


@dataclass(frozen=True)
class Answer:
    """What a tool reports about itself."""

    version: str
    platform: str


@dataclass(frozen=True)
class Question:
    """How a tool is asked for its version."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    read: Callable[[bytes], Answer]
    """Reads what it prints; raises ValueError, KeyError or TypeError if that is not an answer."""
    is_it: str
    """What the tool should be, for the error message: `Terraform 1.x or OpenTofu`."""


_asking = threading.Lock()
_known: dict[Path, "_Known"] = {}


@dataclass(frozen=True)
class _Known:
    file: tuple[int, int, int]
    at: float
    answer: Answer


def ask(path: Path, question: Question) -> Answer:
    """Ask the tool, or return what it answered a moment ago; blocks.

    Raises:
        Unreachable: the machine could not run it now.
        EngineFailed: it does not report a version.
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
    ended = _run(path, question)
    try:
        ended.check_returncode()
        return question.read(ended.stdout)
    except (subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise EngineFailed(
            f"`{_command(path, question)}` does not report a version ({type(error).__name__}); "
            f"is it {question.is_it}?"
        ) from None


def _run(path: Path, question: Question) -> subprocess.CompletedProcess[bytes]:
    """Raises Unreachable, which is retried, if the machine cannot run the tool now, since that says
    nothing about the tool."""
    try:
        ended = subprocess.run(
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
        if ended.returncode >= 0:
            return ended
        why = f"it was ended by signal {-ended.returncode}"
    raise Unreachable(
        f"`{_command(path, question)}` could not be run: {why}. Is the worker's machine out of "
        "memory, or may its user not run it? This is retried."
    )


def _command(path: Path, question: Question) -> str:
    return " ".join([str(path), *question.arguments])
