"""Keeps the state of the Access workflow in memory: which workers may pass at this moment.

A long poll on the workflow's history signals a change at once, and a query reads it. So several
gateways share nothing but Temporal. While Temporal is away, the last known state stays in force.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError

from contracts.access import AccessInput, AccessPage, AccessPageRequest, EnrolledKey, SubjectAccess
from contracts.names import CONTROL_QUEUE, access_workflow_id
from gateway.identity import Identity, Standing
from wire.backoff import backoff

_log = logging.getLogger(__name__)

_LONGEST_WAIT_SECONDS = 15.0
_PAGE = 1000


@dataclass(frozen=True)
class _Known:
    """One version of an org's access."""

    version: int
    subjects: Mapping[str, SubjectAccess]
    token_keys: tuple[str, ...] = ()


class AccessWatch:
    """Implements `Access` for one org: the namespace that its client is connected to."""

    def __init__(self, client: Client) -> None:
        """Use this client; watching begins with `run`."""
        self._client = client
        self._org = client.namespace
        self._id = access_workflow_id(self._org)
        self._known: _Known | None = None
        self._waiters: dict[tuple[str, str], set[asyncio.Future[None]]] = {}
        self._read_once = asyncio.Event()
        self._stale = asyncio.Event()
        self._away = False
        self._reading = asyncio.Lock()
        self._reads_begun = 0

    @property
    def org(self) -> str:
        """The org whose access this is."""
        return self._org

    @property
    def client(self) -> Client:
        """The client, connected to the org's namespace."""
        return self._client

    async def ready(self) -> None:
        """Wait until the access was read once; until then nobody gets any work."""
        await self._read_once.wait()

    def standing(self, identity: Identity) -> Standing:
        """As in `Access`. Until the access was read once, everybody is paused."""
        if self._known is None:
            return Standing.PAUSED
        if identity.org != self._org:
            return Standing.REVOKED
        return _standing(self._known.subjects.get(identity.shown), identity.key)

    def key_of(self, subject: str, thumbprint: str) -> EnrolledKey | None:
        """An enrolled key, revoked or not; None if it is not known (any more)."""
        found = self._known.subjects.get(subject) if self._known else None
        keys = found.keys if found else []
        return next((one for one in keys if one.thumbprint == thumbprint), None)

    def access_of(self, subject: str) -> SubjectAccess | None:
        """A worker's access; None if the worker is not known."""
        return self._known.subjects.get(subject) if self._known else None

    @property
    def token_keys(self) -> tuple[str, ...]:
        """The control side's public keys, as base64url; empty if it has announced none."""
        return self._known.token_keys if self._known else ()

    def changed(self, identity: Identity) -> "asyncio.Future[None]":
        """As in `Access`."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        worker_key = (identity.shown, identity.key)
        self._waiters.setdefault(worker_key, set()).add(waiter)
        waiter.add_done_callback(partial(self._forget, worker_key))
        return waiter

    def _forget(self, worker_key: tuple[str, str], waiter: "asyncio.Future[None]") -> None:
        waiting = self._waiters.get(worker_key, set())
        waiting.discard(waiter)
        if not waiting:
            self._waiters.pop(worker_key, None)

    async def run(self) -> None:
        """Watch until cancelled."""
        reading = asyncio.create_task(self._read_whenever_stale())
        try:
            await self._watch()
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading

    async def refresh(self) -> None:
        """Read now, so that every change made before this call is known afterwards.

        Raises:
            RPCError: Temporal does not answer.
            WorkflowQueryFailedError: the workflow has not begun.
        """
        begun = self._reads_begun
        async with self._reading:
            if self._reads_begun > begun:
                # A read that began after this call has just ended, so its result can be shared.
                return
            self._reads_begun += 1
            self._learn(await self._read())

    async def _watch(self) -> None:
        delays = _delays()
        while True:
            try:
                await self._begin()
                async for _ in self._news():
                    self._stale.set()
                    self._back()
                    delays = _delays()
            except RPCError as error:
                self._gone(error)
                await asyncio.sleep(next(delays))

    async def _begin(self) -> None:
        """Start the org's Access workflow, unless it is running."""
        await self._client.start_workflow(
            "Access",
            AccessInput(org=self._org),
            id=self._id,
            task_queue=CONTROL_QUEUE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            static_summary="which workers may pass the gateway",
        )

    async def _news(self) -> AsyncIterator[None]:
        """Yields once at the beginning and after every event of the run; ends when the run does."""
        described = await self._client.get_workflow_handle(self._id).describe()
        run = self._client.get_workflow_handle(self._id, run_id=described.run_id)
        events = run.fetch_history_events(wait_new_event=True, skip_archival=True)
        yield
        async for event in events:
            if event.event_id >= described.history_length:
                yield

    async def _read_whenever_stale(self) -> None:
        delays = _delays()
        while True:
            await self._stale.wait()
            self._stale.clear()
            try:
                await self.refresh()
                delays = _delays()
            except (RPCError, WorkflowQueryFailedError) as error:
                self._gone(error)
                self._stale.set()
                await asyncio.sleep(next(delays))

    async def _read(self) -> _Known:
        """Reads all pages of one version."""
        subjects: dict[str, SubjectAccess] = {}
        version, after = -1, ""
        while True:
            page: AccessPage = await self._client.get_workflow_handle(self._id).query(
                "access", AccessPageRequest(after=after, limit=_PAGE), result_type=AccessPage
            )
            if after and page.version != version:
                # It changed between two pages, so start over with the first one.
                subjects, version, after = {}, -1, ""
                continue
            subjects |= page.subjects
            version = page.version
            if page.next is None:
                return _Known(version, subjects, tuple(page.token_keys))
            after = page.next

    def _learn(self, now: _Known) -> None:
        before = self._known.subjects if self._known else {}
        self._known = now
        self._read_once.set()
        self._back()
        for (subject, key), waiting in list(self._waiters.items()):
            was, now_is = before.get(subject), now.subjects.get(subject)
            if was is now_is or _standing(was, key) == _standing(now_is, key):
                continue
            _log.info("%s (key %s) is %s now.", subject, key, _standing(now_is, key).value)
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(None)

    def _gone(self, error: Exception) -> None:
        if not self._away:
            known = "so the last known state holds" if self._known else "so nobody may pass yet"
            _log.warning("The access of %s cannot be read, %s: %s", self._org, known, error)
        self._away = True

    def _back(self) -> None:
        if self._away and self._known is not None:
            _log.info("The access of %s can be read again.", self._org)
            self._away = False


class AccessOfOrgs:
    """Implements `Access` for all orgs of a gateway; workers of other orgs may not pass."""

    def __init__(self, watches: Iterable[AccessWatch]) -> None:
        """Ask the watch of each identity's org."""
        self._watches = {watch.org: watch for watch in watches}

    def of(self, org: str) -> AccessWatch | None:
        """The org's watch; None if this gateway does not serve it."""
        return self._watches.get(org)

    def standing(self, identity: Identity) -> Standing:
        """As in `Access`."""
        watch = self._watches.get(identity.org)
        return watch.standing(identity) if watch else Standing.REVOKED

    def changed(self, identity: Identity) -> "asyncio.Future[None]":
        """As in `Access`."""
        watch = self._watches.get(identity.org)
        if watch is None:
            # Never done: the orgs of a gateway change only when it restarts.
            return asyncio.get_running_loop().create_future()
        return watch.changed(identity)


def _standing(access: SubjectAccess | None, thumbprint: str) -> Standing:
    keys = access.keys if access else []
    key = next((one for one in keys if one.thumbprint == thumbprint), None)
    if access is None or access.revoked or key is None or key.revoked:
        return Standing.REVOKED
    return Standing.PAUSED if access.paused else Standing.ALLOWED


def _delays() -> Iterator[float]:
    return backoff(0.2, _LONGEST_WAIT_SECONDS)
