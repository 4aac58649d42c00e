"""App configs whose resources write a line each when they are provisioned."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Component:
    """A module of resources in a row; each appends its own name to the install's file of lines."""

    name: str
    resources: int = 1
    seconds: float = 0.2
    needs: list[str] = field(default_factory=list)
    seconds_of: dict[int, float] = field(default_factory=dict)
    """Of single resources, by number."""
    fails: bool = False
    version: str = "1"
    """Changing it changes every resource."""
    extra: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    """More variables, by name: a template."""
    marked: dict[str, str] = field(default_factory=dict)
    """And more, which the module marks as sensitive."""


def write_app(
    folder: Path,
    components: list[Component],
    inputs: str = "",
    actions: dict[str, str] | None = None,
    sandbox: Component | None = None,
) -> Path:
    """Write a config folder; `lines` names the file that every provisioner writes to."""
    (folder / "components").mkdir(parents=True)
    (folder / "metadata.toml").write_text('version = "v2"\ndisplay_name = "Lines"\n')
    (folder / "inputs.toml").write_text(
        "[[input]]\n"
        'name = "lines"\ndisplay_name = "Lines"\ndescription = "A file"\nrequired = true\n' + inputs
    )
    for component in components:
        _write_component(folder, component)
    if sandbox is not None:
        _write_sandbox(folder, sandbox)
    for name, toml in (actions or {}).items():
        (folder / "actions").mkdir(exist_ok=True)
        (folder / "actions" / f"{name}.toml").write_text(f'name = "{name}"\n{toml}')
    return folder


def _write_component(folder: Path, one: Component) -> None:
    (folder / "components" / f"{one.name}.toml").write_text(
        f'type = "terraform_module"\nname = "{one.name}"\n{_module_keys(one)}'
    )
    _write_module(folder, one)


def _write_sandbox(folder: Path, one: Component) -> None:
    (folder / "sandbox.toml").write_text(_module_keys(one))
    _write_module(folder, one)


def _variables(one: Component) -> dict[str, str]:
    return {
        "lines": "{{ .nuon.inputs.inputs.lines }}",
        **{f"from_{n}": f"{{{{ .nuon.components.{n}.outputs.id }}}}" for n in one.needs},
        **one.variables,
        **one.marked,
    }


def _module_keys(one: Component) -> str:
    return (
        'terraform_version = "1.5.0"\n'
        f'[public_repo]\nrepo = "."\ndirectory = "modules/{one.name}"\n[vars]\n'
        + "".join(f"{name} = '{value}'\n" for name, value in _variables(one).items())
    )


def _write_module(folder: Path, one: Component) -> None:
    variables = _variables(one)
    module = folder / "modules" / one.name
    module.mkdir(parents=True)
    (module / "main.tf").write_text(
        "".join(_variable(name, marked=name in one.marked) for name in variables)
        + "".join(_resource(one, number) for number in range(1, one.resources + 1))
        + f'output "id" {{ value = terraform_data.r{one.resources}.id }}\n'
        + one.extra
    )


def _variable(name: str, *, marked: bool) -> str:
    mark = "\n  sensitive = true" if marked else ""
    return f'variable "{name}" {{\n  type = string{mark}\n}}\n'


def _resource(one: Component, number: int) -> str:
    after = f"terraform_data.r{number - 1}.id" if number > 1 else '"first"'
    seconds = one.seconds_of.get(number, one.seconds)
    end = "exit 1" if one.fails else "true"
    return f"""
resource "terraform_data" "r{number}" {{
  input            = {after}
  triggers_replace = ["{one.version}"]
  provisioner "local-exec" {{
    command = "echo {one.name}.r{number} >> $LINES_FILE; sleep {seconds}; {end}"
    environment = {{ LINES_FILE = var.lines }}
  }}
}}
"""
