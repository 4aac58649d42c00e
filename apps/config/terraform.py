"""What Terraform deploys (components and the sandbox), and what Pulumi would."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue, StringConstraints

from apps.config.base import Contents, Mark, Model, Retries, TemplateMap
from apps.config.parts import Part, source_of
from apps.config.roles import OperationRole
from apps.config.sources import Source


class VarFile(Model):
    """A file of Terraform variables."""

    contents: Contents


class TerraformModule(Part):
    """What Terraform deploys, and how: a component, or the sandbox."""

    reaches_out: ClassVar[bool] = True

    # The order of fields is part of the fingerprint of what is deployed: new ones go last.
    terraform_version: Annotated[str, StringConstraints(pattern=r"^v?\d+(\.\d+){0,2}$")]
    """The lowest version of Terraform that will do, within its major version."""
    public_repo: Source | None = None
    vars: Annotated[dict[str, JsonValue], Mark.TEMPLATE] = Field(default_factory=dict)
    """Variables of the module; strings, at any depth, are templates."""
    env_vars: TemplateMap = Field(default_factory=dict)
    var_file: list[VarFile] = Field(default_factory=list)
    max_auto_retries: Retries = 0
    connected_repo: Source | None = None
    """A private repository."""
    drift_schedule: str | None = None
    """When to check for drift: a cron expression."""

    @property
    def has_source(self) -> bool:
        """Whether it says where the module is; the loader lets no other through."""
        return source_of(self) is not None

    @property
    def source(self) -> Source:
        """Where the module is.

        Raises:
            ValueError: no source is given; the loader lets no such module through.
        """
        source = source_of(self)
        if source is None:
            raise ValueError("a Terraform module has neither public_repo nor connected_repo")
        return source


class SandboxFields(Part):
    """What all sandboxes have, whatever makes them."""

    operation_roles: list[OperationRole] = Field(default_factory=list)
    skip_noops: bool = False
    """Plans without changes need no approval."""
    auto_approve_on_policies_passing: bool = False


class Sandbox(TerraformModule, SandboxFields):
    """What prepares the customer's account before any component: network, cluster, DNS."""

    type: Literal["terraform"] = "terraform"

    @property
    def part_type(self) -> str:
        """The type of the components that Terraform deploys."""
        return "terraform_module"


PulumiRuntime = Literal["go", "nodejs", "python"]


class PulumiProgram(Part):
    """What Pulumi would deploy."""

    runtime: PulumiRuntime
    pulumi_version: str | None = None
    env_vars: TemplateMap = Field(default_factory=dict)
    public_repo: Source | None = None
    connected_repo: Source | None = None
    drift_schedule: str | None = None


class PulumiSandbox(PulumiProgram, SandboxFields):
    """A sandbox that Pulumi would make."""

    type: Literal["pulumi"]
    pulumi_config: TemplateMap = Field(default_factory=dict)
    vars: Annotated[dict[str, JsonValue], Mark.TEMPLATE] = Field(default_factory=dict)
    max_auto_retries: Retries = 0

    @property
    def part_type(self) -> str:
        """The type of the components that Pulumi would deploy."""
        return self.type
