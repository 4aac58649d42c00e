"""The app config as models: what a vendor writes, after it was read and checked.

The models ignore fields that they do not know, since a worker may read the frozen config of a
newer release; the loader tells vendors of keys that are wrong. Strings that are templates are
kept as written.
"""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, field_validator

from apps.durations import parse_duration
from apps.parts import SANDBOX

Name = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_-]{0,127}$")]
"""The name of a component or an action."""

TopLevelName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z_][a-zA-Z0-9_-]{0,127}$")]
"""The name of an input or a group."""

FieldName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]{0,127}$")]
"""A name that a template can reach by a dot."""

TemplateText = str
"""A string that is rendered for each install; see `apps.templates`."""

InputType = Literal["string", "number", "bool", "json", "list", "yaml", "hcl"]

MAX_ACTION_TIMEOUT = timedelta(minutes=30)


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class Metadata(_Model):
    """What `metadata.toml` says of the app."""

    version: Literal["v1", "v2"]
    """Of the config format."""
    display_name: str = ""
    description: str = ""
    label_colors: dict[str, str] = Field(default_factory=dict)
    default_labels: dict[str, TemplateText] = Field(default_factory=dict)


class InputGroup(_Model):
    """A heading that inputs are shown under."""

    name: TopLevelName
    description: str
    display_name: str = ""


class Input(_Model):
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


class Source(_Model):
    """Where a component's files lie: a folder of the config itself."""

    repo: Literal["."]
    directory: str
    """Relative to the config's folder, with `/`."""
    branch: str | None = None
    """Known for the sake of existing configs; it has no effect for a folder of the config."""


class VarFile(_Model):
    """A file of Terraform variables."""

    contents: TemplateText


class TerraformModule(_Model):
    """What Terraform deploys, and how: a component, or the sandbox."""

    terraform_version: Annotated[str, StringConstraints(pattern=r"^v?\d+(\.\d+){0,2}$")]
    """The lowest version of Terraform that will do, within its major version."""
    public_repo: Source
    vars: dict[str, JsonValue] = Field(default_factory=dict)
    """Variables of the module; strings, at any depth, are templates."""
    env_vars: dict[str, TemplateText] = Field(default_factory=dict)
    var_file: list[VarFile] = Field(default_factory=list)
    max_auto_retries: Annotated[int, Field(ge=0, le=100)] = 0


class Sandbox(TerraformModule):
    """What prepares the customer's account before any component: network, cluster, DNS."""

    type: Literal["terraform"] = "terraform"


class TerraformComponent(TerraformModule):
    """A component that Terraform deploys."""

    type: Literal["terraform_module"]
    name: Name
    var_name: FieldName | None = None
    """A second name that templates can reach the component by."""
    dependencies: list[str] = Field(default_factory=list)
    """Names of components, besides those that templates refer to."""
    labels: dict[str, str] = Field(default_factory=dict)


Component = TerraformComponent
"""Any component; a union by `type` once there are more types."""


TriggerType = Literal[
    "manual",
    "cron",
    "pre-provision",
    "post-provision",
    "pre-deprovision",
    "post-deprovision",
    "pre-deploy-all-components",
    "post-deploy-all-components",
    "pre-teardown-all-components",
    "post-teardown-all-components",
    "pre-deploy-component",
    "post-deploy-component",
    "pre-teardown-component",
    "post-teardown-component",
]
"""What can start an action."""


class ActionTrigger(_Model):
    """What starts an action; one without any trigger can be run by hand, too."""

    type: TriggerType
    index: int = 0
    """Among the actions of one moment, the lower goes first."""
    cron_schedule: str | None = None
    """Of the type `cron` alone: five fields, or a name such as `@daily`; in UTC."""
    component_name: str | None = None
    """Of the types that end in `-component` alone."""


class ActionStep(_Model):
    """A script. Exactly one of `command` and `inline_contents` is set; neither is a template."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    env_vars: dict[str, TemplateText] = Field(default_factory=dict)
    command: str | None = None
    inline_contents: str | None = None


class Action(_Model):
    """Steps of script that run in the install's account."""

    name: Name
    steps: Annotated[list[ActionStep], Field(min_length=1)]
    triggers: list[ActionTrigger] = Field(default_factory=list)
    timeout: str = "5m"
    """Of the whole action, as Go writes durations; at most 30 minutes."""
    labels: dict[str, str] = Field(default_factory=dict)
    dependencies: list[str] = Field(default_factory=list)
    """Names of components."""
    enable_kube_config: bool | None = None

    @field_validator("timeout")
    @classmethod
    def _timeout_is_a_duration(cls, text: str) -> str:
        duration = parse_duration(text)
        if not timedelta() < duration <= MAX_ACTION_TIMEOUT:
            raise ValueError(f"{text} is out of range: more than 0s, at most 30m")
        return text

    @property
    def timeout_duration(self) -> timedelta:
        """The timeout of the whole action."""
        return parse_duration(self.timeout)


class AppConfig(_Model):
    """A whole app config. Components, actions, inputs and groups are in the order of their name."""

    metadata: Metadata
    sandbox: Sandbox | None = None
    inputs: list[Input] = Field(default_factory=list)
    groups: list[InputGroup] = Field(default_factory=list)
    components: list[Component] = Field(default_factory=list)
    actions: list[Action] = Field(default_factory=list)

    def component(self, name: str) -> Component | None:
        """The component of that name, if there is one."""
        return next((c for c in self.components if c.name == name), None)

    def module(self, part: str) -> TerraformModule | None:
        """What Terraform deploys as that part: the component of that name, or the sandbox."""
        return self.sandbox if part == SANDBOX else self.component(part)

    def action(self, name: str) -> Action | None:
        """The action of that name, if there is one."""
        return next((a for a in self.actions if a.name == name), None)
