"""The contents of files that hold more than one thing."""

from pydantic import Field

from apps.config.actions import KubernetesContext
from apps.config.base import Model
from apps.config.inputs import Input, InputGroup, Secret
from apps.config.metadata import Metadata
from apps.config.policies import Policy
from apps.config.roles import NamedPolicy, Role
from apps.config.vendor import Branch, EventRule


class MetadataFile(Metadata):
    """`metadata.toml`, including what does not go into a release."""

    slack_webhook_url: str | None = Field(default=None, repr=False)
    """Whoever has it can write to the vendor's channel."""


class InputsFile(Model):
    """`inputs.toml`."""

    group: list[InputGroup] = Field(default_factory=list)
    input: list[Input] = Field(default_factory=list)


class SecretsFile(Model):
    """`secrets.toml`."""

    secret: list[Secret] = Field(default_factory=list)


class PermissionsFile(Model):
    """`permissions.toml`."""

    provision_role: Role
    """For all that makes the sandbox."""
    maintenance_role: Role
    """For components and actions."""
    deprovision_role: Role
    """For the end of an install."""
    custom_roles: list[Role] = Field(default_factory=list)
    """For operations that ask for them."""
    roles: list[Role] = Field(default_factory=list)
    """Roles of any type, each of which says it."""
    named_policies: list[NamedPolicy] = Field(default_factory=list)


class BreakGlassFile(Model):
    """`break_glass.toml`."""

    role: list[Role] = Field(default_factory=list)


class PoliciesFile(Model):
    """`policies.toml`."""

    policy: list[Policy] = Field(default_factory=list)


class KubernetesContextsFile(Model):
    """`kubernetes_contexts.toml`."""

    kubernetes_context: list[KubernetesContext] = Field(default_factory=list)


class BranchesFile(Model):
    """`branches.toml`."""

    branch: list[Branch] = Field(default_factory=list)


class TriggersFile(Model):
    """`triggers.toml`."""

    rules: list[EventRule] = Field(default_factory=list)
