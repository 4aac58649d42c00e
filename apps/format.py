"""The words of the config format: what there is, and what of it is not supported yet."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Final, get_args

from apps.config import TriggerType


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


UNSUPPORTED_KINDS: Final = _keys(
    "runner stack installer operation_roles triggers secrets permissions break_glass "
    "policies kubernetes_contexts branches branch runbooks installs"
)
"""Kinds of file or folder at the top of a config."""

SUPPORTED_KINDS: Final = frozenset(
    {"metadata", "sandbox", "inputs", "input_groups", "components", "actions"}
)

UNSUPPORTED_COMPONENT_TYPES: Final = _keys(
    "helm_chart kubernetes_manifest docker_build container_image external_image job pulumi"
)
SUPPORTED_COMPONENT_TYPES: Final = frozenset({"terraform_module"})

SUPPORTED_SANDBOX_TYPES: Final = frozenset({"terraform"})
UNSUPPORTED_SANDBOX_TYPES: Final = frozenset({"pulumi"})

SUPPORTED_TRIGGERS: Final[frozenset[str]] = frozenset(get_args(TriggerType))
UNSUPPORTED_TRIGGERS: Final = (
    frozenset({"role-enabled", "role-disabled"})
    | {
        f"{when}-{what}"
        for when in ("pre", "post")
        for what in (
            *("provision", "reprovision", "deprovision"),
            *("provision-sandbox", "reprovision-sandbox", "deprovision-sandbox"),
            *("deploy-all-components", "teardown-all-components"),
            *("deploy-component", "teardown-component"),
            *("enable-component", "disable-component"),
            *("update-inputs", "secrets-sync"),
        )
    }
) - SUPPORTED_TRIGGERS


@dataclass(frozen=True)
class Keys:
    """The keys that a table may have."""

    supported: Set[str]
    unsupported: Set[str] = frozenset()
    """Of the format, and not supported yet."""
    tables: Mapping[str, "Keys"] = field(default_factory=dict)
    """The keys of the tables (or lists of tables) below."""

    @property
    def all(self) -> Set[str]:
        """Every key of the format."""
        return self.supported | self.unsupported


METADATA: Final = Keys(
    _keys("version display_name description label_colors default_labels"),
    _keys("slack_webhook_url readme onboarding"),
)
GROUP: Final = Keys(_keys("name description display_name"))
INPUT: Final = Keys(
    _keys(
        "name display_name description group default required sensitive internal type "
        "user_configurable"
    )
)
SOURCE: Final = Keys(_keys("repo directory branch"))
TERRAFORM_COMPONENT: Final = Keys(
    _keys(
        "type name var_name terraform_version public_repo vars env_vars var_file dependencies "
        "labels max_auto_retries"
    ),
    _keys(
        "connected_repo drift_schedule operation_roles toggleable default_enabled "
        "kubernetes_context build_timeout deploy_timeout skip_noops "
        "auto_approve_on_policies_passing health"
    ),
    {"public_repo": SOURCE, "var_file": Keys(_keys("contents"))},
)
SANDBOX: Final = Keys(
    _keys("type terraform_version public_repo vars env_vars var_file max_auto_retries"),
    _keys(
        "connected_repo drift_schedule skip_noops auto_approve_on_policies_passing operation_roles "
        "runtime pulumi_config"
    ),
    {"public_repo": SOURCE, "var_file": Keys(_keys("contents"))},
)
ACTION: Final = Keys(
    _keys("name timeout labels triggers steps dependencies enable_kube_config"),
    _keys("break_glass_role role image kubernetes_context"),
    {
        "triggers": Keys(_keys("type index cron_schedule component_name")),
        "steps": Keys(
            _keys("name env_vars command inline_contents"), _keys("public_repo connected_repo")
        ),
    },
)

TEMPLATE_ROOTS: Final[Mapping[str, Set[str] | None]] = {
    "id": None,
    "name": None,
    "org": _keys("id name status"),
    "app": _keys("id name status variables"),
    "install": _keys("id name inputs sandbox"),
    "inputs": _keys("inputs"),
    "sandbox": None,
    "components": None,
    "actions": _keys("workflows"),
}
"""The fields under `.nuon`, each with those below it, where these are fixed."""

UNSUPPORTED_TEMPLATE_ROOTS: Final = _keys("install_stack secrets cloud_account runner domain")
UNSUPPORTED_INSTALL_FIELDS: Final = _keys("public_domain internal_domain install_stack components")
COMPONENT_FIELDS: Final = _keys("status build_id component_id outputs")
SANDBOX_FIELDS: Final = _keys("status type version outputs")
WORKFLOW_FIELDS: Final = _keys("status id outputs")
