"""The records of an install, one object for each entity."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class _Record(BaseModel):
    """The base of records; like messages, they tolerate fields of newer versions."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class Output(_Record):
    """An output of a component or an action."""

    value: JsonValue = Field(repr=False)
    sensitive: bool = False


class ComponentRecord(_Record):
    """The last deployment of a component, or of the sandbox."""

    component: str
    type: str
    status: Literal["applying", "done"]
    app: str
    release: str
    """The release that deployed it, and with which it is torn down."""
    artifact: str
    """Digest of its artifact."""
    config: str
    """Digest of its part of the app config."""
    inputs: dict[str, str] = Field(default_factory=dict)
    """A keyed digest of each input that it refers to."""
    generation: str = ""
    """The operation whose apply began last; if it changes, the outputs may have changed, too."""
    built_on: dict[str, str] = Field(default_factory=dict)
    """The generation of each dependency when this component's variables were rendered, including
    the sandbox's if its templates read it."""
    dependencies: list[str] = Field(default_factory=list)
    var_name: str | None = None
    outputs: dict[str, Output] = Field(default_factory=dict)


class ActionRecord(_Record):
    """The state after an action's last run."""

    action: str
    status: Literal["running", "done", "failed"]
    outputs: dict[str, Output] = Field(default_factory=dict)


class ActionRun(ActionRecord):
    """The progress of one run of an action; at its end, it becomes the action's record."""

    run: str
    """The first execution run id of its workflow."""
    begun: float
    """Epoch seconds."""
    sent: dict[str, int] = Field(default_factory=dict)
    """How many bytes of outputs each step sent to the control plane."""


class DeployedRelease(_Record):
    """The release of the newest deploy that succeeded."""

    app: str
    release: str


class ProvisionedRelease(_Record):
    """The release of the newest provision that succeeded, including all of its actions."""

    app: str
    release: str


class InstallRecord(_Record):
    """What is known from the install's first run on."""

    app: str
