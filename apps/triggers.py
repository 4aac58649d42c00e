"""What starts actions: what each kind of trigger needs, and which triggers a release has."""

from collections.abc import Iterator
from typing import Final

from apps.config.actions import Action, ActionTrigger, TriggerType
from apps.config.app import AppConfig
from apps.cron import cron_problem

SUPPORTED_TRIGGERS: Final[frozenset[TriggerType]] = frozenset({
    "manual", "cron",
    "pre-provision", "post-provision", "pre-reprovision", "post-reprovision",
    "pre-deprovision", "post-deprovision",
    "pre-deploy-all-components", "post-deploy-all-components",
    "pre-teardown-all-components", "post-teardown-all-components",
    "pre-deploy-component", "post-deploy-component",
    "pre-teardown-component", "post-teardown-component",
})  # fmt: skip
"""The triggers that start something; the others are accepted, but never happen."""


def triggered_actions(config: AppConfig) -> list[tuple[Action, ActionTrigger]]:
    """Each trigger except those by hand, with its action, by the trigger's index, then by name.

    An action comes once for each of its triggers. Triggers name a component by its own name, even
    if the config uses its second name.
    """
    names = {c.var_name: c.name for c in config.components if c.var_name}
    names |= {c.name: c.name for c in config.components}
    found = [
        (action, _naming(trigger, names))
        for action in config.actions
        for trigger in action.triggers
        if trigger.type != "manual" and trigger.type in SUPPORTED_TRIGGERS
    ]
    return sorted(found, key=lambda item: (item[1].index, item[0].name))


def trigger_problems(trigger: ActionTrigger) -> Iterator[tuple[str, str]]:
    """What a trigger lacks: a key, and what would be right."""
    is_cron = trigger.type == "cron"
    if is_cron and trigger.cron_schedule is None:
        yield "cron_schedule", "is required for `cron`: when it is to run, as in `30 4 * * *`"
    elif is_cron and trigger.cron_schedule is not None:
        problem = cron_problem(trigger.cron_schedule)
        if problem:
            yield "cron_schedule", problem
    if _is_of_a_component(trigger) and trigger.component_name is None:
        yield "component_name", f"is required for `{trigger.type}`: which component it is"


def trigger_oddities(trigger: ActionTrigger) -> Iterator[tuple[str, str]]:
    """What has no effect in a trigger: a key, and why."""
    if trigger.type != "cron" and trigger.cron_schedule is not None:
        yield "cron_schedule", f"has no effect for `{trigger.type}`; remove it, or write `cron`"
    if not _is_of_a_component(trigger) and trigger.component_name is not None:
        yield "component_name", f"has no effect for `{trigger.type}`; remove it"


def _is_of_a_component(trigger: ActionTrigger) -> bool:
    return trigger.type.endswith("-component")


def _naming(trigger: ActionTrigger, names: dict[str, str]) -> ActionTrigger:
    if trigger.component_name is None:
        return trigger
    name = names.get(trigger.component_name, trigger.component_name)
    return trigger.model_copy(update={"component_name": name})
