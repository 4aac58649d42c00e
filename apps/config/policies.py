"""Policies: rules that builds and plans are judged by."""

from typing import Literal

from pydantic import Field

from apps.config.base import Contents, Model

PolicyType = Literal[
    "kubernetes_cluster",
    "sandbox",
    "terraform_module",
    "helm_chart",
    "kubernetes_manifest",
    "container_image",
    "docker_build",
    "pulumi",
]
"""What a policy judges."""


class Policy(Model):
    """Rules for one kind of part."""

    name: str = ""
    """By default the name of its file."""
    type: PolicyType
    engine: Literal["kyverno", "opa"] | None = None
    """By default Kyverno for a cluster, otherwise OPA."""
    contents: Contents
    components: list[str] = Field(default_factory=list)
    """Names of components, or `*` alone; an empty list means all."""
