"""What all scopes share: storing the newest inputs, and reading the release and the records."""

from activities.deploy.decisions import Target
from activities.engines import specs
from activities.installs.description import describe
from activities.workplace import Workplace
from apps.checks.unsupported import undeployable
from apps.config.app import AppConfig
from apps.input_values import InputErrors
from apps.parts import SANDBOX
from apps.triggers import triggered_actions
from contracts.deploys import Decision, Scope, ScopeInput, TriggeredAction
from contracts.engines import deployable
from contracts.errors import BadConfig, BadInput


def open_target(workplace: Workplace, input: ScopeInput) -> Target:
    """Store the newest inputs, and gather everything that decisions need; blocks.

    Raises:
        BadConfig: the release has something that no engine can deploy yet.
        BadInput: required inputs are missing, values are invalid, or the install is another app's.
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
    """The result of a scope activity; blocks."""
    return Scope(
        decisions=decisions,
        state_revision=workplace.state.revision(),
        worker=describe(workplace.rules, workplace.engines),
        actions=actions,
        provisioned=workplace.state.provisioned() is not None,
    )


def triggered(config: AppConfig, release: str | None = None) -> list[TriggeredAction]:
    """The actions that the release ties to events and times, in the order in which they run.

    Args:
        config: The release's app config.
        release: Its digest, if it is not the release of the run itself.
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
    """Refuse another app: tearing down what is deployed needs releases that it does not have."""
    here = workplace.state.app()
    if here is not None and here != app:
        raise BadInput(
            f"{workplace.install} is an install of {here}, and this run is of {app}. Deprovision "
            "it first, or give the other app an install of its own."
        )
