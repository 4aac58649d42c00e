"""Who may do what in the customer's account: roles, policies, and which operation takes which."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from apps.config.base import Contents, Model, TemplateName, TemplateText
from apps.config.metadata import CloudPlatform

RoleType = Literal["provision", "maintenance", "deprovision", "custom", "break_glass"]

Operation = Literal["deploy", "teardown", "provision", "reprovision", "deprovision", "trigger"]
"""Of components (the first two), of the sandbox, and of actions (the last)."""


class RolePolicy(Model):
    """What a role may do: a policy of the cloud's by name, or one of its own."""

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
    """That of the runner, if it is not said."""
    name: TemplateName
    description: str
    display_name: str = ""
    policies: list[RolePolicy] = Field(default_factory=list)
    permissions_boundary: Contents | None = None
    """JSON: what the role may do at most."""
    enabled_in_stack: bool | None = None
    """Whether the stack begins with it; if it is not said, roles to break glass are off."""
    named_policies: list[NamedPolicyUse] = Field(default_factory=list)


class NamedPolicy(Model):
    """A policy that is made once, for any number of roles."""

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
    """The role that an operation of certain parts or actions takes."""

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
        """Of the component or the action; `*` for any, empty for the sandbox."""
        return self.principal.removeprefix("nuon::").partition(":")[2]


class OperationRoles(Model):
    """Which operation takes which role, where the part or action does not say so itself."""

    type: Literal["matrix"]
    rules: list[OperationRule] = Field(default_factory=list)
