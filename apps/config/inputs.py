"""What each install is given: inputs in groups, and secrets."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from apps.config.base import Model, TemplateName, TemplateText, Text, TopLevelName

InputType = Literal["string", "number", "bool", "json", "list", "yaml", "hcl"]


class InputGroup(Model):
    """A heading that inputs are shown under."""

    name: TopLevelName
    description: str
    display_name: str = ""


class Input(Model):
    """A value that each install sets, or takes the default of."""

    name: TopLevelName
    display_name: str
    description: str
    group: str | None = None
    default: JsonValue = None
    required: bool = False
    sensitive: bool = False
    type: InputType = "string"
    user_configurable: bool = False
    """The customer sets it, as a parameter of the stack."""
    internal: bool = False
    """Known for the sake of existing configs; it has no effect."""


class SyncTarget(Model):
    """A key of secrets in the cluster that a secret is brought to."""

    namespaces: Annotated[list[TemplateText], Field(min_length=1)]
    name: TemplateName
    key: Text


class Secret(Model):
    """A value that only the customer's side knows."""

    name: TopLevelName
    display_name: str = ""
    description: str
    required: bool = False
    """The customer must give it."""
    auto_generate: bool = False
    """It is made where nobody gives it: 63 letters and digits."""
    format: Literal["", "base64"] = ""
    """What its text is: itself, or base64 of what it stands for."""
    default: str | None = Field(default=None, repr=False)
    kubernetes_sync: bool = False
    """It is brought to the cluster, as the key `value` of a secret there."""
    kubernetes_secret_namespace: TemplateText | None = None
    kubernetes_secret_name: TemplateText | None = None
    kubernetes_sync_targets: list[SyncTarget] = Field(default_factory=list)
    """Every place in the cluster, where there is more than one or the key is not `value`."""
    user_configurable: bool = False
    """The customer sets it, as a parameter of the stack."""
