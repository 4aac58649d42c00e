"""The Terraform that a config asks for, against what its modules require."""

import pytest

from apps.terraform.versions import requirement_problem
from tests.apps.app_folder import DB, MODULE, App, told


@pytest.mark.parametrize(
    ("version", "requirement", "problem"),
    [
        ("1.11.4", ">= 1.3", None),
        ("1.11.4", ">= 1.3, < 2.0", None),
        ("1.11.4", "~> 1.9", None),
        ("1.11.4", "~> 1.9.0", "it needs a version below 1.10.0"),
        ("1.11.4", "< 1.11", "it needs a version below 1.11.0"),
        ("1.11.4", "<= 1.11.3", "it needs 1.11.3 or older"),
        ("1.11.4", "= 1.5.7", "it needs exactly 1.5.7"),
        ("1.11.4", "1.5.7", "it needs exactly 1.5.7"),
        ("1.11.4", ">= 2.0", "it needs 2.0.0 or newer, which is another major version"),
        ("v1", "~> 1.9", None),
        ("1.11.4", "!= 1.11.4", None),
        ("1.11.4", "whatever", None),
        ("1.11.4", "", None),
    ],
)
def test_what_contradicts(version: str, requirement: str, problem: str | None) -> None:
    assert requirement_problem(version, requirement) == problem


def test_it_is_told_of_the_configs_key(app: App) -> None:
    required = 'terraform {\n  required_version = "~> 1.5.0"\n}\n'
    app.write("modules/db/main.tf", MODULE + required)
    assert app.only_error() == (
        "components/db.toml: terraform_version: `1.11.4` contradicts required_version `~> 1.5.0` "
        "in modules/db/main.tf: it needs a version below 1.6.0"
    )
    app.write("components/db.toml", DB.replace("1.11.4", "1.5.7"))
    app.load()


def test_one_that_may_be_too_old_is_a_warning(app: App) -> None:
    required = 'terraform {\n  required_version = ">= 1.12"\n}\n'
    app.write("modules/db/main.tf", MODULE + required)
    [warning] = app.load().warnings
    assert warning.message == (
        "`1.11.4` allows versions too old for required_version `>= 1.12` in modules/db/main.tf"
    )


@pytest.mark.parametrize(
    "block",
    [
        'provider "google" {}\n',
        'terraform {\n  required_providers {\n    google = "~> 5"\n  }\n}\n',
        'terraform {\n required_providers {\n g = { source = "hashicorp/google" }\n }\n}\n',
    ],
)
def test_a_provider_of_another_cloud_is_a_warning(app: App, block: str) -> None:
    app.write("modules/db/main.tf", MODULE + block)
    app.write("modules/db/.terraform.lock.hcl", "")
    app.write("runner.toml", 'runner_type = "aws"\n')
    [warning] = app.load().warnings
    assert told(warning) == (
        "components/db.toml: public_repo.directory: the module needs the provider "
        "`hashicorp/google`, and the runner is on aws"
    )
    app.write("runner.toml", 'runner_type = "gcp"\n')
    assert app.load().warnings == []
