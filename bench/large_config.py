"""The largest app config that anybody is expected to write: 280 files."""

from itertools import cycle
from pathlib import Path

COMPONENTS = 120
ACTIONS = 60
INPUTS = 40
MODULES = 20

_MODULE = """
variable "region" {
  type = string
}

variable "size" {
  type    = number
  default = 1
}

resource "terraform_data" "it" {
  input = var.size
}

output "path" {
  value = terraform_data.it.output
}
"""

_ENDS = {
    "terraform_module": """terraform_version = "1.11.4"

[public_repo]
repo      = "."
directory = "modules/m{module}"

[vars]
region = "{{{{ .nuon.inputs.inputs.input_{input} }}}}"
{reads}
""",
    "helm_chart": """chart_name = "chart-{index}"
namespace  = "shop"

[public_repo]
repo      = "."
directory = "modules/m{module}"

[values]
region  = "{{{{ .nuon.inputs.inputs.input_{input} }}}}"
install = "{{{{ .nuon.install.id }}}}"
{reads}

[health]
stabilization_window = "5m"

[[health.probes]]
type = "http"
url  = "https://{{{{ .nuon.install.id }}}}.example.com/livez"
""",
    "kubernetes_manifest": """namespace = "shop"
manifest  = \"\"\"
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings-{index}
data:
  install: {{{{ .nuon.install.id }}}}
  region: {{{{ default "eu" .nuon.inputs.inputs.input_{input} }}}}
\"\"\"
""",
    "container_image": """[public]
image_url = "docker.io/library/nginx"
tag       = "1.{index}"
""",
    "job": """image_url = "docker.io/library/busybox"
tag       = "1.36"
cmd       = ["sh", "-c"]
args      = ["echo {{{{ .nuon.install.id }}}}"]

[env_vars]
REGION = "{{{{ .nuon.inputs.inputs.input_{input} }}}}"
""",
}

_ACTION = """name         = "action_{index}"
timeout      = "{minutes}m"
dependencies = ["component_{component}"]

[[triggers]]
type = "manual"

[[triggers]]
type          = "cron"
cron_schedule = "{minute} 4 * * *"

[[triggers]]
type           = "post-deploy-component"
component_name = "component_{component}"

[[steps]]
name            = "look"
inline_contents = \"\"\"
#!/usr/bin/env sh
set -eu
echo "install={{{{ .nuon.install.id }}}}" >> "$NUON_ACTIONS_OUTPUT_FILEPATH"
{{{{ if .nuon.inputs.inputs.input_{input} }}}}
echo "region={{{{ .nuon.inputs.inputs.input_{input} }}}}" >> "$NUON_ACTIONS_OUTPUT_FILEPATH"
{{{{ end }}}}
\"\"\"

[steps.env_vars]
STATUS = "{{{{ .nuon.components.component_{component}.status }}}}"
"""

_ROLE = """type        = "{kind}"
name        = "{{{{ .nuon.install.id }}}}-{kind}"
description = "For what {kind} does"

[[policies]]
name     = "{kind}"
contents = \"\"\"
{{"Version": "2012-10-17", "Statement": [{{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}}]}}
\"\"\"
"""


def write_large_config(folder: Path) -> int:
    """Write the config into a new folder.

    Returns:
        The number of its files.
    """
    files = {
        "metadata.toml": 'version = "v2"\nreadme = "./README.md"\n',
        "README.md": "# {{ .nuon.install.name }}\n" + "Nothing more to say.\n" * 40,
        "runner.toml": 'runner_type = "aws"\n',
        "stack.toml": 'type = "aws-cloudformation"\nname = "x"\ndescription = "d"\n',
        "sandbox.toml": _ENDS["terraform_module"].format(module=0, input=0, reads=""),
        **{f"modules/m{index}/main.tf": _MODULE for index in range(MODULES)},
        **{f"inputs/input_{index}.toml": _input(index) for index in range(INPUTS)},
        **{f"input_groups/g{index}.toml": _group(index) for index in range(4)},
        **dict(_component(index, type_) for index, type_ in _types()),
        **{f"actions/action_{index}.toml": _action(index) for index in range(ACTIONS)},
        **{f"permissions/{kind}.toml": _ROLE.format(kind=kind) for kind in _KINDS},
        **{f"policies/p{index}.toml": _policy(index) for index in range(12)},
        **{f"policies/p{index}.rego": "package nuon\n" for index in range(12)},
        **{f"runbooks/r{index}.toml": _runbook(index) for index in range(4)},
    }
    for file, text in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return len(files)


_KINDS = ("provision", "maintenance", "deprovision")


def _types() -> list[tuple[int, str]]:
    return list(zip(range(COMPONENTS), cycle(_ENDS), strict=False))


def _component(index: int, type_: str) -> tuple[str, str]:
    # Each depends on an earlier one, and reads the outputs of an earlier Terraform module.
    needs = f'["component_{index - 7}"]' if index >= 7 else "[]"
    module = (index - 5) // len(_ENDS) * len(_ENDS)
    reads = f'size = "{{{{ .nuon.components.component_{module}.outputs.path }}}}"'
    head = f'type = "{type_}"\nname = "component_{index}"\ndependencies = {needs}\n'
    end = _ENDS[type_].format(
        index=index, module=index % MODULES, input=index % INPUTS, reads=reads if index > 5 else ""
    )
    return f"components/{index:03}-{type_}.toml", head + end


def _action(index: int) -> str:
    return _ACTION.format(
        index=index, minutes=index % 29 + 1, minute=index % 60, component=index * 2,
        input=index % INPUTS,
    )  # fmt: skip


def _input(index: int) -> str:
    return (
        f'name = "input_{index}"\ndisplay_name = "Input {index}"\ngroup = "g{index % 4}"\n'
        f'description = "What installs differ in"\ndefault = "value-{index}"\n'
    )


def _group(index: int) -> str:
    return f'name = "g{index}"\ndescription = "Some of the inputs"\n'


def _policy(index: int) -> str:
    return f'type = "helm_chart"\nengine = "opa"\ncontents = "./p{index}.rego"\n'


def _runbook(index: int) -> str:
    return (
        f'name = "runbook_{index}"\n[[steps]]\nname = "look"\ntype = "action"\n'
        f'action_name = "action_{index}"\n[[steps]]\nname = "deploy"\ntype = "component_deploy"\n'
        f'component_name = "component_{index}"\n'
    )
