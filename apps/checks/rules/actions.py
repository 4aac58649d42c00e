"""Rules for actions and runbooks."""

from collections.abc import Iterator

from apps.checks.rules.sources import one_source
from apps.checks.violations import Rules, Violation, exactly_one, refused_keys
from apps.config.actions import Action, ActionStep, ActionTrigger, Runbook, RunbookStep
from apps.environment import script_variable_problem
from apps.input_values import json_problem
from apps.keys import below
from apps.triggers import trigger_oddities, trigger_problems


def _trigger(trigger: ActionTrigger) -> Iterator[Violation]:
    yield from (Violation(key, message) for key, message in trigger_problems(trigger))
    yield from (Violation(key, message, "warning") for key, message in trigger_oddities(trigger))


def _step(step: ActionStep) -> Iterator[Violation]:
    if step.command and step.inline_contents is not None:
        message = "has no effect beside `inline_contents`; remove it"
        yield Violation("command", message, "warning")
    elif not step.command and step.inline_contents is None:
        yield Violation("", "needs `command` or `inline_contents`; none is set")
    yield from one_source(step, or_none=True)
    yield from refused_keys("env_vars", step.env_vars, script_variable_problem)


def _action(action: Action) -> Iterator[Violation]:
    seen: set[str] = set()
    for index, step in enumerate(action.steps):
        if step.name in seen:
            message = f"there is already a step `{step.name}`; the outputs of the last one count"
            yield Violation(below("steps", index, "name"), message, "warning")
        seen.add(step.name)
        if action.image and step.inline_contents is None:
            message = "is required, since the action has an `image`"
            yield Violation(below("steps", index, "inline_contents"), message)


def _runbook(runbook: Runbook) -> Iterator[Violation]:
    seen: set[str] = set()
    for index, item in enumerate(runbook.input):
        if item.name in seen:
            yield Violation(
                below("input", index, "name"), f"there is already an input `{item.name}`"
            )
        if item.type == "json" and item.default is not None:
            problem = json_problem(item.default) if isinstance(item.default, str) else None
            if problem:
                yield Violation(below("input", index, "default"), problem)
        seen.add(item.name)


def _runbook_step(step: RunbookStep) -> Iterator[Violation]:
    if step.plan_only and step.type not in ("component_deploy", "sandbox_reprovision"):
        yield Violation("plan_only", f"has no meaning for `{step.type}`, which plans nothing")
    if step.type in ("component_deploy", "component_tear_down") and not step.component_name:
        yield Violation("component_name", f"is required for `{step.type}`")
    if step.type == "action":
        keys = ("action_name", "command", "inline_contents")
        problem = exactly_one({key: getattr(step, key) is not None for key in keys})
        if problem:
            yield Violation("", problem)
    yield from refused_keys("env_vars", step.env_vars, script_variable_problem)


RULES: Rules = {
    ActionTrigger: _trigger,
    ActionStep: _step,
    Action: _action,
    Runbook: _runbook,
    RunbookStep: _runbook_step,
}
