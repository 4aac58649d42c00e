"""What an install was told to run, as its workflow says, and what an identity may therefore pull.

What was allowed once stays so: a release does not change, and a worker that is in the middle of it
must not lose it. What was not allowed is asked again, since the install may have been told of it a
moment ago: at most once a second for each identity, and all who wait share the question.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
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
"""What is remembered of one identity; its workflow tells of fewer."""
ASK_AGAIN_SECONDS = 1.0


class Installs(Protocol):
    """Knows what installs were told."""

    async def releases(self, identity: Identity) -> InstallReleases | None:
        """What the identity's install was told to run; None where there is no such install.

        Raises:
            BackendAway: nobody knows at this moment.
        """


class InstallWorkflows:
    """Asks the Install workflows."""

    def __init__(self, client_of: Callable[[str], Client]) -> None:
        """Ask with clients for each org, by its name."""
        self._client_of = client_of

    async def releases(self, identity: Identity) -> InstallReleases | None:
        """As `Installs` says."""
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
    """Of one identity."""

    def __init__(self) -> None:
        self.releases: OrderedDict[tuple[str, str], None] = OrderedDict()
        """By repository and digest; newest last."""
        self.asked = float("-inf")
        self.next: asyncio.Task[None] | None = None
        """Asks soon, and has not begun to."""


class Allowed:
    """What each identity may pull."""

    def __init__(
        self,
        installs: Installs,
        contents: ReleaseContents,
        ask_again_seconds: float = ASK_AGAIN_SECONDS,
    ) -> None:
        """Ask `installs` about one identity at most once in so many seconds."""
        self._ask_again = ask_again_seconds
        self._installs = installs
        self._contents = contents
        self._known: OrderedDict[tuple[str, str, str], _Known] = OrderedDict()
        self._asking: set[asyncio.Task[None]] = set()

    async def may_pull(self, identity: Identity, repository: str, kind: str, digest: str) -> bool:
        """Whether the manifest or blob belongs to a release that the identity was told to run.

        Raises:
            BackendAway: it cannot be told at this moment.
        """
        known = self._of(identity)
        if await self._has(known, repository, kind, digest):
            return True
        if known.next is None:
            known.next = asyncio.create_task(self._ask(identity, known))
            self._asking.add(known.next)
            known.next.add_done_callback(self._asked)
        # Others wait for the same: the end of one request must not end it.
        await asyncio.shield(known.next)
        return await self._has(known, repository, kind, digest)

    def _asked(self, task: "asyncio.Task[None]") -> None:
        self._asking.discard(task)
        if not task.cancelled():
            # Looked at even if everybody who waited for it has gone meanwhile.
            task.exception()

    def _of(self, identity: Identity) -> _Known:
        # By its key too: an install of the same name may be made anew, for another customer.
        key = (identity.org, identity.shown, identity.key)
        known = self._known.setdefault(key, _Known())
        self._known.move_to_end(key)
        while len(self._known) > _IDENTITIES:
            self._known.popitem(last=False)
        return known

    async def _ask(self, identity: Identity, known: _Known) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(known.asked + self._ask_again - loop.time())
        known.asked = loop.time()
        # Who comes from now on may know of something that this answer does not hold yet.
        known.next = None
        told = await self._installs.releases(identity)
        if told is None:
            return
        for release in reversed(told.releases):
            known.releases[told.repository, release] = None
            known.releases.move_to_end((told.repository, release))
        while len(known.releases) > _RELEASES:
            known.releases.popitem(last=False)

    async def _has(self, known: _Known, repository: str, kind: str, digest: str) -> bool:
        """Looks at the newest first: what is pulled now is mostly of that.

        Raises:
            BackendAway: none of those that can be read has it.
        """
        if kind == "manifests" and (repository, digest) in known.releases:
            return True
        away: BackendAway | None = None
        for where, release in reversed(list(known.releases)):
            if where != repository:
                continue
            try:
                contents = await self._contents.of(repository, release)
            except BackendAway as error:
                away = error
                continue
            if contents.has(kind, digest):
                return True
        if away is not None:
            raise away
        return False
