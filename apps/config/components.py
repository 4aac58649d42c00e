"""The components, by type."""

from typing import Annotated, Literal

from pydantic import Field

from apps.config.base import (
    Contents,
    FieldName,
    Labels,
    Model,
    Name,
    Retries,
    TemplateMap,
    TemplateText,
    Text,
    UpToAnHour,
)
from apps.config.health import Health
from apps.config.images import AwsImage, AzureImage, GcpImage, PublicImage
from apps.config.parts import Part
from apps.config.roles import OperationRole
from apps.config.sources import HelmRepository, Source
from apps.config.terraform import PulumiProgram, TerraformModule


class ComponentFields(Part):
    """What components of all types have."""

    # The order of fields is part of the fingerprint of what is deployed: new ones go last.
    type: str
    name: Name
    var_name: FieldName | None = None
    """A second name that templates can reach the component by."""
    dependencies: list[str] = Field(default_factory=list)
    """Names of components that it needs, besides those that templates refer to."""
    labels: Labels = Field(default_factory=dict)
    max_auto_retries: Retries = 0
    operation_roles: list[OperationRole] = Field(default_factory=list)
    toggleable: bool = False
    """Each install may choose to have it or not."""
    default_enabled: bool | None = None
    """Whether an install that does not choose has it."""
    kubernetes_context: str | None = None
    """The cluster that it is deployed to, if not the sandbox's."""
    build_timeout: UpToAnHour | None = None
    deploy_timeout: UpToAnHour | None = None
    skip_noops: bool = False
    """Plans without changes need no approval."""
    auto_approve_on_policies_passing: bool = False
    health: Health | None = None

    @property
    def part_type(self) -> str:
        """Its own type."""
        return self.type


class TerraformComponent(ComponentFields, TerraformModule):
    """A component that Terraform deploys."""

    type: Literal["terraform_module"]


class HelmValues(Model):
    """A file of values for a chart; the loader reads its contents."""

    contents: Contents = ""
    path: str = ""
    source: str = ""
    """An older name of `path`."""


class HelmChart(ComponentFields):
    """A component that Helm deploys."""

    type: Literal["helm_chart"]
    chart_name: Text
    """The name of the release."""
    namespace: TemplateText = "{{ .nuon.install.id }}"
    values: TemplateMap = Field(default_factory=dict)
    values_file: list[HelmValues] = Field(default_factory=list)
    public_repo: Source | None = None
    connected_repo: Source | None = None
    helm_repo: HelmRepository | None = None
    storage_driver: Literal["configmap", "secret"] | None = None
    """Where Helm stores its releases; by default as the runner says."""
    take_ownership: bool = False
    """Objects that exist already become part of the release."""
    drift_schedule: str | None = None


class Kustomize(Model):
    """Manifests that kustomize makes."""

    path: Text
    """The folder of the kustomization, relative to the source's directory."""
    patches: list[str] = Field(default_factory=list)
    """Files that are applied on top."""
    enable_helm: bool = False
    load_restrictor: Literal["none", "rootOnly"] = "rootOnly"


class KubernetesManifest(ComponentFields):
    """Kubernetes objects, written in the config or made by kustomize."""

    type: Literal["kubernetes_manifest"]
    manifest: Contents | None = None
    kustomize: Kustomize | None = None
    public_repo: Source | None = None
    connected_repo: Source | None = None
    namespace: Annotated[TemplateText, Field(min_length=1)]
    drift_schedule: str | None = None


class DockerBuild(ComponentFields):
    """An image that is built from the vendor's files."""

    type: Literal["docker_build"]
    dockerfile: Text
    """Relative to the source's directory."""
    env_vars: TemplateMap = Field(default_factory=dict)
    public_repo: Source | None = None
    connected_repo: Source | None = None
    target: str | None = None
    """The stage of the Dockerfile that is built, if not the last."""
    build_args: dict[str, str] = Field(default_factory=dict)
    secrets: list[str] = Field(default_factory=list)
    platforms: list[str] = Field(default_factory=list)
    """As in `linux/arm64`."""


class ContainerImage(ComponentFields):
    """An image that exists already; it is copied to the install."""

    type: Literal["container_image", "external_image"]
    """The second is an older name; the loader replaces it."""
    aws_ecr: AwsImage | None = None
    gcp_gar: GcpImage | None = None
    azure_acr: AzureImage | None = None
    public: PublicImage | None = None


class Job(ComponentFields):
    """A container that runs to its end."""

    type: Literal["job"]
    image_url: TemplateText
    tag: TemplateText
    cmd: list[TemplateText] = Field(default_factory=list)
    args: list[TemplateText] = Field(default_factory=list)
    env_vars: TemplateMap = Field(default_factory=dict)


class PulumiComponent(ComponentFields, PulumiProgram):
    """A component that Pulumi would deploy."""

    type: Literal["pulumi"]
    config: TemplateMap = Field(default_factory=dict)


Component = Annotated[
    TerraformComponent
    | HelmChart
    | KubernetesManifest
    | DockerBuild
    | ContainerImage
    | Job
    | PulumiComponent,
    Field(discriminator="type"),
]
"""Any component."""
