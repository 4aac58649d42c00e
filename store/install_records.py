"""What is recorded of an install, one object for each entity."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class _Record(BaseModel):
    """Tolerates fields of a newer version, as every message does."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class Output(_Record):
    """An output of a component or an action."""

    value: JsonValue = Field(repr=False)
    sensitive: bool = False


class ComponentRecord(_Record):
    """What was last deployed of a component, or of the sandbox."""

    component: str
    type: str
    status: Literal["applying", "done"]
    app: str
    release: str
    """The release that deployed it, and that it is torn down from."""
    artifact: str
    """Digest of its artifact."""
    config: str
    """Digest of its part of the app config."""
    inputs: dict[str, str] = Field(default_factory=dict)
    """A keyed digest of each input that it refers to."""
    generation: str = ""
    """The operation whose apply was the last to begin: another one may have changed the outputs."""
    built_on: dict[str, str] = Field(default_factory=dict)
    """The generation of each dependency when this component's variables were rendered; of the
    sandbox too, where its templates read it."""
    dependencies: list[str] = Field(default_factory=list)
    var_name: str | None = None
    outputs: dict[str, Output] = Field(default_factory=dict)


class ActionRecord(_Record):
    """What an action's last run left."""

    action: str
    status: Literal["running", "done", "failed"]
    outputs: dict[str, Output] = Field(default_factory=dict)


class ActionRun(ActionRecord):
    """One run of an action, step by step: what its end makes the action's record of."""

    run: str
    """The first execution run id of its workflow."""
    begun: float
    """Epoch seconds."""
    sent: dict[str, int] = Field(default_factory=dict)
    """How many bytes of outputs each step sent to the control plane."""


class DeployedRelease(_Record):
    """The release of the newest deploy that ended well."""

    app: str
    release: str


class ProvisionedRelease(_Record):
    """The release of the newest provision that ended well, with all actions that belong to it."""

    app: str
    release: str


class InstallRecord(_Record):
    """Known from the install's first run on."""

    app: str
