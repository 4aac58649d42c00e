"""App configs to measure with: Terraform modules that need no provider and do next to nothing.

Each component has its own input, `<component>_round`; with a new value, the next deploy plans that
component and no other.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

NOTHING = ""
"""A module without even an output: its plan is empty, so it never needs an approval."""

EMPTY = """
output "round" {
  value = var.round
}
"""
"""A module without a resource; only the output is planned and applied."""


def work(seconds: float) -> str:
    """A module with one resource that takes so long, and adds a line to the file `lines`."""
    return f"""
resource "terraform_data" "work" {{
  triggers_replace = [var.round]

  provisioner "local-exec" {{
    command = "echo ${{var.round}} >> lines; sleep {seconds:g}"
  }}
}}
"""


def module(body: str) -> str:
    """The content of a module's `main.tf`."""
    return f'variable "round" {{\n  type = string\n}}\n{body}'


def write_config(
    folder: Path,
    components: Mapping[str, str],
    dependencies: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write a config folder with these components.

    Args:
        folder: Created, with its parents.
        components: The body of each component's module, by name.
        dependencies: The components that each one depends on, by name; none by default.
    """
    (folder / "components").mkdir(parents=True)
    (folder / "metadata.toml").write_text('version = "v2"\ndisplay_name = "Bench"\n')
    (folder / "inputs.toml").write_text("".join(_input(name) for name in components))
    for name, body in components.items():
        after = list((dependencies or {}).get(name, ()))
        (folder / "components" / f"{name}.toml").write_text(_component(name, after))
        source = folder / "modules" / name
        source.mkdir(parents=True)
        (source / "main.tf").write_text(module(body))


def _input(component: str) -> str:
    return (
        f'[[input]]\nname = "{component}_round"\ndisplay_name = "Round of {component}"\n'
        'description = "Another value makes another plan"\ndefault = "0"\n\n'
    )


def _component(name: str, after: list[str]) -> str:
    return (
        f'type = "terraform_module"\nname = "{name}"\nterraform_version = "1.5.0"\n'
        f"dependencies = {json.dumps(after)}\n\n"
        f'[public_repo]\nrepo = "."\ndirectory = "modules/{name}"\n\n'
        f'[vars]\nround = "{{{{ .nuon.inputs.inputs.{name}_round }}}}"\n'
    )
