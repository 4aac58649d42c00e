"""`action.scope` and `action.step`."""

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from typing import Final

from pydantic import JsonValue
from temporalio import activity

from activities.action.outputs_file import read_outputs_file
from activities.action.script import STEP, Script, begun_script, prepare_script, run_id
from activities.heartbeats import heartbeating
from activities.once import Say, once
from activities.operations.operation import Operation
from activities.operations.status import ToolEnd
from activities.plans.outputs import LARGEST_SENT_BYTES, as_sent, sent_bytes
from activities.retention import drop_what_old_runs_left
from activities.secrets.kept import keep_secrets
from activities.secrets.masking import Mask
from activities.workplace import Workplace
from apps.config.actions import Action
from contracts import actions
from contracts.actions import ActionScope, ScopeAction, StepInput, StepResult
from contracts.errors import EngineFailed, NotThere, OutcomeUnknown
from contracts.names import action_subject
from store.install_records import ActionRun, Output

_LOST: Final = "how it ended is unknown"


class ActionActivities:
    """Runs on the install worker."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    @activity.defn(name=actions.SCOPE.name)
    async def scope(self, input: ScopeAction) -> ActionScope:
        """Which steps the action has, in the named release or else in the deployed one.

        Raises:
            NotThere: nothing is deployed and no release is named, or it has no such action.
        """
        async with heartbeating():
            return await asyncio.to_thread(self._scope, input)

    def _scope(self, input: ScopeAction) -> ActionScope:
        app, deployed = self._workplace.state.app(), self._workplace.state.deployed()
        release = input.release or (deployed.release if deployed else None)
        if app is None or release is None:
            raise NotThere(_why_no_action(input, known=app is not None))
        action = self._action(app, release, input.action)
        return ActionScope(
            app=app,
            release=release,
            steps=[step.name for step in action.steps],
            timeout_seconds=action.timeout_duration.total_seconds(),
            state_revision=self._workplace.state.revision(),
        )

    def _action(self, app: str, release: str, name: str) -> Action:
        config = self._workplace.releases.config(app, release)
        action = config.action(name)
        if action is None:
            there = ", ".join(one.name for one in config.actions) or "none"
            raise NotThere(f"The release {release} has no action {name!r}; it has: {there}.")
        return action

    @activity.defn(name=actions.STEP.name)
    async def step(self, input: StepInput) -> StepResult:
        """Run one step; a step that was lost without a result is not run again."""
        return await once(
            self._workplace,
            key=input.key,
            subject=action_subject(input.action),
            result=StepResult,
            body=partial(self._step, input),
            check=partial(self._check, input),
        )

    async def _check(self, input: StepInput) -> None:
        await asyncio.to_thread(self._workplace.state.require_revision, input.state_revision)

    async def _step(self, input: StepInput, operation: Operation, say: Say) -> StepResult:
        action = await asyncio.to_thread(self._action, input.app, input.release, input.action)
        step = action.steps[input.step]
        found = await operation.attach()
        lost = found is not None and found.outcome == "lost"
        if operation.started_elsewhere or lost:
            await asyncio.to_thread(self._record, input, action, None)
            why = _LOST if lost else "it ran on another machine, or its files are gone"
            raise _unknown(f"{input.action}, step {step.name!r}", why)
        config = await asyncio.to_thread(self._workplace.releases.config, input.app, input.release)
        place = self._workplace, config, step, input, operation.folder
        if found is not None:
            end, script = found, await asyncio.to_thread(begun_script, *place)
            await asyncio.to_thread(keep_secrets, operation.folder, script.mask.secrets)
        else:
            script, run = await asyncio.to_thread(prepare_script, *place)
            await asyncio.to_thread(keep_secrets, operation.folder, script.mask.secrets)
            await operation.require_script(script.digest)
            say(f"runs {step.name}")
            end = await operation.run(STEP, run)
        result = await asyncio.to_thread(self._take, input, action, end, script)
        if input.step == len(action.steps) - 1:
            await asyncio.to_thread(drop_what_old_runs_left, self._workplace)
        return result

    def _take(self, input: StepInput, action: Action, end: ToolEnd, script: Script) -> StepResult:
        name = action.steps[input.step].name
        if not end.succeeded():
            self._record(input, action, None)
            raise _why_it_failed(f"{input.action}, step {name!r}", end, input, script.mask)
        try:
            values = read_outputs_file(script.outputs)
        except EngineFailed as error:
            self._record(input, action, None)
            raise EngineFailed(f"{input.action}, step {name!r}: {error.message}") from None
        outputs = {
            key: Output(value=value, sensitive=script.mask.value(value) != value)
            for key, value in values.items()
        }
        hidden = [one.value for one in outputs.values() if one.sensitive]
        keep_secrets(script.folder, script.mask.and_also(hidden).secrets)
        # All steps of a run share one limit, since the run's result holds all of their outputs.
        others = sum(size for step, size in self._run(input).sent.items() if step != name)
        sent = as_sent(outputs, script.mask, LARGEST_SENT_BYTES - others)
        revision = self._record(input, action, outputs, sent_bytes(sent))
        return StepResult(step=name, outputs=sent, state_revision=revision)

    def _run(self, input: StepInput) -> ActionRun:
        """The record of the step's run so far."""
        run = run_id(input)
        found = self._workplace.state.action_run(input.action, run)
        return found or ActionRun(action=input.action, status="running", run=run, begun=time.time())

    def _record(
        self, input: StepInput, action: Action, left: Mapping[str, Output] | None, sent: int = 0
    ) -> int:
        """Record the step's outputs (None if it failed); returns the state's new revision."""
        before, name = self._run(input), action.steps[input.step].name
        outputs = {**before.outputs, **(left or {})}
        steps = {**_steps(before), name: {key: one.value for key, one in (left or {}).items()}}
        hidden = any(one.sensitive for one in outputs.values())
        last = input.step == len(action.steps) - 1
        return self._workplace.state.put_action_run(
            ActionRun(
                action=action.name,
                status="failed" if left is None else "done" if last else "running",
                outputs={**outputs, "steps": Output(value=steps, sensitive=hidden)},
                run=before.run,
                begun=before.begun,
                sent={**before.sent, name: sent},
            )
        )


def _why_no_action(input: ScopeAction, *, known: bool) -> str:
    if known:
        return (
            f"Nothing is deployed to {input.install} yet, so it has no action to run; deploy a "
            "release first, or name the release whose action it is."
        )
    return (
        f"Nothing is provisioned or deployed to {input.install}, so its worker does not know its "
        "app; provision or deploy a release first."
    )


def _steps(run: ActionRun) -> dict[str, JsonValue]:
    found = run.outputs.get("steps")
    return dict(found.value) if found is not None and isinstance(found.value, dict) else {}


def _unknown(what: str, why: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"{what}: {why}, and it may or may not have taken effect. It is not repeated; check, and "
        "run the action again."
    )


def _why_it_failed(what: str, end: ToolEnd, input: StepInput, mask: Mask) -> Exception:
    lines = end.last_lines(mask=mask.text)
    said = f" Its last lines:\n{lines}" if lines else ""
    match end.outcome:
        case "timed_out":
            return EngineFailed(f"{what} took longer than {input.timeout_seconds:.0f} s.{said}")
        case "lost":
            return _unknown(what, _LOST)
        case "lease_lost":
            # Treated as lost: the script had begun, and cannot be resumed.
            return _unknown(what, f"it was stopped, since {mask.text(end.message)}")
        case "interrupted":
            return EngineFailed(f"{what} was interrupted with its worker; it is not repeated.")
        case _:
            status = end.exits.get(STEP)
            if status is not None and status < 0:
                return EngineFailed(f"{what} was ended by signal {-status}.{said}")
            return EngineFailed(f"{what} failed with exit status {status}.{said}")
