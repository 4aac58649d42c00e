"""Provision and Deprovision: the sandbox, and the end of everything that was deployed."""

from datetime import timedelta

from contracts.activities import Activity
from contracts.deploys import ComponentOutcome, FinishInput, Grant, Scope, ScopeInput
from contracts.messages import Command, Message, Nothing, Turn, WorkerInput
from contracts.names import Digest, Name

FEATURE_PROVISION = "provision/1"
"""The sandbox, and actions that are triggered."""


class ProvisionInput(Command):
    """What `Provision` is started with, by the Install workflow or by anybody."""

    install: Name
    release: Digest
    """The release whose sandbox it is."""
    grant: Grant | None = None
    """Set by the Install workflow alone, when the turn is free; refused from anybody else."""


class ProvisionResult(Message):
    """What `Provision` gives back."""

    install: Name
    release: Digest
    sandbox: ComponentOutcome | None
    """None where the release has no sandbox."""


class DeprovisionInput(Command):
    """What `Deprovision` is started with, by the Install workflow or by anybody."""

    install: Name
    grant: Grant | None = None
    """Set by the Install workflow alone, when the turn is free; refused from anybody else."""


class DeprovisionResult(Message):
    """What `Deprovision` gives back."""

    install: Name
    components: list[ComponentOutcome]
    """The sandbox is among them, last."""


class DeprovisionScopeInput(WorkerInput):
    """The input of `deprovision.scope`; each part is torn down from the release that made it."""

    install: Name
    app: Name
    turn: Turn


class DeprovisionFinishInput(WorkerInput):
    """The input of `deprovision.finish`."""

    install: Name
    app: Name
    turn: Turn


PROVISION_SCOPE = Activity("provision.scope", ScopeInput, Scope, timedelta(minutes=10))
PROVISION_FINISH = Activity("provision.finish", FinishInput, Nothing, timedelta(minutes=2))
DEPROVISION_SCOPE = Activity(
    "deprovision.scope", DeprovisionScopeInput, Scope, timedelta(minutes=10)
)
DEPROVISION_FINISH = Activity(
    "deprovision.finish",
    DeprovisionFinishInput,
    Nothing,
    # A store of many small objects far away.
    timedelta(minutes=30),
)
