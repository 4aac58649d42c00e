"""Runs the real `git`: bounded in time and size, without prompts, and ended with its caller.

The git config of the build worker's user applies. There a vendor sets the credentials, the proxy
and the mirror (`insteadOf`) with which repositories are fetched. Hooks, prompts and environment
variables that would lead git to another repository are disabled.

Only `ALLOWED_PROTOCOLS` may be used. Git checks an address after `insteadOf` was applied, so `file`
must be among them for a mirror on the worker's disk. A config cannot name a file, since
`apps.reading.addresses` does not accept that form, and submodules are never followed.
"""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from apps.reading.addresses import without_credentials
from contracts.errors import ToolMissing, Unreachable

ALLOWED_PROTOCOLS: Final = "https:ssh:file"

MAX_FETCHED_BYTES: Final = 1024 * 1024 * 1024
"""The largest mirror of one repository, with everything that was fetched into it so far."""

_LOOK_SECONDS: Final = 0.5
"""How often the size of what git has written is checked; nothing signals it."""
_GRACE_SECONDS: Final = 5.0
_MAX_SAID_BYTES: Final = 64 * 1024

_SETTINGS: Final = (
    *("-c", f"core.hooksPath={os.devnull}", "-c", "gc.auto=0", "-c", "maintenance.auto=false"),
    *("-c", "fetch.recurseSubmodules=false", "-c", "core.fsmonitor=false"),
    *("-c", "transfer.bundleURI=false", "-c", "fetch.writeCommitGraph=false"),
)
_NOT_PASSED_ON: Final = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_CEILING_DIRECTORIES",
    "GIT_TEMPLATE_DIR", "GIT_PROTOCOL_FROM_USER",
)  # fmt: skip
_UNPRINTABLE: Final = re.compile(r"[^\x20-\x7e\u00a0-\uffff]|\x1b\[[0-9;]*[A-Za-z]")


class GitFailed(Exception):
    """Git ended with a failure; `said` holds its last lines of output."""

    def __init__(self, said: str) -> None:
        self.said = said
        super().__init__(said)


class TooLarge(Exception):
    """A repository is larger than allowed."""


@dataclass(frozen=True)
class Streams:
    """The files that git reads from and writes to."""

    input: IO[bytes] | None = None
    output: IO[bytes] | None = None


@dataclass(frozen=True)
class Git:
    """Runs git with the environment of this process."""

    timeout_seconds: float = 900.0
    """How long one command may run."""
    max_bytes: int = MAX_FETCHED_BYTES
    """How large a repository's folder may grow."""
    environment: Mapping[str, str] | None = None
    """Used instead of this process's own."""

    async def output(self, *arguments: str, folder: Path, holding: int | None = None) -> bytes:
        """Runs a command as `run` does, and returns what it printed."""
        output = folder / f".output-{os.urandom(8).hex()}"
        try:
            with output.open("xb") as file:
                await self.run(
                    *arguments, folder=folder, holding=holding, streams=Streams(output=file)
                )
            return await asyncio.to_thread(output.read_bytes)
        finally:
            output.unlink(missing_ok=True)

    async def run(
        self,
        *arguments: str,
        folder: Path,
        holding: int | None = None,
        streams: Streams = Streams(),
    ) -> None:
        """Run a command. If the caller is cancelled, git and everything that it started are ended.

        Args:
            arguments: The arguments, without `git` itself.
            folder: The working folder, whose size is bounded.
            holding: The descriptor of a lock, which git inherits: if this process dies, the next
                one waits for git to end.
            streams: The files that it reads and writes; by default none.

        Raises:
            GitFailed: git ended with a failure.
            TooLarge: the folder grew larger than allowed.
            ToolMissing: git is not installed.
            Unreachable: git took too long.
        """
        said = folder / f".said-{os.urandom(8).hex()}"
        try:
            with said.open("xb") as errors:
                process = await self._start(arguments, folder, holding, streams, errors)
                try:
                    await self._watched(process, arguments, folder)
                finally:
                    await _ended(process)
            if process.returncode != 0:
                raise GitFailed(_last_said(said, process.returncode or 0))
        finally:
            said.unlink(missing_ok=True)

    async def _start(
        self,
        arguments: tuple[str, ...],
        folder: Path,
        holding: int | None,
        streams: Streams,
        errors: IO[bytes],
    ) -> asyncio.subprocess.Process:
        environment = self._git_environment()
        executable = shutil.which("git", path=environment.get("PATH"))
        if executable is None:
            raise ToolMissing(
                "git is not installed on the build worker, and the app config names repositories "
                "that it must fetch; install git there (Debian: apt-get install git)"
            )
        return await asyncio.create_subprocess_exec(
            executable,
            *_SETTINGS,
            *arguments,
            cwd=folder,
            env=environment,
            stdin=streams.input or asyncio.subprocess.DEVNULL,
            stdout=streams.output or asyncio.subprocess.DEVNULL,
            stderr=errors,
            pass_fds=() if holding is None else (holding,),
            # In its own session, git has no terminal on which ssh could prompt, and can be ended
            # together with everything that it started.
            start_new_session=True,
        )

    async def _watched(
        self, process: asyncio.subprocess.Process, arguments: tuple[str, ...], folder: Path
    ) -> None:
        waiting = asyncio.ensure_future(process.wait())
        try:
            async with asyncio.timeout(self.timeout_seconds):
                while not waiting.done():
                    await asyncio.wait({waiting}, timeout=_LOOK_SECONDS)
                    if await asyncio.to_thread(folder_bytes, folder) > self.max_bytes:
                        raise TooLarge(f"more than {self.max_bytes // (1024 * 1024)} MiB")
        except TimeoutError:
            raise Unreachable(
                f"git {arguments[0]} took longer than {self.timeout_seconds:.0f} s"
            ) from None
        finally:
            waiting.cancel()

    def _git_environment(self) -> dict[str, str]:
        whole = os.environ if self.environment is None else self.environment
        # Git's traces would write secrets into files and messages.
        kept = {
            name: value
            for name, value in whole.items()
            if name not in _NOT_PASSED_ON and not name.startswith(("GIT_TRACE", "GIT_CURL_VERBOSE"))
        }
        return kept | {
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS": "",
            "SSH_ASKPASS_REQUIRE": "never",
            "GIT_ALLOW_PROTOCOL": ALLOWED_PROTOCOLS,
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_LFS_SKIP_SMUDGE": "1",
        }


def folder_bytes(folder: Path) -> int:
    """The size of all files below a folder, some of which may be removed meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(Path(parent) / name).st_size
    return total


async def _ended(process: asyncio.subprocess.Process) -> None:
    """End git, with SIGTERM first; afterwards none of its processes is alive."""
    if process.returncode is not None:
        return
    ending = asyncio.ensure_future(_end(process))
    while not ending.done():
        # A further cancellation must wait too, since git holds the repository's lock.
        with suppress(asyncio.CancelledError):
            await asyncio.wait({ending})
    ending.result()


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_SECONDS):
            await process.wait()
    # Processes that git started may outlive it, and would hold the lock.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _last_said(file: Path, status: int) -> str:
    """Git's last lines, without credentials and control characters."""
    with file.open("rb") as opened:
        opened.seek(max(0, file.stat().st_size - _MAX_SAID_BYTES))
        text = opened.read().decode(errors="replace")
    lines = [
        _UNPRINTABLE.sub("", without_credentials(line)).strip()
        for line in re.split(r"[\r\n]+", text)
    ]
    last = [line for line in lines if line][-8:]
    if not last:
        last = [f"git was ended by signal {-status}" if status < 0 else f"exit status {status}"]
    return "\n".join(last)
