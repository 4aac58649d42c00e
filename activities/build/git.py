"""Runs the real `git`: bounded in time and size, asking nobody, and gone when its caller is.

Git's own config of the build worker's user applies: that is where a vendor says with which
credentials, by which proxy and from which mirror (`insteadOf`) repositories are fetched. Hooks,
prompts and what would lead git to another repository do not apply.

Protocols are those of `ALLOWED_PROTOCOLS`. Git looks at an address after `insteadOf` has changed
it, so `file` must be among them for a mirror on the worker's disk to be usable; a config cannot
name a file, since `apps.reading.addresses` knows no such form, and no submodule is ever followed.
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
"""Of one repository with all that was fetched of it so far."""

_LOOK_SECONDS: Final = 0.5
"""How often it is looked how much git has written: nothing tells of it."""
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
    """Git ended with a failure; `said` is what it said of it."""

    def __init__(self, said: str) -> None:
        self.said = said
        super().__init__(said)


class TooLarge(Exception):
    """A repository is larger than what is taken."""


@dataclass(frozen=True)
class Streams:
    """Where git reads from, and writes to."""

    input: IO[bytes] | None = None
    output: IO[bytes] | None = None


class Git:
    """Runs git with the environment of this process."""

    def __init__(
        self,
        *,
        timeout_seconds: float = 900.0,
        max_bytes: int = MAX_FETCHED_BYTES,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Let no command run longer, nor a repository's folder grow larger.

        Args:
            timeout_seconds: Of one command.
            max_bytes: Of a repository's folder.
            environment: Instead of this process's own.
        """
        self._timeout_seconds = timeout_seconds
        self.max_bytes = max_bytes
        self._environment = environment

    async def output(self, *arguments: str, folder: Path, holding: int | None = None) -> bytes:
        """What a command printed; as `run`."""
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
        """Run a command; when the caller is cancelled, git and all that it started are ended.

        Args:
            arguments: Without `git` itself.
            folder: Where; its size is watched.
            holding: The descriptor of a lock, which git then holds too: if this process dies, git
                is waited for by whoever comes next.
            streams: What it reads and writes, if not nothing.

        Raises:
            GitFailed: it ended with a failure.
            TooLarge: the folder grew beyond all bounds.
            ToolMissing: there is no git.
            Unreachable: it took too long.
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
            # A session of its own has no terminal on which ssh could ask, and is ended as a whole.
            start_new_session=True,
        )

    async def _watched(
        self, process: asyncio.subprocess.Process, arguments: tuple[str, ...], folder: Path
    ) -> None:
        waiting = asyncio.ensure_future(process.wait())
        try:
            async with asyncio.timeout(self._timeout_seconds):
                while not waiting.done():
                    await asyncio.wait({waiting}, timeout=_LOOK_SECONDS)
                    if await asyncio.to_thread(folder_bytes, folder) > self.max_bytes:
                        raise TooLarge(f"more than {self.max_bytes // (1024 * 1024)} MiB")
        except TimeoutError:
            raise Unreachable(
                f"git {arguments[0]} took longer than {self._timeout_seconds:.0f} s"
            ) from None
        finally:
            waiting.cancel()

    def _git_environment(self) -> dict[str, str]:
        whole = os.environ if self._environment is None else self._environment
        # Traces would put what is secret into files and messages.
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
    """The size of all files below a folder, some of which may be going away just now."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(Path(parent) / name).st_size
    return total


async def _ended(process: asyncio.subprocess.Process) -> None:
    """End what is left of git, kindly first; nothing of it is alive afterwards."""
    if process.returncode is not None:
        return
    ending = asyncio.ensure_future(_end(process))
    while not ending.done():
        # Whoever cancels again must wait, too: git holds the repository's lock.
        with suppress(asyncio.CancelledError):
            await asyncio.wait({ending})
    ending.result()


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_SECONDS):
            await process.wait()
    # What git started may outlive it, and holds the lock as long.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _last_said(file: Path, status: int) -> str:
    """Git's own last lines, fit to be read by everybody."""
    with file.open("rb") as opened:
        opened.seek(max(0, file.stat().st_size - _MAX_SAID_BYTES))
        text = opened.read().decode(errors="replace")
    lines = [
        _UNPRINTABLE.sub("", without_credentials(line)).strip()
        for line in re.split(r"[\r\n]+", text)
    ]
    told = [line for line in lines if line][-8:]
    if not told:
        told = [f"git was ended by signal {-status}" if status < 0 else f"exit status {status}"]
    return "\n".join(told)
