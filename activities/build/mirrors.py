"""Keeps a mirror of each repository below the worker's folder, with the commits of its releases.

A mirror is a bare repository of single commits, one mirror for each URL. It is created under
another name and renamed. A build that uses it holds its lock, and so does git: if the worker is
killed, the next build waits for a git that is still running, and then removes what it left behind.
Nothing is ever checked out: files are read from git's objects, so that a repository's filters,
attributes and hooks have no effect.
"""

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from activities.build.git import Git, GitFailed, Streams, TooLarge, folder_bytes
from activities.build.git_failures import Meaning, meaning
from activities.build.trees import Entry, parse_tree, size_problem, write_files
from activities.operations.locks import hold
from apps.reading.addresses import is_commit, shown
from apps.spelling import did_you_mean
from apps.terraform.module_reach import within
from contracts.errors import CredentialsRefused, EngineFailed, Unreachable
from wire.private_files import make_private_folder

_LEFT_BY_THE_KILLED: Final = ("**/*.lock", "**/tmp_*", ".output-*", ".said-*")
_FETCH: Final = (
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
)
_KEPT: Final = "refs/exclave"

Say = Callable[[str], None]


class SourceRefused(Exception):
    """A source of the config is not there, or cannot be used; `key` is the config key at fault."""

    def __init__(self, key: str, message: str) -> None:
        self.key = key
        self.message = message
        super().__init__(message)


class Mirrors:
    """The mirrors in a worker's folder; many builds may use them at once, in several processes."""

    def __init__(self, git: Git, folder: Path) -> None:
        """Keep the mirrors below `folder`."""
        self._git = git
        self._folder = folder

    async def refs(self, url: str) -> dict[str, str]:
        """The commits of all branches, tags and `HEAD`, by their full names, as they are now.

        Raises:
            SourceRefused: the repository is not there, or too large; otherwise as `Git.run`.
        """
        make_private_folder(self._folder)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=".asking-") as name:
            arguments = ("ls-remote", "--", url, "HEAD", "refs/heads/*", "refs/tags/*")
            try:
                text = await self._git.output(*arguments, folder=Path(name))
            except (GitFailed, TooLarge) as error:
                raise _failure(url, error) from None
        found: dict[str, str] = {}
        for line in text.decode(errors="replace").split("\n"):
            commit, _, ref = line.partition("\t")
            if is_commit(commit):
                # An annotated tag is followed by a line `<tag>^{}` with its commit.
                found[ref.removesuffix("^{}")] = commit
        return found

    @asynccontextmanager
    async def open(self, url: str, say: Say) -> AsyncIterator["Mirror"]:
        """The mirror of a repository, which no other build uses meanwhile."""
        make_private_folder(self._folder)
        path = self._folder / f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.git"
        waits = f"waits for another build that fetches {shown(url)}"
        with await hold(path.with_suffix(".lock"), lambda: say(waits)) as lock:
            yield Mirror(self._git, path, url, lock.descriptor)


class Mirror:
    """One mirror, while its lock is held."""

    def __init__(self, git: Git, path: Path, url: str, lock: int) -> None:
        self._git = git
        self._path = path
        self._url = url
        self._lock = lock
        self._ready = False

    async def fetch(self, commit: str, ref: str) -> None:
        """Fetch a commit, unless the mirror has it.

        Args:
            commit: Its full id.
            ref: The full name of a branch or tag that points to the commit; empty if none.

        Raises:
            SourceRefused: the repository or the commit is not there, or it is too large.
            Unreachable, CredentialsRefused, EngineFailed, ToolMissing: it cannot be fetched.
        """
        for is_anew in (False, True):
            await self._prepare()
            if await self._has(commit):
                return
            try:
                await self._fetch(commit, ref)
                return
            except TooLarge as error:
                await self.discard()
                raise _failure(self._url, error) from None
            except GitFailed as error:
                if is_anew or meaning(error.said) is not Meaning.UNKNOWN:
                    raise _failure(self._url, error) from None
                # The mirror itself may be damaged.
                await self.discard()

    async def export(
        self, commit: str, directory: str, destination: Path, needed: Collection[str] = ("",)
    ) -> None:
        """Write the files of a folder of a fetched commit.

        Args:
            commit: Its full id.
            directory: The folder, relative to the top of the repository.
            destination: Where to write it.
            needed: The subfolders that are required. Other files are written too, but those that
                cannot be packed are left out.

        Raises:
            SourceRefused: there is no such folder, or something in it cannot be packed.
        """
        tree = f"{commit}:{directory}"
        if not await self._is_folder(tree):
            raise SourceRefused("directory", await self._no_folder(commit, directory))
        listed = parse_tree(await self._read("ls-tree", "-r", "-z", "-l", tree))
        entries = [one for one in listed if not one.problem or _is_needed(one.path, needed)]
        await self._write(entries, destination)

    async def text(self, commit: str, path: str, limit_bytes: int) -> bytes:
        """The content of one file of a fetched commit.

        Raises:
            SourceRefused: it is not there, is not a file, or is too large.
        """
        listed = await self._read("ls-tree", "-z", "-l", "--full-tree", commit, "--", path)
        entry = next((one for one in parse_tree(listed) if one.path == path), None)
        if entry is None or not entry.is_file:
            names = await self._names("-r", commit)
            raise SourceRefused(
                "", f"{self._at(commit)} has no file `{path}`{did_you_mean(path, names)}"
            )
        if entry.size > limit_bytes:
            raise SourceRefused("", f"`{path}` is larger than {limit_bytes // 1024} KiB")
        return await self._read("cat-file", "blob", entry.object)

    async def discard(self) -> None:
        """Delete the mirror, so that everything is fetched again."""
        await asyncio.to_thread(shutil.rmtree, self._path, ignore_errors=True)
        self._ready = False

    async def _prepare(self) -> None:
        """Create the mirror, or remove what a killed git left in it."""
        if self._ready:
            return
        if self._path.is_dir():
            # Commits of older releases are dropped before they take up all the space allowed.
            if await asyncio.to_thread(folder_bytes, self._path) > self._git.max_bytes // 2:
                await self.discard()
            for left in (one for what in _LEFT_BY_THE_KILLED for one in self._path.glob(what)):
                left.unlink(missing_ok=True)
        if not self._path.is_dir():
            new = self._path.with_suffix(".new")
            await asyncio.to_thread(shutil.rmtree, new, ignore_errors=True)
            make_private_folder(new)
            await self._git.run("init", "--quiet", "--bare", "--template=", ".", folder=new)
            new.rename(self._path)
        self._ready = True

    async def _has(self, commit: str) -> bool:
        kept = f"{_KEPT}/{commit}^{{commit}}"
        return await self._answers("rev-parse", "--quiet", "--verify", kept)

    async def _fetch(self, commit: str, ref: str) -> None:
        try:
            await self._run(*_FETCH, "--depth=1", "--", self._url, f"+{commit}:{_KEPT}/{commit}")
            return
        except GitFailed as error:
            if meaning(error.said) is not Meaning.NO_SUCH_COMMIT:
                raise
        # The server provides only branches and tags, not single commits.
        if ref:
            await self._run(*_FETCH, "--depth=1", "--", self._url, f"+{ref}:{_KEPT}/moving")
            found = await self._read("rev-parse", "--verify", f"{_KEPT}/moving^{{commit}}")
            if found.decode().strip() != commit:
                raise Unreachable(f"{ref} of {shown(self._url)} moved while it was fetched")
        else:
            everything = [f"+refs/{kind}/*:{_KEPT}/all/{kind}/*" for kind in ("heads", "tags")]
            await self._run(*_FETCH, "--", self._url, *everything)
            if not await self._answers("cat-file", "-e", f"{commit}^{{commit}}"):
                raise SourceRefused("branch", f"{shown(self._url)} has no commit {commit}")
        await self._run("update-ref", f"{_KEPT}/{commit}", commit)

    async def _write(self, entries: list[Entry], destination: Path) -> None:
        problem = next((entry.problem for entry in entries if entry.problem), None)
        problem = problem or size_problem(entries)
        if problem:
            raise SourceRefused("directory", problem)
        with tempfile.TemporaryDirectory(dir=self._path, prefix=".output-") as name:
            wanted = Path(name) / "wanted"
            wanted.write_text("".join(f"{entry.object}\n" for entry in entries))
            objects = Path(name) / "objects"
            with wanted.open("rb") as asked, objects.open("xb") as found:
                streams = Streams(input=asked, output=found)
                await self._run("cat-file", "--batch", "--buffer", streams=streams)
            problem = await asyncio.to_thread(write_files, entries, objects, destination)
        if problem:
            raise SourceRefused("directory", problem)

    async def _is_folder(self, tree: str) -> bool:
        try:
            return await self._read("cat-file", "-t", tree) == b"tree\n"
        except GitFailed as error:
            if "does not exist in" in error.said:
                return False
            raise

    async def _no_folder(self, commit: str, directory: str) -> str:
        names = await self._names("-r", "-d", commit)
        return f"{self._at(commit)} has no folder `{directory}`{did_you_mean(directory, names)}"

    async def _names(self, *arguments: str) -> Collection[str]:
        listed = await self._read("ls-tree", "-z", "--name-only", "--full-tree", *arguments)
        return {name for name in listed.decode(errors="replace").split("\0") if name}

    def _at(self, commit: str) -> str:
        return f"{shown(self._url)} at {commit[:12]}"

    async def _run(self, *arguments: str, streams: Streams | None = None) -> None:
        await self._git.run(
            *arguments, folder=self._path, holding=self._lock, streams=streams or Streams()
        )

    async def _read(self, *arguments: str) -> bytes:
        return await self._git.output(*arguments, folder=self._path, holding=self._lock)

    async def _answers(self, *arguments: str) -> bool:
        try:
            await self._run(*arguments)
        except GitFailed:
            return False
        return True


def _is_needed(path: str, folders: Collection[str]) -> bool:
    return any(within(path, folder) for folder in folders)


def _failure(url: str, error: GitFailed | TooLarge) -> Exception:
    """The error to raise for a failure, with a message for the person who must act."""
    name = shown(url)
    if isinstance(error, TooLarge):
        return SourceRefused("repo", f"{name} has {error}, which is more than a build fetches")
    match meaning(error.said):
        case Meaning.PASSING:
            return Unreachable(f"{name} cannot be fetched now; git says:\n{error.said}")
        case Meaning.MISSING:
            return SourceRefused("repo", f"there is no repository at {name}; git says: {error}")
        case Meaning.NO_SUCH_COMMIT:
            return SourceRefused("branch", f"{name} has no such commit; git says: {error}")
        case Meaning.REFUSED:
            return CredentialsRefused(
                f"{name} does not exist, or git on the build worker may not read it. Check the "
                "name; for a private repository, configure a credential helper or an "
                f"ssh key in the git config of the build worker's user. Git says:\n{error.said}"
            )
        case Meaning.UNKNOWN:
            return EngineFailed(f"{name} cannot be fetched; git says:\n{error.said}")
