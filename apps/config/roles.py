"""Who may do what in the customer's account: roles, policies, and the role of each operation."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from apps.config.base import Contents, Model, TemplateName, TemplateText
from apps.config.metadata import CloudPlatform

RoleType = Literal["provision", "maintenance", "deprovision", "custom", "break_glass"]

Operation = Literal["deploy", "teardown", "provision", "reprovision", "deprovision", "trigger"]
"""The first two are of components, the last is of actions, the others are of the sandbox."""


class RolePolicy(Model):
    """What a role may do: one of the cloud's own policies by name, or a policy written here."""

    name: TemplateText | None = None
    managed_policy_name: TemplateText | None = None
    contents: Contents | None = None
    gcp_permissions: list[str] = Field(default_factory=list)
    gcp_predefined_role: str | None = None
    azure_actions: list[str] = Field(default_factory=list)
    azure_built_in_roles: list[str] = Field(default_factory=list)


class NamedPolicyUse(Model):
    """A named policy that a role has."""

    name: TemplateName


class Role(Model):
    """A role in the customer's account."""

    type: RoleType = "custom"
    cloud_platform: CloudPlatform | None = None
    """By default the runner's."""
    name: TemplateName
    description: str
    display_name: str = ""
    policies: list[RolePolicy] = Field(default_factory=list)
    permissions_boundary: Contents | None = None
    """JSON: what the role may do at most."""
    enabled_in_stack: bool | None = None
    """Whether the stack creates it enabled; break-glass roles are disabled by default."""
    named_policies: list[NamedPolicyUse] = Field(default_factory=list)


class NamedPolicy(Model):
    """A policy that is created once, for any number of roles."""

    name: TemplateName
    description: TemplateText = ""
    contents: Contents


class Permissions(Model):
    """The roles of an app, and the policies that they share."""

    roles: list[Role] = Field(default_factory=list)
    named_policies: list[NamedPolicy] = Field(default_factory=list)


class OperationRole(Model):
    """The role that one operation of a component or of the sandbox takes."""

    operation: Operation
    role: TemplateName


class OperationRule(Model):
    """The role that an operation takes for certain parts or actions."""

    principal: Annotated[
        str, StringConstraints(pattern=r"^nuon::(sandbox|(component|action):[^\s:]+)$")
    ]
    """`nuon::sandbox`, `nuon::component:<name>` or `nuon::action:<name>`; `*` for any name."""
    operation: Operation
    role: TemplateName

    @property
    def principal_kind(self) -> str:
        """`sandbox`, `component` or `action`."""
        return self.principal.removeprefix("nuon::").partition(":")[0]

    @property
    def principal_name(self) -> str:
        """The name of the component or action; `*` for any, empty for the sandbox."""
        return self.principal.removeprefix("nuon::").partition(":")[2]


class OperationRoles(Model):
    """The role of each operation, unless the part or action names one itself."""

    type: Literal["matrix"]
    rules: list[OperationRule] = Field(default_factory=list)
