"""Scripts that run in the install's account: actions, and runbooks that string them together."""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue

from apps.config.base import (
    Contents,
    Labels,
    Model,
    Name,
    Page,
    TemplateMap,
    TemplateName,
    TemplateText,
    Text,
    Title,
    duration_within,
)
from apps.config.inputs import InputType
from apps.config.sources import Source
from apps.durations import parse_duration

MAX_ACTION_TIMEOUT: Final = timedelta(hours=12)
EVERY_WORKERS_ACTION_TIMEOUT: Final = timedelta(minutes=30)
"""Above this, a worker must announce that it can read the config."""

ActionTimeout = Annotated[str, duration_within(MAX_ACTION_TIMEOUT, "12h")]
"""A duration as Go writes it."""

TriggerType = Literal[
    "manual",
    "cron",
    "pre-provision",
    "post-provision",
    "pre-reprovision",
    "post-reprovision",
    "pre-deprovision",
    "post-deprovision",
    "pre-provision-sandbox",
    "post-provision-sandbox",
    "pre-reprovision-sandbox",
    "post-reprovision-sandbox",
    "pre-deprovision-sandbox",
    "post-deprovision-sandbox",
    "pre-deploy-all-components",
    "post-deploy-all-components",
    "pre-teardown-all-components",
    "post-teardown-all-components",
    "pre-deploy-component",
    "post-deploy-component",
    "pre-teardown-component",
    "post-teardown-component",
    "pre-enable-component",
    "post-enable-component",
    "pre-disable-component",
    "post-disable-component",
    "pre-update-inputs",
    "post-update-inputs",
    "pre-secrets-sync",
    "post-secrets-sync",
    "role-enabled",
    "role-disabled",
]
"""What can start an action."""


class ActionTrigger(Model):
    """What starts an action; any action can also be started by hand."""

    type: TriggerType
    index: int = 0
    """Of the actions that start at the same moment, the lowest goes first."""
    cron_schedule: str | None = None
    """Only for the type `cron`: five fields, or a name such as `@daily`; in UTC."""
    component_name: str | None = None
    """Only for types that end in `-component`."""


class ActionStep(Model):
    """A script: a command, possibly from a repository, or the script's text itself."""

    name: Title
    env_vars: TemplateMap = Field(default_factory=dict)
    command: TemplateText | None = None
    inline_contents: Contents | None = None
    public_repo: Source | None = None
    """The repository or folder that the command runs in."""
    connected_repo: Source | None = None


class Action(Model):
    """Steps of script that run in the install's account."""

    name: Name
    steps: Annotated[list[ActionStep], Field(min_length=1)]
    triggers: list[ActionTrigger] = Field(default_factory=list)
    timeout: ActionTimeout = "5m"
    """The timeout of the whole action, as Go writes durations; at most 12 hours."""
    labels: Labels = Field(default_factory=dict)
    dependencies: list[str] = Field(default_factory=list)
    """Names of components."""
    enable_kube_config: bool | None = None
    """Whether steps get a `KUBECONFIG`; by default they do if there is a cluster."""
    break_glass_role: TemplateText | None = None
    role: TemplateText | None = None
    """The role that its steps work with."""
    image: TemplateText | None = None
    """The image that its steps run in."""
    kubernetes_context: str | None = None
    """The cluster that its steps see, if not the sandbox's."""

    @property
    def timeout_duration(self) -> timedelta:
        """The timeout of the whole action."""
        return parse_duration(self.timeout)


class RunbookInput(Model):
    """What a person gives when a runbook is started."""

    name: Text
    display_name: str = ""
    description: str = ""
    default: JsonValue = None
    required: bool = False
    sensitive: bool = False
    type: InputType = "string"


RunbookStepType = Literal[
    "component_deploy", "component_tear_down", "action", "sandbox_reprovision",
    "sandbox_deprovision", "deploy",
]  # fmt: skip
"""The last is an older name of the first; the loader replaces it."""


class RunbookStep(Model):
    """One thing that a runbook does."""

    name: Title
    type: RunbookStepType
    plan_only: bool = False
    component_name: str | None = None
    """Only for steps that deploy or tear down a component."""
    deploy_dependents: bool = False
    deploy_dependencies: bool = False
    """An older name of the key before, which the loader replaces: it never meant dependencies."""
    tear_down_dependents: bool = False
    skip_component_deploys: bool = False
    """Only for `sandbox_reprovision`: the components are left as they are."""
    action_name: str | None = None
    """Only for `action`: one of the app's actions; without it the step has its own script."""
    command: TemplateText | None = None
    inline_contents: Contents | None = None
    env_vars: TemplateMap = Field(default_factory=dict)
    timeout: ActionTimeout | None = None
    role: TemplateText | None = None


class Runbook(Model):
    """Steps that a person starts together."""

    name: Name
    description: str = ""
    readme: Page = ""
    labels: Labels = Field(default_factory=dict)
    input: list[RunbookInput] = Field(default_factory=list)
    dependencies: list[str] = Field(default_factory=list)
    steps: Annotated[list[RunbookStep], Field(min_length=1)]


class KubernetesContext(Model):
    """A named cluster."""

    name: TemplateName
    component: Text
    """The component whose outputs hold `cluster`."""
