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
    """If it is not said, that of its file."""
    type: PolicyType
    engine: Literal["kyverno", "opa"] | None = None
    """Kyverno for a cluster, else OPA."""
    contents: Contents
    components: list[str] = Field(default_factory=list)
    """Names, or `*` alone; none are as good as all."""
