"""The schemas of `exclave schema` in use: by Taplo, like in an editor, from a file's first line."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exclave.main import app

HEAD = "#:schema ./schemas/{}.json\n"

REPO = '[public_repo]\nrepo = "vendor/app"\ndirectory = "x"\nbranch = "main"\n'
ROLE = '{ name = "r", description = "d", policies = [{ managed_policy_name = "A" }] }'
STEP = '[[steps]]\nname = "one"\n'
VALID = {
    "metadata": 'version = "v2"\n[label_colors]\nx = "red"\n',
    "sandbox": f'terraform_version = "1.11"\n{REPO}[vars]\na = ["{{{{ .nuon.id }}}}", 1, true]\n',
    "runner": 'runner_type = "aws"\nhelm_driver = "secret"\n',
    "stack": 'type = "azure-bicep"\nname = "x"\ndescription = "d"\n',
    "inputs": '[[group]]\nname = "g"\ndescription = "d"\n[[input]]\nname = "i"\n'
    'display_name = "I"\ndescription = "d"\ngroup = "g"\ndefault = 3\ntype = "number"\n',
    "input": 'name = "i"\ndisplay_name = "I"\ndescription = "d"\ndefault = { a = [1] }\n',
    "input_group": 'name = "g"\ndescription = "d"\n',
    "secrets": '[[secret]]\nname = "s"\ndescription = "d"\nauto_generate = true\n',
    "secret": 'name = "s"\ndescription = "d"\nformat = "base64"\n',
    "permissions": "".join(
        f"{kind}_role = {ROLE}\n" for kind in ("provision", "maintenance", "deprovision")
    ),
    "role": 'type = "custom"\nname = "r"\ndescription = "d"\n[[policies]]\nname = "p"\n',
    "break_glass": f"role = [{ROLE}]\n",
    "operation_roles": 'type = "matrix"\n[[rules]]\nprincipal = "nuon::component:*"\n'
    'operation = "deploy"\nrole = "r"\n',
    "policies": '[[policy]]\ntype = "sandbox"\ncontents = "./x.rego"\n',
    "policy": 'type = "helm_chart"\nengine = "opa"\ncontents = "./x.rego"\ncomponents = ["*"]\n',
    "terraform_module": f'type = "terraform_module"\nname = "a"\nterraform_version = "1"\n{REPO}',
    "helm_chart": f'type = "helm_chart"\nname = "a"\nchart_name = "c"\n{REPO}',
    "kubernetes_manifest": 'type = "kubernetes_manifest"\nname = "a"\nnamespace = "n"\n'
    'manifest = "./x.yaml"\n',
    "docker_build": f'type = "docker_build"\nname = "a"\ndockerfile = "Dockerfile"\n{REPO}',
    "container_image": 'type = "container_image"\nname = "a"\n'
    '[public]\nimage_url = "x"\ntag = "1"\n',
    "job": 'type = "job"\nname = "a"\nimage_url = "x"\ntag = "1"\ncmd = ["y"]\n',
    "pulumi": f'type = "pulumi"\nname = "a"\nruntime = "go"\n{REPO}',
    "component": 'type = "job"\nname = "a"\nimage_url = "x"\ntag = "1"\n',
    "action": f'name = "a"\ntimeout = "1m"\n[[triggers]]\ntype = "manual"\n{STEP}command = "x"\n',
    "runbook": f'name = "a"\n{STEP}type = "action"\naction_name = "b"\n',
    "kubernetes_context": 'name = "east"\ncomponent = "cluster"\n',
    "install": 'name = "Customer B"\n[aws_account]\nregion = "r"\n[[inputs]]\na = "b"\n',
    "installs": REPO,
    "branch": 'name = "main"\n[run]\nmode = "push"\n[[install_groups]]\nname = "g"\n'
    '[connected_repo]\nrepo = "vendor/app"\ndirectory = "x"\nbranch = "main"\n',
    "named_policy": 'name = "p"\ncontents = "./p.json"\n',
    "triggers": '[[rules]]\nname = "r"\nevent_types = ["push"]\ntarget = { type = "x" }\n',
    "installer": 'name = "Acme"\napps = []\n',
}

WRONG = [
    ("metadata", 'version = "v3"\n', '"v3" is not one of'),
    ("action", VALID["action"].replace("manual", "manul"), '"manul" is not one of'),
    ("action", VALID["action"] + "comand = 1\n", "'comand' was unexpected"),
    ("runner", 'runner_typ = "aws"\n', '"runner_type" is a required property'),
    ("input", VALID["input"].replace('"I"', "1"), '1 is not of type "string"'),
    ("helm_chart", VALID["helm_chart"].replace("chart_name", "chart"), "'chart' was unexpected"),
    ("terraform_module", VALID["terraform_module"].replace('"1"', "1.5"), "1.5 is not of type"),
    ("role", VALID["role"].replace('"custom"', '"costum"'), '"costum" is not one of'),
    ("branch", VALID["branch"].replace('"main"', "true", 1), "true is not of type"),
    ("secrets", "[[secret]]\nname = 's'\n", '"description" is a required property'),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("app")
    result = CliRunner().invoke(app, ["schema", "--all", str(made / "schemas")])
    assert result.exit_code == 0, result.output
    return made


def lint(folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    taplo = shutil.which("taplo", path=str(Path(sys.executable).parent))
    assert taplo, "taplo is missing: it comes with `make setup`"
    return subprocess.run(
        [taplo, "lint", "--no-auto-config", *files],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
        env={"RUST_LOG": "warn"},
    )  # fmt: skip


def test_what_is_right_passes(folder: Path) -> None:
    names = {path.stem for path in (folder / "schemas").iterdir()}
    others = {"branches", "kubernetes_contexts", "external_image"}  # lists, and another name
    assert names - set(VALID) == others
    for kind, text in VALID.items():
        (folder / f"{kind}.toml").write_text(HEAD.format(kind) + text)
    done = lint(folder, *(f"{kind}.toml" for kind in VALID))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("kind", "text", "message"), WRONG)
def test_what_is_wrong_is_reported(folder: Path, kind: str, text: str, message: str) -> None:
    (folder / "wrong.toml").write_text(HEAD.format(kind) + text)
    done = lint(folder, "wrong.toml")
    assert done.returncode != 0 and message in done.stderr, done.stderr
