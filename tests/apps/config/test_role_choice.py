"""Which role an operation takes, from the most exact word on it to the app's own roles."""

from typing import Any

import pytest

from apps.config import AppConfig
from apps.config.role_choice import Asking, NoRole, role_for

ROLES = [
    {"type": kind, "name": kind, "description": "d"}
    for kind in ("provision", "maintenance", "deprovision")
]
RULES = [
    ("nuon::component:*", "deploy", "any-deploy"),
    ("nuon::component:db", "deploy", "db-deploy"),
    ("nuon::sandbox", "reprovision", "sandbox-again"),
    ("nuon::action:*", "trigger", "any-trigger"),
]


def config(**more: Any) -> AppConfig:
    part = {"type": "terraform_module", "terraform_version": "1.11"}
    own = [{"operation": "deploy", "role": "own-deploy"}]
    step = [{"name": "x", "command": "true"}]
    return AppConfig.model_validate(
        {
            "metadata": {"version": "v2"},
            "sandbox": {
                "terraform_version": "1.11",
                "operation_roles": [{"operation": "provision", "role": "own-provision"}],
            },
            "components": [
                {**part, "name": "db"},
                {**part, "name": "api"},
                {**part, "name": "own", "operation_roles": own},
            ],
            "actions": [
                {"name": "plain", "steps": step},
                {"name": "own", "steps": step, "role": "own-role"},
                {"name": "glass", "steps": step, "role": "own-role", "break_glass_role": "glass"},
            ],
            "permissions": {"roles": ROLES},
            "operation_roles": {
                "type": "matrix",
                "rules": [
                    {"principal": principal, "operation": operation, "role": role}
                    for principal, operation, role in RULES
                ],
            },
            **more,
        }
    )


@pytest.mark.parametrize(
    ("asking", "role"),
    [
        (Asking("component", "deploy", "own", named="named"), "named"),
        (Asking("component", "deploy", "own"), "own-deploy"),
        (Asking("component", "teardown", "own"), "maintenance"),
        (Asking("component", "deploy", "db"), "db-deploy"),
        (Asking("component", "deploy", "api"), "any-deploy"),
        (Asking("component", "teardown", "api"), "maintenance"),
        (Asking("component", "teardown", "api", ends_install=True), "deprovision"),
        (Asking("sandbox", "provision"), "own-provision"),
        (Asking("sandbox", "reprovision"), "sandbox-again"),
        (Asking("sandbox", "deprovision"), "deprovision"),
        (Asking("secrets", "provision"), "provision"),
        (Asking("action", "trigger", "plain"), "any-trigger"),
        (Asking("action", "trigger", "own"), "own-role"),
        (Asking("action", "trigger", "glass"), "glass"),
        (Asking("action", "trigger", "glass", named="named"), "named"),
    ],
)
def test_the_most_exact_word_counts(asking: Asking, role: str) -> None:
    assert role_for(config(), asking) == role


def test_without_a_matrix_the_apps_own_roles_are_taken() -> None:
    plain = config(operation_roles=None)
    assert role_for(plain, Asking("component", "deploy", "db")) == "maintenance"
    assert role_for(plain, Asking("action", "trigger", "plain")) == "maintenance"
    assert role_for(plain, Asking("sandbox", "reprovision")) == "provision"


def test_nothing_that_says_so_is_a_failure() -> None:
    with pytest.raises(NoRole, match="no role for `deploy` of component db: name one in operation"):
        role_for(
            config(operation_roles=None, permissions=None), Asking("component", "deploy", "db")
        )
