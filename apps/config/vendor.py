"""What in an app config is only for the vendor's control plane: installs, branches, triggers.

None of it goes into a release: a customer's worker must not see who the other customers are.
"""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from apps.config.base import FileOrUrl, Labels, Model, Text, Title
from apps.config.metadata import NestedStack
from apps.config.sources import Source


class AwsAccount(Model):
    """Where an install is, on AWS."""

    region: Text


class GcpAccount(Model):
    """Where an install is, on Google Cloud."""

    project_id: str | None = None
    region: str | None = None


class AzureAccount(Model):
    """Where an install is, on Azure."""

    location: Text


class StackOverrides(Model):
    """What replaces parts of the app's stack in an install's stack."""

    vpc_nested_template_url: FileOrUrl | None = None
    runner_nested_template_url: FileOrUrl | None = None
    custom_nested_stacks: list[NestedStack] = Field(default_factory=list)


class ComponentOverrides(Model):
    """What an install adds to one of the app's components."""

    helm_values: JsonValue = None
    tf_vars: JsonValue = None


class InstallConfig(Model):
    """An install, as the vendor describes it."""

    name: Title
    """The name that people use, such as `Customer B`."""
    app_branch: str | None = None
    """The branch that it follows."""
    approval_option: Literal["approve-all", "auto", "prompt"] = "prompt"
    labels: Labels = Field(default_factory=dict)
    aws_account: AwsAccount | None = None
    gcp_account: GcpAccount | None = None
    azure_account: AzureAccount | None = None
    inputs: list[dict[str, JsonValue]] = Field(default_factory=list)
    """Values by the name of their input; a table for each group."""
    stack_overrides: StackOverrides | None = None
    components: dict[str, ComponentOverrides] = Field(default_factory=dict)
    component_toggles: dict[str, bool] = Field(default_factory=dict)


class InstallsLocation(Model):
    """A repository that holds the files of installs."""

    public_repo: Source | None = None
    connected_repo: Source | None = None


class BranchRun(Model):
    """Which events in its repository run a branch."""

    mode: str | None = None
    """As in `push`, `manual`, `on_tag_prefix`, `on_github_label` or `all`."""
    tag_prefix: str | None = None
    """For the mode that waits for a tag."""
    github_label: str | None = None
    """For the mode that waits for a label on a pull request."""


class InstallGroup(Model):
    """Installs that a branch changes together."""

    name: Text
    order: int = 0
    """The lowest goes first."""
    install_ids: list[str] = Field(default_factory=list)
    install_names: list[str] = Field(default_factory=list)
    label_selector: Labels = Field(default_factory=dict)
    default: bool = False
    """It has the installs that are in no other group."""
    auto_approve_on_policies_passing: bool | None = None
    max_parallel: Annotated[int, Field(ge=1)] | None = None


class BranchPreview(Model):
    """What is shown for a pull request into a branch."""

    mode: Literal["plan-only", "apply", "build-only"] = "plan-only"
    install_id: str | None = None
    install_name: str | None = None
    label_selector: Labels = Field(default_factory=dict)
    set_statuses: bool | None = None
    comment: bool | None = None
    ignore_drafts: bool | None = None
    react: bool | None = None


class Branch(Model):
    """A branch of the config's repository that installs follow."""

    name: Text
    public_repo: Source | None = None
    connected_repo: Source | None = None
    run: BranchRun | None = None
    install_groups: list[InstallGroup] = Field(default_factory=list)
    preview: BranchPreview | None = None
    post_deploy_runbooks: list[str] = Field(default_factory=list)
    ignore_changes_regex: str | None = None
    """A change starts no run if all its files match this expression."""
    send_statuses_on_ignore: bool = False


class EventFilter(Model):
    """A value that an event must have."""

    op: str = "eq"
    path: Text
    """A JSON pointer into the event."""
    value: JsonValue = None


class EventTarget(Model):
    """What an event starts."""

    type: Text
    app_branch: str | None = None
    """For the type `app_branch_run`."""


class EventRule(Model):
    """An external event that starts a run."""

    name: Text
    event_source: str | None = None
    event_types: Annotated[list[str], Field(min_length=1)]
    filters: list[EventFilter] = Field(default_factory=list)
    target: EventTarget


class Installer(Model):
    """The branding of a hosted installer; it is only kept."""

    name: str = ""
    description: str = ""
    slug: str = ""
    apps: list[str] = Field(default_factory=list)
    documentation_url: str = ""
    community_url: str = ""
    homepage_url: str = ""
    github_url: str = ""
    logo_url: str = ""
    favicon_url: str = ""
    og_image_url: str = ""
    demo_url: str = ""
    post_install_markdown: str = ""
    copyright_markdown: str = ""
    footer_markdown: str = ""


class PlaneConfig(Model):
    """All of it."""

    slack_webhook_url: str | None = Field(default=None, repr=False)
    """Secret: whoever has it can write to the vendor's channel."""
    installs: list[InstallConfig] = Field(default_factory=list)
    installs_location: InstallsLocation | None = None
    branches: list[Branch] = Field(default_factory=list)
    triggers: list[EventRule] = Field(default_factory=list)
    installer: Installer | None = None
