"""What the people of the story do: each step is a Temporal workflow, update or query.

If the control plane does not answer, they ask again. Nothing is done twice, since starts and
updates have ids.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from pydantic import BaseModel
from temporalio.client import (
    RPCTimeoutOrCancelledError,
    ScheduleActionExecutionStartWorkflow,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from artifacts.registry import Registry
from artifacts.sources import push_source
from client.control_plane import ControlPlane
from client.enrolment_tokens import fresh_token, write_token
from client.errors import Away, Refused
from client.following import End, Following
from client.plans import view_of
from client.refusals import ANSWER, is_outage
from client.updates import sent_until_taken
from contracts.builds import SOURCES_REPOSITORY, BuildInput, BuildResult
from contracts.deploys import Approval, WaitingPlan
from contracts.installs import InstallInput, InstallStatus, RunStarted
from contracts.names import install_workflow_id
from contracts.stacks import Stack
from exclave.screens.progress import TextReporter
from exclave.screens.terminal import Lines

T = TypeVar("T")

_AGAIN_SECONDS = 1.0
_LOOKS = 20
"""How often to look for the run of a triggered schedule before it is triggered again."""


class StoryFailed(Exception):
    """The story had another outcome than it should."""


class Cast:
    """The vendor, who builds and deploys, and the customer, who approves."""

    def __init__(self, plane: ControlPlane, registry: str, lines: Lines) -> None:
        self._plane = plane
        self._registry = registry
        self._lines = lines

    async def build(self, app: str, config: Path, number: int) -> BuildResult:
        """Upload a config folder, and have it built."""
        source = await asyncio.to_thread(self._upload, config)
        run = f"build/{app}/{number}"
        await self._started("Build", run, BuildInput(app=app, source=source), f"build {app}")
        end = await self.follow(run)
        return BuildResult.model_validate(good(run, end).result)

    def _upload(self, config: Path) -> str:
        with Registry(self._registry) as registry:
            return push_source(registry, config)

    async def install(self, install: str, app: str, release: str) -> None:
        """Start the Install workflow, which lives as long as the install."""
        await self._started(
            "Install",
            install_workflow_id(install),
            InstallInput(install=install, app=app, release=release),
            f"{app} for {install}",
        )

    async def apply_stack(self, install: str, folder: Path) -> None:
        """Write the stack's files, once Install has rendered them."""

        async def rendered() -> Stack:
            return await self._plane.ask(install_workflow_id(install), "stack", Stack)

        stack = await _answered(rendered, also=(Refused,))
        await asyncio.to_thread(_write, stack, folder)
        if stack.token_file:
            subject = f"install/{install}"
            token, _ = await _answered(lambda: fresh_token(self._plane, subject), also=(Refused,))
            await asyncio.to_thread(write_token, folder / stack.token_file, token)

    async def status(self, install: str) -> InstallStatus:
        """The install's own status."""
        return await _answered(
            lambda: self._plane.ask(install_workflow_id(install), "status", InstallStatus)
        )

    async def until(
        self, install: str, holds: Callable[[InstallStatus], bool], what: str
    ) -> InstallStatus:
        """The install's status, once `holds` accepts it; checked whenever its history has news."""
        self._lines(f"  waiting until {what}")
        handle = self._plane.run(install_workflow_id(install))
        while True:
            status = await self.status(install)
            if holds(status):
                return status
            events = handle.fetch_history_events(wait_new_event=True, skip_archival=True)
            try:
                known = (await handle.describe(rpc_timeout=ANSWER)).history_length
                async for event in events:
                    if event.event_id > known:
                        break
            except RPCError as error:
                await _wait_out(error)

    async def send_update(
        self, install: str, update: str, argument: BaseModel, result: type[T]
    ) -> T:
        """Send an update to the install, once."""
        handle = self._plane.run(install_workflow_id(install))
        update_id = str(uuid4())

        def send() -> Awaitable[T]:
            return handle.execute_update(
                update, argument, id=update_id, result_type=result, rpc_timeout=ANSWER
            )

        return await _answered(lambda: sent_until_taken(send))

    async def run(self, install: str, update: str, argument: BaseModel) -> tuple[str, End]:
        """Start a run by an update, follow it, and approve each of its plans."""
        started = await self.send_update(install, update, argument, RunStarted)
        return started.workflow_id, await self.follow(started.workflow_id, started.run_id)

    async def follow(self, run: str, run_id: str = "") -> End:
        """Follow a run to its end; each plan is read, and approved by its digest."""
        reporter = TextReporter(self._lines, lambda end: None)
        decided: set[str] = set()
        while True:
            try:
                async for snapshot in Following(self._plane, run, run_id).snapshots():
                    reporter.report(snapshot)
                    for plan in snapshot.plans:
                        if plan.digest not in decided and await self._approve(run, plan, reporter):
                            decided.add(plan.digest)
                    if snapshot.end is not None:
                        reporter.ended(run, snapshot.end)
                        return snapshot.end
            except (Away, RPCError) as error:
                await _wait_out(error)

    async def _approve(self, run: str, plan: WaitingPlan, reporter: TextReporter) -> bool:
        """Read the plan, and approve exactly that plan; False if this must be tried again."""
        try:
            text = await view_of(self._plane, run, plan)
            reporter.plan(run, plan, text)
            await self._plane.send_update(
                run, "approve", Approval(digest=plan.digest, by="ann"), WaitingPlan
            )
        except Away:
            return False
        except Refused as refused:
            # If only the answer was lost, the approval has arrived all the same.
            reporter.decided(plan, f"does not wait any more ({refused.message})")
            return True
        reporter.decided(plan, "is approved by ann, by its digest.")
        return True

    async def tick(self, schedule: str) -> str:
        """Trigger a schedule now; returns the run that it started."""
        handle = self._plane.client.get_schedule_handle(schedule)
        before = await self._ran_by(schedule)
        asked = False
        while True:
            if not asked:
                try:
                    await handle.trigger(rpc_timeout=ANSWER)
                except RPCError as error:
                    # It may have been triggered all the same: look for its run first.
                    await _wait_out(error)
                asked = True
            for _ in range(_LOOKS):
                new = [run for run in await self._ran_by(schedule) if run not in before]
                if new:
                    return new[-1]
                await asyncio.sleep(_AGAIN_SECONDS)
            asked = False

    async def _ran_by(self, schedule: str) -> list[str]:
        handle = self._plane.client.get_schedule_handle(schedule)
        described = await _answered(lambda: handle.describe(rpc_timeout=ANSWER))
        return [
            one.action.workflow_id
            for one in described.info.recent_actions
            if isinstance(one.action, ScheduleActionExecutionStartWorkflow)
        ]

    async def _started(self, type: str, run: str, input: BaseModel, summary: str) -> None:
        async def start() -> None:
            try:
                await self._plane.start(type, run, input, summary=summary)
            except WorkflowAlreadyStartedError:
                # An earlier attempt succeeded, but its answer was lost.
                return

        await _answered(start)


def forget_sources(registry: Path, vendor: Path) -> None:
    """Delete every config folder and upload; releases contain everything that is deployed."""
    shutil.rmtree(vendor)
    shutil.rmtree(registry / SOURCES_REPOSITORY)


def _write(stack: Stack, folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, content in stack.files.items():
        (folder / name).write_text(content)


def good(run: str, end: End) -> End:
    """The end, if the run succeeded; otherwise raises StoryFailed."""
    if end.how != "done":
        raise StoryFailed(f"{run} {end.how}: {end.message}")
    return end


async def _answered(call: Callable[[], Awaitable[T]], also: tuple[type[Exception], ...] = ()) -> T:
    """The answer, however long the control plane is away."""
    while True:
        try:
            return await call()
        except WorkflowUpdateFailedError:
            raise
        except (Away, RPCError, RPCTimeoutOrCancelledError) as error:
            await _wait_out(error)
        except also as error:
            await _wait_out(error)


async def _wait_out(error: Exception) -> None:
    if isinstance(error, RPCError) and not is_outage(error):
        raise error
    await asyncio.sleep(_AGAIN_SECONDS)
