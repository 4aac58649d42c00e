"""What every scope begins with: the newest inputs, the release, and what the store has."""

from activities.deploy.decisions import Target
from activities.engines import specs
from activities.installs.description import describe
from activities.workplace import Workplace
from apps.checks.unsupported import undeployable
from apps.config import AppConfig
from apps.input_values import InputErrors
from apps.parts import SANDBOX
from apps.triggers import triggered_actions
from contracts.deploys import Decision, Scope, ScopeInput, TriggeredAction
from contracts.engines import deployable
from contracts.errors import BadConfig, BadInput


def open_target(workplace: Workplace, input: ScopeInput) -> Target:
    """Bring the newest inputs to the store, and gather what a decision is made of; blocks.

    Raises:
        BadConfig: the release has something that no engine can run yet.
        BadInput: required inputs are missing, values do not fit, or it is another app's install.
    """
    _require_app(workplace, input.app)
    releases, state = workplace.releases, workplace.state
    config = releases.config(input.app, input.release)
    missing = undeployable(config, deployable(specs(workplace.engines)))
    if missing:
        raise BadConfig(
            "the release cannot be deployed yet: " + "; ".join(str(one) for one in missing)
        )
    index = releases.index(input.app, input.release)
    if state.app() is None:
        state.put_app(input.app)
    state.update_inputs(input.inputs)
    try:
        inputs = state.inputs(config)
    except InputErrors as error:
        raise BadInput(
            "; ".join(error.problems)
            + f". Set inputs with `exclave set-inputs {input.install} NAME=VALUE` (the update "
            "`set_inputs` on the Install workflow); sensitive ones on the worker's machine, with "
            "`exclave worker set-input NAME`."
        ) from None
    return Target(
        release=input.release,
        config=config,
        artifacts={**index.components, **({SANDBOX: index.sandbox} if index.sandbox else {})},
        inputs=inputs,
        deployed=state.components(),
        key=state.digest_key(),
        sandbox=state.component(SANDBOX),
    )


def scope_of(
    workplace: Workplace, decisions: list[Decision], actions: list[TriggeredAction]
) -> Scope:
    """The answer of a scope; blocks."""
    return Scope(
        decisions=decisions,
        state_revision=workplace.state.revision(),
        worker=describe(workplace.rules, workplace.engines),
        actions=actions,
        provisioned=workplace.state.provisioned() is not None,
    )


def triggered(config: AppConfig, release: str | None = None) -> list[TriggeredAction]:
    """What the release wants to be run by itself, in the order in which it is to run.

    Args:
        config: The release's app config.
        release: Its digest, where it is not the release of the run itself.
    """
    return [
        TriggeredAction(
            action=action.name,
            trigger=trigger.type,
            component=trigger.component_name,
            cron=trigger.cron_schedule,
            release=release,
        )
        for action, trigger in triggered_actions(config)
    ]


def _require_app(workplace: Workplace, app: str) -> None:
    """Whatever is deployed would be torn down from releases that another app does not have."""
    here = workplace.state.app()
    if here is not None and here != app:
        raise BadInput(
            f"{workplace.install} is an install of {here}, and this run is of {app}. Deprovision "
            "it first, or give the other app an install of its own."
        )
