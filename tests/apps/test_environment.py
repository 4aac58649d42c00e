"""What an app config may not set: what decides how the tool works."""

from functools import partial

import pytest

from apps.environment import (
    ToolVariables,
    environment_problem,
    environment_problems,
    script_variable_problem,
)
from contracts.engines import TERRAFORM

problem_of = partial(environment_problem, tool=TERRAFORM.variables)


@pytest.mark.parametrize(
    "name",
    ["AWS_REGION", "TF_VAR_zone", "TF_VAR_my-zone", "TZ", "LANG", "TOKEN", "GREETING", "TFX"],
)
def test_its_own_may_be_set(name: str) -> None:
    assert problem_of(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "TF_WORKSPACE", "TF_CLI_ARGS", "TF_CLI_ARGS_plan", "TF_DATA_DIR", "TF_CLI_CONFIG_FILE",
        "TF_LOG", "TF_INPUT", "TERRAFORM_CONFIG", "PATH", "HOME", "LD_PRELOAD", "LD_LIBRARY_PATH",
        "DYLD_INSERT_LIBRARIES", "HTTPS_PROXY", "https_proxy", "no_proxy", "SSL_CERT_FILE",
        "NUON_ACTIONS_OUTPUT_FILEPATH", "NUON_INSTALL_ID", "TRIGGER_TYPE",
        "KUBECONFIG", "KUBE_CONFIG_PATH", "KUBE_TOKEN", "HELM_PLUGINS", "HELM_KUBETOKEN",
    ],
)  # fmt: skip
def test_what_is_the_workers_may_not(name: str) -> None:
    problem = problem_of(name)
    assert problem is not None and "set by the worker alone" in problem
    assert environment_problems(["A", name], problem_of) == [f"env_vars.{name} {problem}"]


def test_each_engine_names_the_variables_of_its_own_tool() -> None:
    tool = ToolVariables(refused=("PULUMI_",))
    assert environment_problem("PULUMI_HOME", tool) == (
        "is set by the worker alone; remove it, or use another name"
    )
    assert environment_problem("TF_LOG", tool) is None
    told = problem_of("TF_LOG")
    assert told is not None and "(of TF_*, only TF_VAR_<variable>)" in told


@pytest.mark.parametrize("name", ["NUON_INSTALL_ID", "TRIGGER_TYPE", "PATH", "HOME", "TF_LOG"])
def test_a_script_has_what_its_step_says(name: str) -> None:
    assert script_variable_problem(name) is None


@pytest.mark.parametrize(
    "name", ["NUON_ACTIONS_OUTPUT_FILEPATH", "NUON_ACTIONS_ROOT", "LD_PRELOAD"]
)
def test_a_script_does_not_lose_what_it_did(name: str) -> None:
    problem = script_variable_problem(name)
    assert problem == "is set by the worker alone; remove it, or use another name"
    assert environment_problems([name], script_variable_problem) == [f"env_vars.{name} {problem}"]


@pytest.mark.parametrize("name", ["", "A=B", "A\0B"])
def test_what_is_no_name(name: str) -> None:
    assert problem_of(name) == "is no name of an environment variable"
    assert script_variable_problem(name) == "is no name of an environment variable"
