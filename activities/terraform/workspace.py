"""A component's working folder: the module, the backend, and the rendered variables.

It is rebuilt from the release and the store at any time: nothing in it is the only copy.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from activities.masking import Mask
from activities.terraform.tool import environment
from activities.workplace import Workplace
from apps.config import AppConfig, TerraformComponent
from apps.input_values import InputErrors
from apps.templates import Rendered, TemplateError, parse, render_value
from apps.templates.printing import go_text
from contracts.errors import BadConfig, BadInput, EngineFailed, NotThere
from contracts.messages import OperationInput

_OVERRIDE = "exclave_backend_override.tf.json"
_PREPARED = ".exclave-initialised"
_OURS = "exclave-"
_LOCK_FILE = ".terraform.lock.hcl"


@dataclass(frozen=True)
class Workspace:
    """A working folder that is ready for `terraform init`."""

    folder: Path
    component: TerraformComponent
    environment: dict[str, str]
    mask: Mask
    state_path: Path
    artifact: str

    @property
    def lock_file(self) -> Path:
        """Where Terraform keeps the provider hashes that it chose."""
        return self.folder / _LOCK_FILE

    def is_initialised_for(self, plan_key: str) -> bool:
        """Whether `init` was run here for this plan, so that its apply need not repeat it."""
        marker = self.folder / _PREPARED
        return marker.is_file() and marker.read_text() == f"{self.artifact} {plan_key}"

    def initialised_for(self, plan_key: str) -> None:
        """Remember that `init` was run for this plan.

        Raises:
            EngineFailed: Terraform uses another backend than ours.
        """
        self._require_backend()
        _write_private(self.folder / _PREPARED, f"{self.artifact} {plan_key}")

    def _require_backend(self) -> None:
        record = self.folder / ".terraform" / "terraform.tfstate"
        backend = json.loads(record.read_bytes()).get("backend", {}) if record.exists() else {}
        used = backend.get("config", {}).get("path")
        if backend.get("type") != "local" or used != str(self.state_path):
            raise EngineFailed(
                f"{self.component.name}: Terraform did not take the backend of this install but "
                f"{backend.get('type')!r}. Remove `backend` and `cloud` blocks from the module."
            )


def state_key(component: str) -> str:
    """Where a component's Terraform state lies in the store."""
    return f"terraform/{component}/terraform.tfstate"


def prepare(workplace: Workplace, input: OperationInput) -> Workspace:
    """Make the component's working folder from the release and the store; blocks.

    Raises:
        NotThere: the release has no such component.
        BadInput: inputs are missing.
        BadConfig: a template cannot be rendered.
    """
    config = workplace.releases.config(input.app, input.release)
    component = config.component(input.component)
    if component is None:
        raise NotThere(f"The release {input.release} has no component {input.component!r}.")
    folder = workplace.work_folder(component.name)
    artifact = workplace.releases.unpack_module(input.app, input.release, component.name, folder)
    state_path = workplace.store.local_path(state_key(component.name))
    if state_path is None:
        raise EngineFailed("This kind of store cannot hold Terraform's state yet.")
    state_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    values = _render(workplace, config, component, input)
    _write_backend(folder, state_path)
    _write_variables(folder, values)
    return Workspace(
        folder=folder,
        component=component,
        environment=environment(workplace.data, folder, values.environment),
        mask=values.mask,
        state_path=state_path,
        artifact=artifact,
    )


@dataclass(frozen=True)
class _Values:
    variables: object
    files: list[str]
    environment: dict[str, str]
    mask: Mask


def _render(
    workplace: Workplace, config: AppConfig, component: TerraformComponent, input: OperationInput
) -> _Values:
    try:
        data = workplace.state.document(config, input.app).template_data()
        secrets = workplace.state.secrets(config)
        variables = render_value(component.vars, data)
        files = [parse(file.contents).render(data) for file in component.var_file]
        env = {name: parse(text).render(data) for name, text in component.env_vars.items()}
    except InputErrors as error:
        raise BadInput("; ".join(error.problems)) from None
    except TemplateError as error:
        raise BadConfig(f"{component.name}: {error}") from None
    rendered: list[Rendered] = [*files, *env.values()]
    secrets += [one.value for one in rendered if one.sensitive]
    secrets += _sensitive_parts(component, data)
    return _Values(
        variables=variables.value,
        files=[go_text(one.value) for one in files],
        environment={name: go_text(one.value) for name, one in env.items()},
        mask=Mask.of(secrets),
    )


def _sensitive_parts(component: TerraformComponent, data: dict[str, object]) -> list[object]:
    """The values of the variables that were rendered from something sensitive."""
    parts = (render_value(value, data) for value in component.vars.values())
    return [one.value for one in parts if one.sensitive]


def _write_backend(folder: Path, state_path: Path) -> None:
    """An override file replaces whatever backend the module names."""
    override = {"terraform": {"backend": {"local": {"path": str(state_path)}}}}
    _write_private(folder / _OVERRIDE, json.dumps(override))


def _write_variables(folder: Path, values: _Values) -> None:
    """Files of their own, never argv; Terraform reads `*.auto.tfvars*` in the order of names."""
    for left in folder.glob(f"{_OURS}*.auto.tfvars*"):
        left.unlink()
    for index, contents in enumerate(values.files):
        suffix = ".auto.tfvars.json" if contents.lstrip().startswith("{") else ".auto.tfvars"
        _write_private(folder / f"{_OURS}{index:03}{suffix}", contents)
    _write_private(folder / f"{_OURS}vars.auto.tfvars.json", json.dumps(values.variables))


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
