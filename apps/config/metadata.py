"""What an app says about itself, and where it runs: metadata, runner and stack."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from apps.config.base import FileOrUrl, Model, Page, TemplateMap, TemplateName, TemplateValues, Text

CloudPlatform = Literal["aws", "azure", "gcp"]


class Metadata(Model):
    """What `metadata.toml` says about the app."""

    version: Literal["v1", "v2"]
    """The version of the config format."""
    display_name: str = ""
    description: str = ""
    readme: Page = ""
    """A page about each install; where a value is not known yet, the rest is shown."""
    label_colors: dict[str, str] = Field(default_factory=dict)
    default_labels: TemplateMap = Field(default_factory=dict)
    onboarding: dict[str, JsonValue] = Field(default_factory=dict)
    """How the app is shown in a catalogue."""


class Runner(Model):
    """The machine in the customer's account that works for the install."""

    runner_type: Annotated[str, StringConstraints(pattern=r"^(aws|azure|gcp)(-[a-z0-9]+)?$")]
    """The cloud; older configs also name the kind of machine, as in `aws-eks`."""
    env_vars: TemplateMap = Field(default_factory=dict)
    helm_driver: Literal["configmap", "secret"] = "configmap"
    """Where Helm stores its releases."""
    init_script_url: str | None = None
    instance_type: str | None = None

    @property
    def cloud_platform(self) -> str:
        """`aws`, `azure` or `gcp`."""
        return self.runner_type.partition("-")[0]


class NestedStack(Model):
    """A template of the vendor that becomes part of the stack."""

    name: Text
    template_url: FileOrUrl
    index: int = 0
    """Nested stacks run after the network and the runner, the lowest index first."""
    parameters: TemplateValues = Field(default_factory=dict)


class Stack(Model):
    """What the customer applies first: network, roles, and the runner's machine."""

    type: Literal["aws-cloudformation", "azure-bicep", "gcp-terraform"] | None = None
    """By default that of the runner's cloud."""
    name: TemplateName
    description: TemplateName
    vpc_nested_template_url: FileOrUrl | None = None
    runner_nested_template_url: FileOrUrl | None = None
    custom_nested_stacks: list[NestedStack] = Field(default_factory=list)
    deployment_scope: str | None = None
