"""Fetches what a config names elsewhere: resolves each reference, then fetches its content."""

import asyncio
import shutil
from collections import defaultdict
from collections.abc import Coroutine, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from activities.build.git import Git, GitFailed
from activities.build.mirrors import Mirror, Mirrors, Say, SourceRefused
from activities.build.web import MAX_TEXT_BYTES, fetch_text
from apps.config.sources import FetchedSource, Source
from apps.reading.addresses import (
    checked_directory,
    git_file,
    https_url,
    is_commit,
    is_git,
    repository_url,
    shown,
)
from apps.reading.fetched import Fetched, NotFetched, RemoteText, Tree, Wanted, commit_shown
from apps.spelling import did_you_mean
from apps.terraform.module_reach import lowest, reach, within
from artifacts.names import digest_of
from contracts.errors import EngineFailed, Unreachable

_AT_ONCE: Final = 4
"""How many repositories and files are fetched at the same time."""


@dataclass(frozen=True)
class Place:
    """A folder or file of a repository, at one commit."""

    url: str
    ref: str
    """The branch, tag or commit as the config names it."""
    path: str
    commit: str = ""
    full_ref: str = ""
    """The ref's full name in git; empty for a commit."""

    @property
    def repository(self) -> str:
        """The prefix of its files' names in messages."""
        repository = shown(self.url).removeprefix("https://github.com/").removesuffix(".git")
        return f"{repository}@{commit_shown(self.commit)}:"

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"{self.repository}{self.path}"


@dataclass
class Resolved:
    """What each reference of a config points to at this moment."""

    wanted: Sequence[Wanted]
    places: dict[Source | str, Place] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    """The contents of web addresses, which only their content identifies."""
    refused: dict[Source | str, NotFetched] = field(default_factory=dict)

    @property
    def modules(self) -> frozenset[Source | str]:
        """The sources that are Terraform modules, which may refer to files outside their folder."""
        return frozenset(one.what for one in self.wanted if one.is_module)

    @property
    def key(self) -> Hashable:
        """Equal if and only if everything resolved to the same."""
        digests = {url: digest_of(content) for url, content in self.contents.items()}
        return tuple(frozenset(one.items()) for one in (self.places, digests, self.refused))


@dataclass(frozen=True)
class Download:
    """What was fetched for a config."""

    fetched: Fetched
    sources: list[FetchedSource]
    """What the release records about it."""

    def tree(self, source: Source) -> Tree:
        """The files fetched for a source; the config must have no problems."""
        tree = self.fetched.trees[source]
        if not isinstance(tree, Tree):
            raise AssertionError("a config without problems has all of its repositories fetched")
        return tree


class Fetcher:
    """Fetches with git and over https; many builds may use it at once."""

    def __init__(self, folder: Path, git: Git | None = None) -> None:
        """Keep mirrors of repositories below `folder`."""
        self._mirrors = Mirrors(git or Git(), folder)

    async def resolve(self, wanted: Sequence[Wanted], say: Say) -> Resolved:
        """Find out where branches and tags point, and what web addresses contain, now.

        Raises:
            Unreachable, CredentialsRefused, EngineFailed, ToolMissing: it cannot be fetched.
        """
        resolved = Resolved(wanted)
        asked: dict[str, dict[Source | str, Place]] = defaultdict(dict)
        tasks: list[Coroutine[None, None, None]] = []
        for what in dict.fromkeys(one.what for one in wanted):
            if isinstance(what, str) and not is_git(what):
                tasks.append(self._ask_web(what, resolved))
            else:
                place = _named(what)
                asked[place.url][what] = place
        tasks += [self._ask_git(url, places, resolved, say) for url, places in asked.items()]
        await _all(tasks)
        return resolved

    async def fetch(self, resolved: Resolved, folder: Path, say: Say) -> Download:
        """Fetch what was resolved; files of repositories are written below `folder`.

        Raises:
            Unreachable, CredentialsRefused, EngineFailed, ToolMissing: it cannot be fetched.
        """
        found = _Found(resolved)
        by_url: dict[str, list[Source | str]] = defaultdict(list)
        for what, place in resolved.places.items():
            by_url[place.url].append(what)
        await _all([self._fetch(url, whats, found, folder, say) for url, whats in by_url.items()])
        return found.download()

    async def _ask_web(self, reference: str, resolved: Resolved) -> None:
        try:
            resolved.contents[reference] = await fetch_text(https_url(reference))
        except SourceRefused as refused:
            resolved.refused[reference] = NotFetched("", refused.message)

    async def _ask_git(
        self, url: str, asked: Mapping[Source | str, Place], resolved: Resolved, say: Say
    ) -> None:
        refs: dict[str, str] = {}
        if not all(is_commit(place.ref) for place in asked.values()):
            say(f"asks {shown(url)} for its branches and tags")
            try:
                refs = await self._mirrors.refs(url)
            except SourceRefused as refused:
                for what in asked:
                    resolved.refused[what] = _refusal(what, refused.key, refused.message)
                return
        for what, place in asked.items():
            at = _at_commit(place, refs)
            if at is not None:
                resolved.places[what] = at
                continue
            message = f"{shown(url)} has no branch or tag `{place.ref}`"
            meant = did_you_mean(place.ref, [_short(ref) for ref in refs if ref != "HEAD"])
            resolved.refused[what] = _refusal(what, "branch", message + meant)

    async def _fetch(
        self, url: str, whats: Sequence[Source | str], found: "_Found", folder: Path, say: Say
    ) -> None:
        async with self._mirrors.open(url, say) as mirror:
            for what in whats:
                place = found.resolved.places[what]
                say(f"fetches {place.name}")
                try:
                    await self._fetch_one(mirror, what, place, found, folder)
                except SourceRefused as refused:
                    found.refused[what] = _refusal(what, refused.key, refused.message)

    async def _fetch_one(
        self, mirror: Mirror, what: Source | str, place: Place, found: "_Found", folder: Path
    ) -> None:
        for is_last in (False, True):
            try:
                await mirror.fetch(place.commit, place.full_ref)
                if isinstance(what, Source):
                    top = folder / digest_of(repr(what).encode()).removeprefix("sha256:")
                    await _export(mirror, place, top, is_module=what in found.resolved.modules)
                    found.trees[what] = Tree(top, place.path, place.repository)
                else:
                    content = await mirror.text(place.commit, place.path, MAX_TEXT_BYTES)
                    found.contents[what] = content
                return
            except (GitFailed, EOFError) as error:
                # The mirror is damaged, by a full disk or a power cut: fetch it again.
                if is_last:
                    raise EngineFailed(f"{place.name} cannot be read: {error}") from None
                await mirror.discard()


async def _export(mirror: Mirror, place: Place, top: Path, *, is_module: bool) -> None:
    """Write a folder to its place below `top`; for a module also the folders that it refers to."""
    written, needed = place.path, {place.path}
    while True:
        inner = {one.removeprefix(written).lstrip("/") for one in needed if within(one, written)}
        await mirror.export(place.commit, written, top / written, inner)
        if not is_module:
            return
        reached = await asyncio.to_thread(reach, top, place.path)
        new = {one for one in reached.folders if not any(within(one, known) for known in needed)}
        if not new:
            return
        # The folders found now may refer to further ones.
        needed |= new
        written = lowest(needed)
        await asyncio.to_thread(shutil.rmtree, top)


@dataclass
class _Found:
    """What was fetched so far, and what was refused."""

    resolved: Resolved
    trees: dict[Source, Tree] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    refused: dict[Source | str, NotFetched] = field(default_factory=dict)

    def download(self) -> Download:
        contents = self.resolved.contents | self.contents
        refused = self.resolved.refused | self.refused
        trees: dict[Source, Tree | NotFetched] = dict(self.trees)
        texts: dict[str, RemoteText | NotFetched] = {}
        for reference, content in contents.items():
            place = self.resolved.places.get(reference)
            texts[reference] = _text(content, place.name if place else shown(reference))
        for what, problem in refused.items():
            if isinstance(what, Source):
                trees[what] = problem
            else:
                texts[what] = problem
        return Download(Fetched(trees, texts), self._sources(contents))

    def _sources(self, contents: Mapping[str, bytes]) -> list[FetchedSource]:
        users: dict[tuple[str, Place | None, str], set[str]] = defaultdict(set)
        for one in self.resolved.wanted:
            place, digest = self.resolved.places.get(one.what), ""
            if isinstance(one.what, str) and one.what in contents:
                digest = digest_of(contents[one.what])
            address = place.url if place else str(one.what)
            users[shown(address), place, digest].add(one.file)
        found = [
            FetchedSource(
                url=url,
                ref=place.ref if place else "",
                commit=place.commit if place else "",
                directory=place.path if place else "",
                digest=digest,
                used_by=sorted(files),
            )
            for (url, place, digest), files in users.items()
        ]
        return sorted(found, key=lambda one: (one.url, one.ref, one.directory))


async def _all(tasks: Sequence[Coroutine[None, None, None]]) -> None:
    """Run all tasks, a few at a time. If several fail, a failure that is not transient is raised
    first."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def within(task: Coroutine[None, None, None]) -> None:
        async with slots:
            await task

    results = await asyncio.gather(*map(within, tasks), return_exceptions=True)
    failures = [one for one in results if isinstance(one, BaseException)]
    lasting = (one for one in failures if not isinstance(one, Unreachable))
    first = next(lasting, next(iter(failures), None))
    if first is not None:
        raise first


def _named(what: Source | str) -> Place:
    if isinstance(what, Source):
        url, path = repository_url(what.repo), checked_directory(what.directory)
        return Place(url, what.branch or "HEAD", path)
    file = git_file(what)
    return Place(file.url, file.ref, file.path)


def _at_commit(place: Place, refs: Mapping[str, str]) -> Place | None:
    if is_commit(place.ref):
        return replace(place, commit=place.ref)
    for full in (f"refs/heads/{place.ref}", f"refs/tags/{place.ref}", place.ref):
        if full in refs:
            return replace(place, commit=refs[full], full_ref=full)
    return None


def _short(ref: str) -> str:
    return ref.removeprefix("refs/heads/").removeprefix("refs/tags/")


def _refusal(what: Source | str, key: str, message: str) -> NotFetched:
    return NotFetched(key if isinstance(what, Source) else "", message)


def _text(content: bytes, name: str) -> RemoteText | NotFetched:
    try:
        return RemoteText(content.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return NotFetched("", f"{name} is not UTF-8 (line {line})")
