"""What runs where: all installs, from Temporal's visibility index, or one, asked directly."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from temporalio.client import WorkflowExecution
from temporalio.common import SearchAttributeKey
from temporalio.service import RPCError

from client.access import subjects, turned_away
from client.builds import BuildNow, builds_now
from client.control_plane import ControlPlane
from client.errors import CallFailed
from client.history import failure_type, failure_words
from client.plans import waiting_plans
from client.refusals import ANSWER, POLLS_AT_LEAST
from client.runs import status_of
from client.stuck import stuck_if_asked, why_stuck
from contracts.access import SubjectAccess
from contracts.deploys import WaitingPlan
from contracts.errors import DiskFull
from contracts.installs import InstallStatus
from contracts.names import (
    ATTRIBUTE_APP,
    ATTRIBUTE_COMPONENT,
    ATTRIBUTE_INSTALL,
    ATTRIBUTE_RELEASE,
    ATTRIBUTE_STATUS,
    NAME_PATTERN,
    install_queue,
)

ROWS = 50
"""How many installs are shown unless all are requested."""
_RUNS = 200
_AT_ONCE = 20
_OPEN = "ExecutionStatus = 'Running'"


@dataclass(frozen=True)
class RunNow:
    """An open run, from the visibility index."""

    workflow_id: str
    status: str
    component: str = ""
    """The component whose plan waits for an approval, or the action."""
    trouble: str = ""
    """Why its work is being retried: the newest attempt's error."""
    disk_is_full: bool = False
    """Whether the cause is a full disk on the worker's machine."""
    stuck: str = ""
    """If its workflow tasks keep failing: why, and what to do."""


@dataclass(frozen=True)
class Row:
    """One install in the list of all."""

    install: str
    app: str
    release: str
    status: str
    worker: str
    """`connected`, `away` or `never seen`; `revoked` or `paused` if it gets no more work."""
    runs: list[RunNow] = field(default_factory=list)
    failure: str = ""
    """What failed last, if the status is `failed`."""
    stuck: str = ""
    """Like `RunNow.stuck`, for the Install workflow itself."""


@dataclass(frozen=True)
class Overview:
    """Some installs, and the number of all."""

    rows: list[Row]
    total: int
    builds: list[BuildNow] = field(default_factory=list)
    """The running builds, and those that failed last."""


@dataclass(frozen=True)
class InstallDetails:
    """One install in detail."""

    status: InstallStatus
    worker: str
    """Like `Row.worker`."""
    polled: datetime | None
    """When its worker last asked for work, if known."""
    runs: list[RunNow]
    plans: dict[str, list[WaitingPlan]]
    """The plans that wait for an approval, by run."""
    schedules: dict[str, datetime | None]
    """When each schedule starts its action next."""


async def overview(plane: ControlPlane, app: str | None, *, everything: bool) -> Overview:
    """Look at all installs, or those of an app, by a fixed number of queries of the index.

    Raises:
        Away: Temporal does not answer.
    """
    query = f"WorkflowType = 'Install' AND {_OPEN}"
    query += f" AND {ATTRIBUTE_APP} = '{app}'" if app else ""
    found = await plane.find(query, None if everything else ROWS)
    total = len(found) if everything or len(found) < ROWS else await plane.count(query)
    found = [one for one in found if re.fullmatch(NAME_PATTERN, _install_of(one))]
    names = [_install_of(one) for one in found]
    runs, known, builds = await asyncio.gather(
        _runs_of(plane, names), _known(plane), builds_now(plane, app)
    )
    one_by_one = asyncio.Semaphore(_AT_ONCE)
    rows = [_row(plane, one, runs, known, one_by_one) for one in found]
    by_name = sorted(await asyncio.gather(*rows), key=lambda row: row.install)
    return Overview(by_name, total, builds)


async def install_details(plane: ControlPlane, install: str) -> InstallDetails:
    """Look at one install.

    Raises:
        Refused: there is no install of this name.
        Away: no control worker answers, or Temporal does not.
    """
    status = await status_of(plane, install)
    polled = await plane.polled(install_queue(install))
    runs = (await _runs_of(plane, [install])).get(install, [])
    schedules = await asyncio.gather(*(_next_time(plane, one) for one in status.schedules))
    return InstallDetails(
        status=status,
        worker=turned_away(await _known(plane), install)
        or _worker(polled, met=status.worker is not None),
        polled=polled,
        runs=runs,
        plans={
            run: plans
            for run in {one.workflow_id for one in runs if "approval" in one.status}
            if (plans := await _plans(plane, run))
        },
        schedules=dict(zip(status.schedules, schedules, strict=True)),
    )


async def _runs_of(plane: ControlPlane, installs: Sequence[str]) -> dict[str, list[RunNow]]:
    """The open runs of these installs, by install."""
    runs: dict[str, list[RunNow]] = {}
    for start in range(0, len(installs), ROWS):
        names = ", ".join(f"'{name}'" for name in installs[start : start + ROWS])
        query = f"{ATTRIBUTE_INSTALL} IN ({names}) AND WorkflowType != 'Install' AND {_OPEN}"
        for one in await plane.find(query, _RUNS):
            run = RunNow(one.id, _shown(one, ATTRIBUTE_STATUS), _shown(one, ATTRIBUTE_COMPONENT))
            runs.setdefault(_shown(one, ATTRIBUTE_INSTALL), []).append(run)
    one_by_one = asyncio.Semaphore(_AT_ONCE)
    return {
        name: await asyncio.gather(*(_with_trouble(plane, run, one_by_one) for run in some))
        for name, some in runs.items()
    }


async def _with_trouble(plane: ControlPlane, run: RunNow, one_by_one: asyncio.Semaphore) -> RunNow:
    """The run, with why it is stuck and why its activities are being retried, if they are."""
    async with one_by_one:
        try:
            handle = plane.client.get_workflow_handle(run.workflow_id)
            described = await handle.describe(rpc_timeout=ANSWER)
            run = replace(run, stuck=await why_stuck(plane.client, described))
        except RPCError:
            return run
    description = await plane.plain_text(described.raw_description)
    failures = [
        one.last_failure for one in description.pending_activities if one.HasField("last_failure")
    ]
    full = [one for one in failures if failure_type(one) == DiskFull.__name__]
    newest = next(iter([*full, *failures]), None)
    if newest is None:
        return run
    return replace(run, trouble=failure_words(newest), disk_is_full=bool(full))


async def _stuck(plane: ControlPlane, workflow_id: str, one_by_one: asyncio.Semaphore) -> str:
    async with one_by_one:
        return await stuck_if_asked(plane.client, workflow_id)


async def _row(
    plane: ControlPlane,
    found: WorkflowExecution,
    runs: dict[str, list[RunNow]],
    known: dict[str, SubjectAccess],
    one_by_one: asyncio.Semaphore,
) -> Row:
    install = _install_of(found)
    status = _shown(found, ATTRIBUTE_STATUS)
    stuck = await _stuck(plane, found.id, one_by_one)
    async with one_by_one:
        polled = await plane.polled(install_queue(install))
        failure = await _failure(plane, install) if status == "failed" else ""
    return Row(
        install=install,
        app=_shown(found, ATTRIBUTE_APP),
        release=_shown(found, ATTRIBUTE_RELEASE),
        status=status,
        worker=turned_away(known, install) or _worker(polled, met=status != "waits for its worker"),
        stuck=stuck,
        runs=runs.get(install, []),
        failure=failure,
    )


async def _known(plane: ControlPlane) -> dict[str, SubjectAccess]:
    """Who may pass the gateway; empty if there is no gateway, or if that cannot be found out."""
    try:
        return await subjects(plane)
    except CallFailed:
        return {}


async def _failure(plane: ControlPlane, install: str) -> str:
    """What failed last; empty if the install does not answer, so that the rest is still shown."""
    try:
        failure = (await status_of(plane, install)).failure
    except CallFailed:
        return ""
    return f"{failure.workflow_id}: {failure.message}" if failure else ""


async def _plans(plane: ControlPlane, run: str) -> list[WaitingPlan]:
    try:
        return await waiting_plans(plane, run)
    except CallFailed:
        # The run has ended meanwhile.
        return []


async def _next_time(plane: ControlPlane, schedule: str) -> datetime | None:
    try:
        described = await plane.client.get_schedule_handle(schedule).describe(rpc_timeout=ANSWER)
    except RPCError:
        return None
    return next(iter(described.info.next_action_times), None)


def _worker(polled: datetime | None, *, met: bool) -> str:
    if polled is not None and datetime.now(UTC) - polled < POLLS_AT_LEAST:
        return "connected"
    return "away" if met else "never seen"


def _install_of(found: WorkflowExecution) -> str:
    return found.id.partition("/")[2]


def _shown(found: WorkflowExecution, attribute: str) -> str:
    return found.typed_search_attributes.get(SearchAttributeKey.for_keyword(attribute)) or ""
