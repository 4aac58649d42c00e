"""Puts together what was read: what goes into a release, and what only the control plane needs."""

from collections.abc import Iterable
from operator import attrgetter
from typing import TypeVar, cast

from apps.config.actions import Action, KubernetesContext, Runbook
from apps.config.app import AnySandbox, AppConfig
from apps.config.base import Model
from apps.config.components import Component, ComponentFields
from apps.config.documents import MetadataFile
from apps.config.inputs import Input, InputGroup, Secret
from apps.config.metadata import Metadata, Runner, Stack
from apps.config.policies import Policy
from apps.config.roles import NamedPolicy, OperationRoles, Permissions, Role
from apps.config.terraform import SandboxFields
from apps.config.vendor import (
    Branch,
    EventRule,
    InstallConfig,
    Installer,
    InstallsLocation,
    PlaneConfig,
)
from apps.reading.entities import Entities

M = TypeVar("M", bound=Model)


def app_config(entities: Entities) -> AppConfig | None:
    """What goes into a release; None without metadata. Call it only if there are no errors."""
    metadata = _one(entities, MetadataFile)
    if metadata is None:
        return None
    return AppConfig.model_construct(
        metadata=Metadata.model_construct(
            **{name: getattr(metadata, name) for name in Metadata.model_fields}
        ),
        sandbox=cast("AnySandbox | None", _one(entities, SandboxFields)),
        runner=_one(entities, Runner),
        stack=_one(entities, Stack),
        inputs=_by_name(entities, Input),
        groups=_by_name(entities, InputGroup),
        secrets=_by_name(entities, Secret),
        permissions=_permissions(entities),
        break_glass=_by_name(entities, Role, "break_glass"),
        operation_roles=_one(entities, OperationRoles),
        policies=_by_name(entities, Policy),
        components=cast("list[Component]", _by_name(entities, ComponentFields)),
        actions=_by_name(entities, Action),
        runbooks=_by_name(entities, Runbook),
        kubernetes_contexts=_by_name(entities, KubernetesContext),
    )


def plane_config(entities: Entities) -> PlaneConfig:
    """What only the control plane needs."""
    metadata = _one(entities, MetadataFile)
    return PlaneConfig.model_construct(
        slack_webhook_url=metadata.slack_webhook_url if metadata else None,
        installs=_by_name(entities, InstallConfig),
        installs_location=_one(entities, InstallsLocation),
        branches=_by_name(entities, Branch),
        triggers=_by_name(entities, EventRule),
        installer=_one(entities, Installer),
    )


def _permissions(entities: Entities) -> Permissions | None:
    roles = _by_name(entities, Role, "permissions")
    policies = _by_name(entities, NamedPolicy)
    return Permissions(roles=roles, named_policies=policies) if roles or policies else None


def _one(entities: Entities, model: type[M]) -> M | None:
    located = entities.one(model)
    return located.model if located else None


def _by_name(entities: Entities, model: type[M], kind: str | None = None) -> list[M]:
    found: Iterable[M] = (located.model for located in entities.of(model, kind))
    return sorted(found, key=attrgetter("name"))
