"""The two kinds of message, and what many of them share.

What people send (`Command`) refuses unknown fields, so that a misspelt key is told at once. What
control plane and workers send each other (`Message`) tolerates them, since either side may be
months older than the other. Fields are never removed and names never reused.

Each process takes in the whole contract and speaks a part of it, so a message is made ready when it
is first used: that spares an idle worker 4 MB, and each start its time.
"""

from pydantic import BaseModel, ConfigDict, Field

from contracts.names import Digest, Name, PartName


class Command(BaseModel):
    """What a person sends: the input of a workflow, or the argument of an update."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Message(BaseModel):
    """What control plane and workers send each other."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class Public(Message):
    """A message that is not encrypted: it says nothing that search attributes do not say, too."""


class Turn(Message):
    """The right to change an install."""

    number: int
    """Only grows; a worker refuses a number lower than one it has seen."""
    workflow_id: str
    """The run that holds it; a worker refuses another run with the same number."""


class WorkerInput(Message):
    """What every activity of an install worker is told."""

    requires: list[str] = Field(default_factory=list)
    """Features that a worker must know to do this rightly; it refuses what it does not know."""


class OperationInput(WorkerInput):
    """An operation on one part of an install, which is done once for its key."""

    install: Name
    app: Name
    release: Digest
    component: PartName
    key: str
    """First execution run id, component, verb and ordinal, joined by `/`."""
    turn: Turn
    inputs_revision: int = 0
    state_revision: int = 0
    """The newest revision of the install's state that the run knows of; the store must have it."""


class WorkerDescription(Message):
    """What an install worker says of itself."""

    protocol: int
    features: list[str]
    tools: dict[str, str]
    """Version by tool, for example `{"terraform": "1.11.4"}`; a missing tool is not in it."""
    version: str
    host: str
    approval: str = ""
    """Whose approval an apply needs by the customer's policy: `vendor`, `customer` or `both`."""
    rules: list[str] = Field(default_factory=list)
    """The keys of the customer's policy that are not at their default; nothing of what they say."""


class Nothing(Message):
    """An input or result without content, so that fields can be added later."""
