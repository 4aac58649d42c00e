"""The whole app config, as a release holds it."""

from typing import Annotated

from pydantic import Field

from apps.config.actions import Action, KubernetesContext, Runbook
from apps.config.base import Model
from apps.config.components import Component
from apps.config.inputs import Input, InputGroup, Secret
from apps.config.metadata import Metadata, Runner, Stack
from apps.config.policies import Policy
from apps.config.roles import OperationRoles, Permissions, Role
from apps.config.sources import FetchedSource
from apps.config.terraform import PulumiSandbox, Sandbox
from apps.parts import SANDBOX

AnySandbox = Annotated[Sandbox | PulumiSandbox, Field(union_mode="left_to_right")]
"""The sandbox, whatever makes it; without a type it is Terraform."""


class AppConfig(Model):
    """A whole app config. Lists of named things are sorted by name."""

    metadata: Metadata
    sandbox: AnySandbox | None = None
    inputs: list[Input] = Field(default_factory=list)
    groups: list[InputGroup] = Field(default_factory=list)
    components: list[Component] = Field(default_factory=list)
    actions: list[Action] = Field(default_factory=list)
    runner: Runner | None = None
    stack: Stack | None = None
    secrets: list[Secret] = Field(default_factory=list)
    permissions: Permissions | None = None
    break_glass: list[Role] = Field(default_factory=list)
    operation_roles: OperationRoles | None = None
    policies: list[Policy] = Field(default_factory=list)
    runbooks: list[Runbook] = Field(default_factory=list)
    kubernetes_contexts: list[KubernetesContext] = Field(default_factory=list)
    fetched: list[FetchedSource] = Field(default_factory=list)
    """What a build fetched for the release; the loader leaves it empty."""

    def component(self, name: str) -> Component | None:
        """The component of that name, if there is one."""
        return next((c for c in self.components if c.name == name), None)

    def part(self, name: str) -> Component | AnySandbox | None:
        """The part of that name: a component, or the sandbox."""
        return self.sandbox if name == SANDBOX else self.component(name)

    def parts(self) -> dict[str, Component | AnySandbox]:
        """All parts by name: the components, then the sandbox if there is one."""
        found: dict[str, Component | AnySandbox] = {one.name: one for one in self.components}
        if self.sandbox is not None:
            found[SANDBOX] = self.sandbox
        return found

    def action(self, name: str) -> Action | None:
        """The action of that name, if there is one."""
        return next((a for a in self.actions if a.name == name), None)
