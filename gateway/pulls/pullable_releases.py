"""Which releases an identity may pull: those that its Install workflow was told to run.

A release that was allowed once stays allowed: its content never changes, and a worker that is
deploying it must not lose it. For one that is not allowed, the workflow is asked again, since it
may have been told to run it a moment ago. It is asked at most once a second per identity, and
concurrent requests share the answer.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from contracts.installs import InstallReleases
from contracts.names import install_workflow_id
from gateway.identity import Identity
from gateway.pulls.contents import BackendAway, ReleaseContents

_ANSWER = timedelta(seconds=10)
_IDENTITIES = 20_000
_RELEASES = 200
"""How many are remembered for one identity; its workflow reports fewer."""
ASK_AGAIN_SECONDS = 1.0


class Installs(Protocol):
    """Knows which releases installs were told to run."""

    async def releases(self, identity: Identity) -> InstallReleases | None:
        """The releases that the identity's install was told to run; None if it does not exist.

        Raises:
            BackendAway: it cannot be found out at this moment.
        """


class InstallWorkflows:
    """Asks the Install workflows."""

    def __init__(self, client_of: Callable[[str], Client]) -> None:
        """Use these clients; `client_of` takes an org's name."""
        self._client_of = client_of

    async def releases(self, identity: Identity) -> InstallReleases | None:
        """As in `Installs`."""
        handle = self._client_of(identity.org).get_workflow_handle(
            install_workflow_id(identity.name)
        )
        try:
            found: InstallReleases = await handle.query(
                "releases", result_type=InstallReleases, rpc_timeout=_ANSWER
            )
            return found
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return None
            reason = error.message
        except WorkflowQueryFailedError as error:
            reason = str(error)
        raise BackendAway(f"{handle.id} does not say what it was told to run: {reason}")


class _Known:
    """What is known about one identity."""

    def __init__(self) -> None:
        self.releases: OrderedDict[tuple[str, str], None] = OrderedDict()
        """By repository and digest; newest last."""
        self.asked = float("-inf")
        self.next: asyncio.Task[None] | None = None
        """Will ask soon, but has not begun to."""


@dataclass(eq=False)
class PullableReleases:
    """Knows what each identity may pull."""

    installs: Installs
    contents: ReleaseContents
    ask_again_seconds: float = ASK_AGAIN_SECONDS
    """`installs` is asked about one identity at most once in this time."""
    _known: OrderedDict[tuple[str, str, str], _Known] = field(
        default_factory=OrderedDict, init=False
    )
    _asking: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    async def may_pull(self, identity: Identity, repository: str, kind: str, digest: str) -> bool:
        """Whether the manifest or blob belongs to a release that the identity was told to run.

        Raises:
            BackendAway: it cannot be found out at this moment.
        """
        known = self._of(identity)
        if await self._has(known, repository, kind, digest):
            return True
        if known.next is None:
            known.next = asyncio.create_task(self._ask(identity, known))
            self._asking.add(known.next)
            known.next.add_done_callback(self._asked)
        # Other requests wait for the same task, so the end of this one must not cancel it.
        await asyncio.shield(known.next)
        return await self._has(known, repository, kind, digest)

    def _asked(self, task: "asyncio.Task[None]") -> None:
        self._asking.discard(task)
        if not task.cancelled():
            # Retrieved even if nobody waits any more, or asyncio would log it.
            task.exception()

    def _of(self, identity: Identity) -> _Known:
        # Also by its key: the install may be deleted and its name reused for another customer.
        key = (identity.org, identity.shown, identity.key)
        known = self._known.setdefault(key, _Known())
        self._known.move_to_end(key)
        while len(self._known) > _IDENTITIES:
            self._known.popitem(last=False)
        return known

    async def _ask(self, identity: Identity, known: _Known) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(known.asked + self.ask_again_seconds - loop.time())
        known.asked = loop.time()
        # Later requests may be for a release that this answer lacks yet, so they ask again.
        known.next = None
        found = await self.installs.releases(identity)
        if found is None:
            return
        for release in reversed(found.releases):
            known.releases[found.repository, release] = None
            known.releases.move_to_end((found.repository, release))
        while len(known.releases) > _RELEASES:
            known.releases.popitem(last=False)

    async def _has(self, known: _Known, repository: str, kind: str, digest: str) -> bool:
        """Whether a known release has it; the newest first, since most pulls are from that one.

        Raises:
            BackendAway: some releases cannot be read, and none of the others has it.
        """
        if kind == "manifests" and (repository, digest) in known.releases:
            return True
        away: BackendAway | None = None
        for where, release in reversed(list(known.releases)):
            if where != repository:
                continue
            try:
                contents = await self.contents.of(repository, release)
            except BackendAway as error:
                away = error
                continue
            if contents.has(kind, digest):
                return True
        if away is not None:
            raise away
        return False
