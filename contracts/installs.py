"""Install: the entity of one install; it grants turns, starts runs, and keeps the inputs."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field, StringConstraints

from contracts.activities import Activity
from contracts.deploys import Inputs
from contracts.messages import Command, Message, Nothing, Turn, WorkerDescription, WorkerInput
from contracts.names import ComponentName, Digest, Name
from contracts.releases import DeclaredInput

RunId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
"""Temporal's id of one run; a grant to anything else would be refused by the server for ever."""


class TurnRequest(Message):
    """The signal `request_turn`: a run asks for the right to change the install."""

    workflow_id: str
    run_id: RunId


class TurnEnd(Message):
    """The signal `end_turn`: a run that held the turn, or waited for it, has ended."""

    workflow_id: str
    run_id: str
    turn: Turn | None
    """None where it ended before its turn came."""
    release: Digest | None = None
    """What the install runs now, if the run changed that."""
    worker: WorkerDescription | None = None
    """What the run learnt of the worker."""


class Holder(Message):
    """Who holds the turn."""

    turn: Turn
    run_id: str


class ConnectedWorker(Message):
    """The install's worker, as last seen."""

    description: WorkerDescription
    seen: str
    """UTC, ISO 8601."""


class CarriedInstall(Message):
    """What the Install workflow carries over when it continues as new."""

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


class InstallInput(Command):
    """What `Install` is started with."""

    install: Name
    app: Name
    release: Digest | None = None
    """A release to read the declared inputs from: they can be set before the first deploy."""
    carried: CarriedInstall | None = None
    """Set by continue-as-new alone."""


class DeployRequest(Command):
    """The argument of the update `deploy`."""

    release: Digest


class ActRequest(Command):
    """The argument of the update `act`."""

    action: ComponentName
    release: Digest | None = None


class RunStarted(Message):
    """What `deploy` and `act` give back at once: the run that was started."""

    workflow_id: str
    run_id: str


class SetInputs(Command):
    """The argument of the update `set_inputs`: values by input; null takes a value back."""

    values: dict[str, str | None]


class InstallStatus(Message):
    """The answer of the query `status`."""

    app: Name
    install: Name
    release: Digest | None
    """The release of the newest deploy that ended well."""
    holder: Turn | None
    queue: list[str]
    inputs: Inputs
    declared: list[DeclaredInput] | None = None
    """The inputs that can be set; None until a release was read."""
    worker: ConnectedWorker | None


class RunTurn(Message):
    """The answer of a run's query `turn`."""

    turn: Turn | None
    wants: bool


class OpenRunsInput(Message):
    """The input of `install.open_runs`."""

    install: Name


class OpenRun(Message):
    """An open run of the install, and how it stands to the turn."""

    workflow_id: str
    run_id: str
    turn: Turn | None
    wants: bool


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
