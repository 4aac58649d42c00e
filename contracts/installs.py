"""Install: the entity of one install; it grants turns, starts runs, and keeps the inputs."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field, StringConstraints

from contracts.activities import Activity
from contracts.deploys import ComponentOutcome, Inputs
from contracts.messages import (
    Command,
    Message,
    Nothing,
    Public,
    Turn,
    WorkerDescription,
    WorkerInput,
)
from contracts.names import ComponentName, Digest, Name, PartName
from contracts.releases import DeclaredInput
from contracts.stacks import Stack, StorePlace

RunId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
"""Temporal's id of one run; the server would refuse a grant to anything else for ever."""


class TurnRequest(Message):
    """The signal `request_turn`: a run asks for the right to change the install."""

    workflow_id: str
    run_id: RunId
    release: Digest | None = None
    """The release that the run will deploy, if it deploys one."""


class TurnEnd(Message):
    """The signal `end_turn`: a run that held the turn, or waited for it, has ended."""

    workflow_id: str
    run_id: str
    turn: Turn | None
    """None if it ended before its turn came."""
    release: Digest | None = None
    """The release that the install runs now, if the run changed that."""
    worker: WorkerDescription | None = None
    """The worker's description, if the run obtained a newer one."""
    target: Digest | None = None
    """The release that the run was meant to deploy."""
    outcomes: list[ComponentOutcome] = Field(default_factory=list)
    """The outcome of each part that the run considered."""
    failure: str = ""
    """Why the run failed; empty if it did not."""
    provisioned: bool | None = None
    """Whether the install is provisioned now, if the run changed that."""
    schedules: list[str] | None = None
    """The schedules that the install has now, if the run changed them."""
    inputs: Inputs | None = None
    """The inputs that the run worked with, if the install runs `release` now."""


class Holder(Message):
    """The run that holds the turn."""

    turn: Turn
    run_id: str


class ConnectedWorker(Message):
    """The install's worker, as last seen."""

    description: WorkerDescription
    seen: str
    """UTC, ISO 8601."""


class PartNow(Message):
    """A part of the install as the newest run left it."""

    component: PartName
    outcome: str
    reason: str = ""
    release: Digest | None
    """The release that the run was meant to deploy."""
    workflow_id: str
    """The run."""
    at: str
    """UTC, ISO 8601."""


class RunFailure(Message):
    """The newest failed run; none after it has succeeded."""

    workflow_id: str
    message: str
    at: str
    """UTC, ISO 8601."""


class ReleaseBefore(Message):
    """A release that the install has run, with the inputs that it had then."""

    release: Digest
    values: dict[str, str] = Field(default_factory=dict)
    """None of them is sensitive."""
    workflow_id: str
    """The run that deployed it."""
    at: str
    """UTC, ISO 8601."""


class MadeBy(Message):
    """The releases that created what exists of a part now."""

    component: PartName
    releases: list[Digest]
    """The one that was applied last, then one whose apply failed later, if any."""


class CarriedInstall(Message):
    """The state that the Install workflow carries over when it continues as new."""

    last_turn: int = 0
    holder: Holder | None = None
    queue: list[TurnRequest] = Field(default_factory=list)
    next_run: int = 1
    inputs: Inputs = Field(default_factory=Inputs)
    declared: list[DeclaredInput] | None = None
    declared_by: Digest | None = None
    """The release that declares them."""
    release: Digest | None = None
    worker: ConnectedWorker | None = None
    stack: Stack | None = None
    provisioned: bool = False
    parts: list[PartNow] = Field(default_factory=list)
    failure: RunFailure | None = None
    before: list[ReleaseBefore] = Field(default_factory=list)
    """Newest first; the first one is running now."""
    schedules: list[str] = Field(default_factory=list)
    told: list[Digest] | None = None
    """The releases that the install was told to run, newest first."""
    made: list[MadeBy] | None = None


class InstallInput(Command):
    """The input of the workflow `Install`."""

    install: Name
    app: Name
    release: Digest | None = None
    """A release whose declared inputs are read, so that they can be set before the first deploy."""
    store: StorePlace | None = None
    """The place of the install's store; without it, the worker's own disk."""
    carried: CarriedInstall | None = None
    """Set only by continue-as-new."""


class DeployRequest(Command):
    """The argument of the update `deploy`."""

    release: Digest


class ProvisionRequest(Command):
    """The argument of the update `provision`."""

    release: Digest


class DeprovisionRequest(Command):
    """The argument of the update `deprovision`."""


class RollbackRequest(Command):
    """The argument of the update `rollback`."""

    release: Digest | None = None
    """A release that the install has run; by default, the one before the newest."""
    inputs: bool = False
    """Whether to restore the inputs that it had then, too. Sensitive ones stay as they are, since
    an old secret may have been revoked."""


class ActRequest(Command):
    """The argument of the update `act`."""

    action: ComponentName
    release: Digest | None = None


class RunStarted(Message):
    """The immediate result of an update that starts a run: which run it is."""

    workflow_id: str
    run_id: str


class SetInputs(Command):
    """The argument of the update `set_inputs`: values by input; null removes a value."""

    values: dict[str, str | None]


class InstallStatus(Message):
    """The answer of the query `status`."""

    app: Name
    install: Name
    release: Digest | None
    """The release of the newest deploy that succeeded."""
    holder: Turn | None
    queue: list[str]
    inputs: Inputs
    declared: list[DeclaredInput] | None = None
    """The inputs that can be set; None until a release has been read."""
    worker: ConnectedWorker | None
    provisioned: bool = False
    parts: list[PartNow] = Field(default_factory=list)
    """Each part as its newest run left it."""
    failure: RunFailure | None = None
    before: list[ReleaseBefore] = Field(default_factory=list)
    """The releases that it has run, newest first."""
    schedules: list[str] = Field(default_factory=list)


class InstallReleases(Public):
    """The answer of the query `releases`: the releases that the install's worker may pull.

    Not encrypted, since gateways ask for it and have no install's key.
    """

    repository: str
    """The repository that holds all of them."""
    releases: list[Digest]
    """Those that the install was told to run, and those that created what exists; newest first."""


class RunTurn(Message):
    """The answer of a run's query `turn`."""

    turn: Turn | None
    wants: bool
    release: Digest | None = None
    """The release that the run will deploy, if it deploys one."""


class OpenRunsInput(Message):
    """The input of `install.open_runs`."""

    install: Name


class OpenRun(Message):
    """An open run of the install, and whether it holds or wants the turn."""

    workflow_id: str
    run_id: str
    turn: Turn | None
    wants: bool
    release: Digest | None = None
    """The release that it will deploy, if it deploys one."""


class OpenRuns(Message):
    """The open runs of an install, oldest first."""

    runs: list[OpenRun]


class WatchRunInput(Message):
    """The input of `install.watch_run`."""

    workflow_id: str
    run_id: str


class DescribeInput(WorkerInput):
    """The input of `worker.describe`."""

    install: Name


OPEN_RUNS = Activity("install.open_runs", OpenRunsInput, OpenRuns, timedelta(minutes=2))
WATCH_RUN = Activity(
    "install.watch_run",
    WatchRunInput,
    Nothing,
    # Ends when the watched run ends, which may wait for a person for weeks.
    timedelta(days=3650),
)
DESCRIBE = Activity("worker.describe", DescribeInput, WorkerDescription, timedelta(minutes=1))
