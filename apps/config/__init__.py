"""The app config as models: what a vendor writes, once it was read and checked.

There is a module for each group of kinds; what other packages use of them is imported here.
"""

from apps.config.actions import (
    MAX_ACTION_TIMEOUT,
    Action,
    ActionStep,
    ActionTrigger,
    KubernetesContext,
    Runbook,
    RunbookStep,
    TriggerType,
)
from apps.config.app import AnySandbox, AppConfig
from apps.config.base import Mark, Model
from apps.config.components import (
    Component,
    ContainerImage,
    DockerBuild,
    HelmChart,
    Job,
    KubernetesManifest,
    PulumiComponent,
    TerraformComponent,
)
from apps.config.inputs import Input, InputGroup, InputType, Secret
from apps.config.metadata import Metadata, NestedStack, Runner, Stack
from apps.config.policies import Policy
from apps.config.roles import (
    NamedPolicy,
    Operation,
    OperationRole,
    OperationRoles,
    OperationRule,
    Permissions,
    Role,
    RolePolicy,
)
from apps.config.sources import FetchedSource, Source
from apps.config.terraform import PulumiSandbox, Sandbox, TerraformModule, VarFile

__all__ = [
    "MAX_ACTION_TIMEOUT",
    "Action",
    "ActionStep",
    "ActionTrigger",
    "AnySandbox",
    "AppConfig",
    "Component",
    "ContainerImage",
    "DockerBuild",
    "FetchedSource",
    "HelmChart",
    "Input",
    "InputGroup",
    "InputType",
    "Job",
    "KubernetesContext",
    "KubernetesManifest",
    "Mark",
    "Metadata",
    "Model",
    "NamedPolicy",
    "NestedStack",
    "Operation",
    "OperationRole",
    "OperationRoles",
    "OperationRule",
    "Permissions",
    "Policy",
    "PulumiComponent",
    "PulumiSandbox",
    "Role",
    "RolePolicy",
    "Runbook",
    "RunbookStep",
    "Runner",
    "Sandbox",
    "Secret",
    "Source",
    "Stack",
    "TerraformComponent",
    "TerraformModule",
    "TriggerType",
    "VarFile",
]
