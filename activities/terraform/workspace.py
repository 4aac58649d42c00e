"""The working folder of a component or the sandbox: module, backend, and rendered variables.

It is rebuilt from the release and the store at any time: nothing in it is the only copy.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from activities.customer.telling import identify
from activities.masking import Mask
from activities.terraform.backend import Backend, backend_secrets, write_private
from activities.terraform.bound import RenderedDigests
from activities.terraform.state_file import StateFile
from activities.terraform.tool import environment
from activities.workplace import Workplace
from apps.config import AppConfig, TerraformModule
from apps.environment import environment_problems
from apps.input_values import InputErrors
from apps.parts import SANDBOX, part_shown
from apps.state import StateDocument
from apps.templates import Rendered, TemplateError, parse, render_value
from apps.templates.printing import go_text
from contracts.errors import BadConfig, BadInput, EngineFailed, NotThere
from contracts.messages import OperationInput

_PREPARED = ".exclave-initialised"
_OURS = "exclave-"
_LOCK_FILE = ".terraform.lock.hcl"


@dataclass(frozen=True)
class Workspace:
    """A working folder that is ready for `terraform init`."""

    folder: Path
    """Of the module."""
    root: Path
    """Of all that was unpacked for it: the same, unless the module reaches out of its folder."""
    part: str
    """The component, or the sandbox."""
    module: TerraformModule
    environment: dict[str, str]
    mask: Mask
    state: StateFile
    backend: Backend
    artifact: str
    rendered: RenderedDigests
    """Of what was rendered into it."""
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
        write_private(self.folder / _PREPARED, f"{self.artifact} {plan_key}")

    def _require_backend(self) -> None:
        taken = self.backend.is_used_in(self.folder)
        if taken is not None:
            raise EngineFailed(
                f"{part_shown(self.part)}: Terraform did not take the backend of this install but "
                f"{taken!r}. Remove `backend` and `cloud` blocks from the module."
            )


def prepare(workplace: Workplace, input: OperationInput) -> Workspace:
    """Make the part's working folder from the release and the store; blocks.

    Raises:
        NotThere: the release has no such component, or no sandbox.
        BadInput: inputs are missing.
        BadConfig: a template cannot be rendered, or an environment variable may not be set.
        EngineFailed: a former apply left a state that was not put in its place.
    """
    config = workplace.releases.config(input.app, input.release)
    part = input.component
    module = config.module(part)
    if module is None:
        what = "sandbox" if part == SANDBOX else f"component {part!r}"
        raise NotThere(f"The release {input.release} has no {what}.")
    root = workplace.work_folder(part)
    backend = Backend.of(workplace.store, part)
    state = StateFile(workplace.store, part)
    unpacked = workplace.releases.unpack_module(input.app, input.release, part, root)
    folder, artifact = unpacked.folder, unpacked.artifact
    identify(artifact=artifact)
    values = _render(workplace, config, module, input)
    backend.write(folder)
    return Workspace(
        folder=folder,
        root=root,
        part=part,
        module=module,
        environment={
            **backend.environment_beside(values.environment),
            # What the vendor sets wins: its providers must not act as somebody else.
            **environment(workplace.data, folder, values.environment),
        },
        mask=values.mask.and_also(backend_secrets(workplace.store)),
        state=state,
        backend=backend,
        artifact=artifact,
        rendered=RenderedDigests.of(
            workplace.state.digest_key(), part, values.variables, values.files, values.environment
        ),
        variable_files=_write_variables(folder, values),
    )


def _document(workplace: Workplace, config: AppConfig, input: OperationInput) -> StateDocument:
    if input.component == SANDBOX:
        return workplace.state.sandbox_document(config, input.app)
    return workplace.state.document(config, input.app)


@dataclass(frozen=True)
class _Values:
    variables: object
    files: list[str]
    environment: dict[str, str]
    mask: Mask


def _render(
    workplace: Workplace, config: AppConfig, module: TerraformModule, input: OperationInput
) -> _Values:
    shown = part_shown(input.component)
    refused = environment_problems(module.env_vars)
    if refused:
        raise BadConfig(f"{shown}: {'; '.join(refused)}.")
    try:
        data = _document(workplace, config, input).template_data()
        secrets = workplace.state.secrets(config)
        variables = render_value(module.vars, data)
        files = [parse(file.contents).render(data) for file in module.var_file]
        env = {name: parse(text).render(data) for name, text in module.env_vars.items()}
    except InputErrors as error:
        raise BadInput("; ".join(error.problems)) from None
    except TemplateError as error:
        raise BadConfig(f"{shown}: {error}") from None
    rendered: list[Rendered] = [*files, *env.values()]
    secrets += [one.value for one in rendered if one.sensitive]
    secrets += _sensitive_parts(module, data)
    return _Values(
        variables=variables.value,
        files=[go_text(one.value) for one in files],
        environment={name: go_text(one.value) for name, one in env.items()},
        mask=Mask.of(secrets),
    )


def _sensitive_parts(module: TerraformModule, data: dict[str, object]) -> list[object]:
    """The values of the variables that were rendered from something sensitive."""
    parts = (render_value(value, data) for value in module.vars.values())
    return [one.value for one in parts if one.sensitive]


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
        write_private(paths[-1], text)
    return tuple(paths)
