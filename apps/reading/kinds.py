"""The kinds of a config: which files and folders there are, and what each holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apps.config.actions import Action, KubernetesContext, Runbook
from apps.config.base import Model
from apps.config.components import (
    ComponentFields,
    ContainerImage,
    DockerBuild,
    HelmChart,
    Job,
    KubernetesManifest,
    PulumiComponent,
    TerraformComponent,
)
from apps.config.documents import (
    BranchesFile,
    BreakGlassFile,
    InputsFile,
    KubernetesContextsFile,
    MetadataFile,
    PermissionsFile,
    PoliciesFile,
    SecretsFile,
    TriggersFile,
)
from apps.config.inputs import Input, InputGroup, Secret
from apps.config.metadata import Runner, Stack
from apps.config.policies import Policy
from apps.config.roles import OperationRoles, Role
from apps.config.terraform import PulumiSandbox, Sandbox
from apps.config.vendor import Branch, InstallConfig, Installer, InstallsLocation


@dataclass(frozen=True)
class Kind:
    """A kind of file or folder at the top of a config."""

    document: type[Model] | None = None
    """What `<kind>.toml` holds; None if there is no such file."""
    entity: type[Model] | None = None
    """What each file of the folder `<kind>/` holds; None if there is no such folder."""


KINDS: Final[Mapping[str, Kind]] = {
    "metadata": Kind(MetadataFile),
    "sandbox": Kind(Sandbox),
    "runner": Kind(Runner),
    "stack": Kind(Stack),
    "inputs": Kind(InputsFile, Input),
    "input_groups": Kind(None, InputGroup),
    "secrets": Kind(SecretsFile, Secret),
    "permissions": Kind(PermissionsFile, Role),
    "break_glass": Kind(BreakGlassFile, Role),
    "operation_roles": Kind(OperationRoles),
    "policies": Kind(PoliciesFile, Policy),
    "components": Kind(None, ComponentFields),
    "actions": Kind(None, Action),
    "runbooks": Kind(None, Runbook),
    "kubernetes_contexts": Kind(KubernetesContextsFile, KubernetesContext),
    "installs": Kind(InstallsLocation, InstallConfig),
    "branch": Kind(Branch),
    "branches": Kind(BranchesFile, Branch),
    "triggers": Kind(TriggersFile),
    "installer": Kind(Installer),
}
"""By the name of the file or folder."""

NAMED_POLICIES: Final = "permissions/policies"
"""A folder within a kind's folder whose files are policies for roles."""

COMPONENTS: Final[Mapping[str, type[ComponentFields]]] = {
    "terraform_module": TerraformComponent,
    "helm_chart": HelmChart,
    "kubernetes_manifest": KubernetesManifest,
    "docker_build": DockerBuild,
    "container_image": ContainerImage,
    "external_image": ContainerImage,
    "job": Job,
    "pulumi": PulumiComponent,
}
"""By the component's type."""

SANDBOXES: Final[Mapping[str, type[Sandbox] | type[PulumiSandbox]]] = {
    "terraform": Sandbox,
    "pulumi": PulumiSandbox,
}
"""By the sandbox's type."""
