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
    """A value that each install sets, or for which it uses the default."""

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
    """Accepted because existing configs have it; it has no effect."""


class SyncTarget(Model):
    """A key of a Kubernetes secret that gets the secret's value."""

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
    """If nobody sets it, 63 random letters and digits are generated."""
    format: Literal["", "base64"] = ""
    """Whether the text is the value itself, or its base64 form."""
    default: str | None = Field(default=None, repr=False)
    kubernetes_sync: bool = False
    """It is copied to the cluster, as the key `value` of a Kubernetes secret."""
    kubernetes_secret_namespace: TemplateText | None = None
    kubernetes_secret_name: TemplateText | None = None
    kubernetes_sync_targets: list[SyncTarget] = Field(default_factory=list)
    """All places in the cluster, if there are several or the key is not `value`."""
    user_configurable: bool = False
    """The customer sets it, as a parameter of the stack."""
