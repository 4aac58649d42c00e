"""The activities of the engine: `files.plan` and `files.apply`."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel
from temporalio import activity

from activities.once import Say, once
from activities.operations.operation import Operation
from activities.operations.spec import Command, ToolRun
from activities.operations.status import ToolEnd
from activities.plans.bound import RenderedDigests, require_bound, require_release
from activities.plans.changes import Changes
from activities.plans.outputs import as_sent
from activities.plans.plan_store import (
    PlanFiles,
    PlanRecord,
    SavedPlan,
    load_plan,
    load_record,
    save_plan,
    sha256,
)
from activities.plans.record import record_applying, record_done
from activities.plans.view import render_view
from activities.removal import remove_each
from activities.secrets.kept import keep_secrets
from activities.secrets.masking import Mask
from activities.tools.environment import tool_environment
from activities.workplace import Workplace
from apps.config.components import PulumiComponent
from apps.templates import parse
from apps.templates.printing import go_text
from contracts.deploys import Applied, ApplyInput, Outputs, Plan, PlanInput
from contracts.errors import EngineFailed, NotThere, StalePlan
from contracts.messages import OperationInput
from store.install_records import Output
from store.interface import ANY
from tests.engines.files.declaration import FILES
from tests.engines.files.engine import find_writer
from tests.engines.files.plans import SAVED, Target, Texts, beyond, show
from wire.private_files import make_private_folder, write_private

R = TypeVar("R", bound=BaseModel)

WRITER = Path(__file__).with_name("writer.py")
PLAN, APPLY = FILES.work.activities


@dataclass(frozen=True)
class Job:
    """One component under the hands of the engine."""

    input: OperationInput
    operation: Operation
    target: Target
    wanted: Mapping[str, str]
    owned: list[str]
    artifact: str
    rendered: RenderedDigests
    mask: Mask

    def plan(self) -> tuple[Changes, Texts]:
        """What is to be done now; blocks."""
        return self.target.plan(self.wanted, self.owned)


class FilesActivities:
    """Runs on the install worker."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    @activity.defn(name=PLAN.name)
    async def plan(self, input: PlanInput) -> Plan:
        """Plan which files are written and removed."""
        return await self._once(input, Plan, partial(self._plan, input))

    @activity.defn(name=APPLY.name)
    async def apply(self, input: ApplyInput) -> Applied:
        """Do what was approved, and what a crash left of it."""
        return await self._once(input, Applied, partial(self._apply, input))

    async def _once(
        self, input: OperationInput, result: type[R], body: Callable[[Operation, Say], Awaitable[R]]
    ) -> R:
        return await once(
            self._workplace,
            key=input.key,
            subject=input.component,
            result=result,
            body=body,
            check=partial(self._check, input),
            tool_bytes=FILES.tool_bytes,
        )

    async def _check(self, input: OperationInput) -> None:
        await self._workplace.check_turn(input.turn)
        await asyncio.to_thread(self._workplace.state.require_revision, input.state_revision)
        if isinstance(input, ApplyInput):
            record = await asyncio.to_thread(load_record, self._workplace.store, input.plan_key)
            if record is not None:
                require_release(record, input)

    async def _plan(self, input: PlanInput, operation: Operation, say: Say) -> Plan:
        job = await asyncio.to_thread(self._open, input, operation)
        changes, texts = await asyncio.to_thread(job.plan)
        digest = await asyncio.to_thread(self._digest, input, changes)
        revision, outputs = input.state_revision, Outputs()
        if changes.empty:
            revision, outputs = await self._settle(job)
        else:
            await asyncio.to_thread(self._save, job, changes, texts, digest)
        return Plan(
            digest=digest,
            changes=changes.counts(),
            empty=changes.empty,
            state_revision=revision,
            outputs=outputs,
        )

    async def _apply(self, input: ApplyInput, operation: Operation, say: Say) -> Applied:
        approved = await asyncio.to_thread(load_plan, self._workplace.store, input.plan_key, SAVED)
        end = await operation.attach()
        job = await asyncio.to_thread(self._open, input, operation)
        if await asyncio.to_thread(self._digest, input, approved.changes) != input.digest:
            raise StalePlan("the saved plan is not the one that was approved")
        if end is None and not operation.started_elsewhere:
            require_bound(approved.record, job.artifact, job.rendered)
            end = await self._write(job, approved.file, say)
        while end is None or not end.succeeded():
            if end is not None and end.outcome == "exited":
                raise EngineFailed(f"the writer failed: {end.last_lines(mask=job.mask.text)}")
            rest = await self._rest(job, approved)
            if rest is None:
                break
            end = await self._write(job, rest, say)
        revision, outputs = await self._settle(job)
        return Applied(state_revision=revision, outputs=outputs)

    async def _rest(self, job: Job, approved: SavedPlan[Changes]) -> bytes | None:
        changes, texts = await asyncio.to_thread(job.plan)
        more = beyond(approved.changes, changes)
        if more:
            raise StalePlan(f"after a crash more would be done than was approved: {more}")
        return None if changes.empty else job.target.tool_input(texts)

    async def _write(self, job: Job, plan: bytes, say: Say) -> ToolEnd:
        await record_applying(self._workplace, job.input, job.artifact)
        file = job.operation.folder / SAVED.file
        await asyncio.to_thread(write_private, file, plan)
        await self._workplace.check_turn(job.input.turn)
        say("writes files")
        command = Command("write", [sys.executable, str(WRITER), str(file)])
        home = job.operation.folder
        run = ToolRun([command], home, tool_environment(home, {}), timeout_seconds=600)
        return await job.operation.run("apply", run)

    def _open(self, input: OperationInput, operation: Operation) -> Job:
        workplace, part = self._workplace, input.component
        config = workplace.releases.config(input.app, input.release)
        component = config.part(part)
        if not isinstance(component, PulumiComponent):
            raise NotThere(f"The release {input.release} has no {part} that is made of files.")
        work = workplace.work_folder(part)
        unpacked = workplace.releases.unpack_module(input.app, input.release, part, work)
        data = workplace.state.document(config, input.app).template_data()
        values = {name: parse(text).render(data) for name, text in component.config.items()}
        given = {name: go_text(one.value) for name, one in values.items()}
        mask = Mask.of(
            [
                *workplace.state.secrets(config),
                *(one.value for one in values.values() if one.sensitive),
            ]
        )
        make_private_folder(operation.folder)
        keep_secrets(operation.folder, mask.secrets)
        files = sorted(file for file in unpacked.folder.iterdir() if file.is_file())
        teardown = bool(getattr(input, "teardown", False))
        owned = workplace.store.get(_owned(part))
        return Job(
            input,
            operation,
            Target(Path(given["folder"]), given["lines"], float(given.get("seconds", "0"))),
            wanted={} if teardown else {file.name: file.read_text() for file in files},
            owned=json.loads(owned.data) if owned else [],
            artifact=unpacked.artifact,
            rendered=RenderedDigests.of(workplace.state.digest_key(), part, given, [], {}),
            mask=mask,
        )

    def _digest(self, input: PlanInput | ApplyInput, changes: Changes) -> str:
        key = self._workplace.state.digest_key()
        verb = "teardown" if input.teardown else "apply"
        return changes.digest(key, install=input.install, component=input.component, verb=verb)

    def _save(self, job: Job, changes: Changes, texts: Texts, digest: str) -> None:
        input, file = job.input, job.target.tool_input(texts)
        teardown = bool(getattr(input, "teardown", False))
        record = PlanRecord(
            component=input.component,
            digest=digest,
            teardown=teardown,
            plan_file=sha256(file),
            tool=find_writer().identity,
            providers="",
            state="",
            app=input.app,
            release=input.release,
            artifact=job.artifact,
            variables=job.rendered.variables,
            environment=job.rendered.environment,
        )
        verb = "teardown" if teardown else "apply"
        view = render_view(input.component, verb, changes, job.mask)
        files = PlanFiles(file=file, shown=show(changes), view=view)
        save_plan(self._workplace.store, input.key, SAVED, record, files)

    async def _settle(self, job: Job) -> tuple[int, Outputs]:
        """Record what the component is now."""
        state, store, part = self._workplace.state, self._workplace.store, job.input.component
        if getattr(job.input, "teardown", False):
            await asyncio.to_thread(store.delete, _owned(part))
            revision = await asyncio.to_thread(state.remove_component, part)
            await asyncio.to_thread(remove_each, [self._workplace.work_folder(part)])
            return revision, Outputs()
        owned = json.dumps(sorted(job.wanted)).encode()
        await asyncio.to_thread(partial(store.put, _owned(part), owned, if_match=ANY))
        outputs = {"folder": Output(value=str(job.target.folder), sensitive=False)}
        revision = await record_done(self._workplace, job.input, job.artifact, outputs)
        return revision, as_sent(outputs, job.mask)


def _owned(part: str) -> str:
    return f"files/{part}.json"
