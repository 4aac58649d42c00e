"""The two kinds of message, and what many of them share.

What people send (`Command`) refuses unknown fields, so that a misspelt key is reported at once.
What control plane and workers send each other (`Message`) tolerates them, since either side may be
months older than the other. Fields are never removed and names never reused.

Each process imports the whole contract but uses only a part of it, so pydantic builds a model when
it is first used (`defer_build`). That saves an idle worker 4 MB, and time at each start.
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
    """A message that is not encrypted: it contains only what search attributes show, too."""


class Turn(Message):
    """The right to change an install."""

    number: int
    """Only ever grows; a worker refuses a number lower than one it has seen."""
    workflow_id: str
    """The run that holds it; a worker refuses another run with the same number."""


class WorkerInput(Message):
    """The base of the input of every activity of an install worker."""

    requires: list[str] = Field(default_factory=list)
    """Features that a worker needs to do this correctly; it refuses if it lacks one."""


class OperationInput(WorkerInput):
    """An operation on one part of an install, done once per key."""

    install: Name
    app: Name
    release: Digest
    component: PartName
    key: str
    """First execution run id, component, verb and ordinal, joined by `/`."""
    turn: Turn
    inputs_revision: int = 0
    state_revision: int = 0
    """The newest revision of the install's state that the run has seen; the store must have it."""


class WorkerDescription(Message):
    """How an install worker describes itself."""

    protocol: int
    features: list[str]
    tools: dict[str, str]
    """Version by tool, for example `{"terraform": "1.11.4"}`; missing tools are left out."""
    version: str
    host: str
    approval: str = ""
    """Whose approval the customer's policy requires to apply: `vendor`, `customer` or `both`."""
    rules: list[str] = Field(default_factory=list)
    """The keys of the customer's policy that differ from the default, without their values."""


class Nothing(Message):
    """An input or result without content, so that fields can be added later."""
