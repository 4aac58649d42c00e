"""Provision and Deprovision: the sandbox, and the end of everything that was deployed."""

from datetime import timedelta

from contracts.activities import Activity
from contracts.deploys import ComponentOutcome, FinishInput, Grant, Scope, ScopeInput
from contracts.messages import Command, Message, Nothing, Turn, WorkerInput
from contracts.names import Digest, Name

FEATURE_PROVISION = "provision/1"
"""Sandboxes and triggered actions."""


class ProvisionInput(Command):
    """The input of the workflow `Provision`, which Install or anybody else may start."""

    install: Name
    release: Digest
    """The release that contains the sandbox."""
    grant: Grant | None = None
    """Set only by the Install workflow, when the turn is free; refused from anybody else."""


class ProvisionResult(Message):
    """The result of the workflow `Provision`."""

    install: Name
    release: Digest
    sandbox: ComponentOutcome | None
    """None if the release has no sandbox."""


class DeprovisionInput(Command):
    """The input of the workflow `Deprovision`, which Install or anybody else may start."""

    install: Name
    grant: Grant | None = None
    """Set only by the Install workflow, when the turn is free; refused from anybody else."""


class DeprovisionResult(Message):
    """The result of the workflow `Deprovision`."""

    install: Name
    components: list[ComponentOutcome]
    """The sandbox is among them, last."""


class DeprovisionScopeInput(WorkerInput):
    """The input of `deprovision.scope`; each part is torn down with the release that created it."""

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
    # The store may be far away and hold many small objects.
    timedelta(minutes=30),
)
