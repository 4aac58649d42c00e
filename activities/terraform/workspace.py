"""A component's working folder: the module, the backend, and the rendered variables.

It is rebuilt from the release and the store at any time: nothing in it is the only copy.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from activities.masking import Mask
from activities.terraform.state_file import state_key, take_errored
from activities.terraform.tool import environment
from activities.workplace import Workplace
from apps.config import AppConfig, TerraformComponent
from apps.environment import environment_problems
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
    variable_files: tuple[Path, ...]
    """In their order: a later one wins."""

    @property
    def lock_file(self) -> Path:
        """Where Terraform keeps the provider hashes that it chose."""
        return self.folder / _LOCK_FILE

    def is_initialised_for(self, plan_key: str) -> bool:
        """Whether `init` was run here for this plan, so that its apply need not repeat it."""
        marker = self.folder / _PREPARED
        return marker.is_file() and marker.read_text() == f"{self.artifact} {plan_key}"

    def initialised_for(self, plan_key: str) -> None:
        """Remember that `init` was run for this plan; before anything uses the backend.

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


def prepare(workplace: Workplace, input: OperationInput) -> Workspace:
    """Make the component's working folder from the release and the store; blocks.

    Raises:
        NotThere: the release has no such component.
        BadInput: inputs are missing.
        BadConfig: a template cannot be rendered, or an environment variable may not be set.
        EngineFailed: a former apply left a state that cannot be put in its place.
    """
    config = workplace.releases.config(input.app, input.release)
    component = config.component(input.component)
    if component is None:
        raise NotThere(f"The release {input.release} has no component {input.component!r}.")
    folder = workplace.work_folder(component.name)
    state_path = workplace.store.local_path(state_key(component.name))
    if state_path is None:
        raise EngineFailed("This kind of store cannot hold Terraform's state yet.")
    state_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    take_errored(workplace.store, component.name, folder, state_path)
    artifact = workplace.releases.unpack_module(input.app, input.release, component.name, folder)
    values = _render(workplace, config, component, input)
    _write_backend(folder, state_path)
    return Workspace(
        folder=folder,
        component=component,
        environment=environment(workplace.data, folder, values.environment),
        mask=values.mask,
        state_path=state_path,
        artifact=artifact,
        variable_files=_write_variables(folder, values),
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
    refused = environment_problems(component.env_vars)
    if refused:
        raise BadConfig(f"{component.name}: {'; '.join(refused)}.")
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


def _write_variables(folder: Path, values: _Values) -> tuple[Path, ...]:
    """Files of their own, since everybody on the machine can read argv.

    `plan` is given them by name, since `-var-file` wins over what the module's own `*.auto.tfvars`
    say. They are called `.auto` all the same: so `apply` of a saved plan, which takes no variables,
    finds those that are ephemeral.
    """
    for left in folder.glob(f"{_OURS}*.auto.tfvars*"):
        left.unlink()
    contents = [
        *((f"{index:03}", text) for index, text in enumerate(values.files)),
        ("vars", json.dumps(values.variables)),
    ]
    paths = []
    for name, text in contents:
        kind = ".json" if text.lstrip().startswith("{") else ""
        paths.append(folder / f"{_OURS}{name}.auto.tfvars{kind}")
        _write_private(paths[-1], text)
    return tuple(paths)


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
