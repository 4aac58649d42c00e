"""`action.scope` and `action.step`."""

import asyncio
from functools import partial

from pydantic import JsonValue
from temporalio import activity

from activities.action.outputs_file import parse_outputs
from activities.action.script import STEP, Script, prepare_script
from activities.heartbeats import heartbeating
from activities.masking import Mask
from activities.once import Say, once
from activities.operations.operation import Operation, ToolEnd
from activities.workplace import Workplace
from apps.config import Action
from contracts import actions
from contracts.actions import ActionScope, ScopeAction, StepInput, StepResult
from contracts.deploys import Outputs
from contracts.errors import EngineFailed, LockHeld, NotThere, OutcomeUnknown
from store.install_state import ActionRecord, Output


class ActionActivities:
    """Runs on the install worker."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    @activity.defn(name=actions.SCOPE.name)
    async def scope(self, input: ScopeAction) -> ActionScope:
        """Which steps the action has, in the release that is deployed or the one that is named."""
        async with heartbeating():
            return await asyncio.to_thread(self._scope, input)

    def _scope(self, input: ScopeAction) -> ActionScope:
        deployed = self._workplace.state.deployed()
        if deployed is None:
            raise NotThere(
                f"Nothing is deployed to {input.install} yet, so it has no action to run; deploy "
                "a release first."
            )
        release = input.release or deployed.release
        action = self._action(deployed.app, release, input.action)
        return ActionScope(
            app=deployed.app,
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
        await asyncio.to_thread(self._workplace.state.require_revision, input.state_revision)
        return await once(
            self._workplace,
            key=input.key,
            subject=f"action/{input.action}",
            result=StepResult,
            body=partial(self._step, input),
        )

    async def _step(self, input: StepInput, operation: Operation, say: Say) -> StepResult:
        action = await asyncio.to_thread(self._action, input.app, input.release, input.action)
        step = action.steps[input.step]
        found = await operation.attach()
        if operation.started_elsewhere or (found is not None and found.outcome == "lost"):
            raise OutcomeUnknown(
                f"The step {step.name!r} of {input.action} was lost with its machine, and whether "
                "it took effect is not known. It is not repeated; look, and run the action again."
            )
        config = await asyncio.to_thread(self._workplace.releases.config, input.app, input.release)
        script = await asyncio.to_thread(
            prepare_script, self._workplace, config, step, input, operation.folder
        )
        say(f"runs {step.name}")
        end = found or await operation.run(STEP, script.run)
        return await asyncio.to_thread(self._take, input, action, end, script)

    def _take(self, input: StepInput, action: Action, end: ToolEnd, script: Script) -> StepResult:
        name = action.steps[input.step].name
        if not end.succeeded():
            self._record(input, action, {}, failed=True)
            raise _why_it_failed(f"{input.action}, step {name!r}", end, input, script.mask)
        try:
            values = parse_outputs(script.outputs.read_bytes())
        except EngineFailed as error:
            raise EngineFailed(f"{input.action}, step {name!r}: {error.message}") from None
        outputs = {
            key: Output(value=value, sensitive=script.mask.value(value) != value)
            for key, value in values.items()
        }
        revision = self._record(input, action, outputs, failed=False)
        return StepResult(
            step=name,
            outputs=Outputs(
                values={key: one.value for key, one in outputs.items() if not one.sensitive},
                sensitive=sorted(key for key, one in outputs.items() if one.sensitive),
            ),
            state_revision=revision,
        )

    def _record(
        self, input: StepInput, action: Action, outputs: dict[str, Output], *, failed: bool
    ) -> int:
        before = self._workplace.state.action(action.name) if input.step else None
        merged = {**(before.outputs if before else {}), **outputs}
        steps = _steps(before)
        steps[action.steps[input.step].name] = {key: one.value for key, one in outputs.items()}
        hidden = any(one.sensitive for one in merged.values())
        merged["steps"] = Output(value=steps, sensitive=hidden)
        last = input.step == len(action.steps) - 1
        return self._workplace.state.put_action(
            ActionRecord(
                action=action.name,
                status="failed" if failed else "done" if last else "running",
                outputs=merged,
            )
        )


def _steps(record: ActionRecord | None) -> dict[str, JsonValue]:
    found = record.outputs.get("steps") if record else None
    return dict(found.value) if found is not None and isinstance(found.value, dict) else {}


def _why_it_failed(what: str, end: ToolEnd, input: StepInput, mask: Mask) -> Exception:
    lines = mask.text(end.last_lines())
    said = f" Its last lines:\n{lines}" if lines else ""
    match end.outcome:
        case "timed_out":
            return EngineFailed(f"{what} took longer than {input.timeout_seconds:.0f} s.{said}")
        case "lease_lost":
            return LockHeld(f"{what} was stopped: another machine runs the action.{said}")
        case "interrupted":
            return EngineFailed(f"{what} was interrupted with its worker; it is not repeated.")
        case _:
            status = end.exits.get(STEP)
            if status is not None and status < 0:
                return EngineFailed(f"{what} was ended by signal {-status}.{said}")
            return EngineFailed(f"{what} failed with exit status {status}.{said}")
