"""The working folder of a component or the sandbox: module, backend, and rendered variables.

It can be rebuilt from the release and the store at any time: nothing in it is the only copy.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from activities.customer.audit_events import identify
from activities.plans.bound import RenderedDigests
from activities.secrets.masking import Mask
from activities.terraform.backends.interface import Backend
from activities.terraform.backends.registry import worker_secrets
from activities.terraform.state_file import StateFile
from activities.terraform.tool import environment
from activities.terraform.values import Values, render_values, values_for_teardown
from activities.workplace import Workplace
from apps.config.app import AppConfig
from apps.config.terraform import TerraformModule
from apps.environment import environment_problem, environment_problems
from apps.parts import SANDBOX, part_shown
from contracts.engines import TERRAFORM
from contracts.errors import BadConfig, EngineFailed, NotThere
from contracts.messages import OperationInput
from wire.private_files import write_private

_PREPARED = ".exclave-initialised"
_LOCK_FILE = ".terraform.lock.hcl"


@dataclass(frozen=True)
class Workspace:
    """A working folder that is ready for `terraform init`."""

    folder: Path
    """The module's folder."""
    root: Path
    """The folder that was unpacked: the same, unless the module refers to files outside its own."""
    part: str
    """The component, or the sandbox."""
    module: TerraformModule
    environment: dict[str, str]
    mask: Mask
    state: StateFile
    artifact: str
    rendered: RenderedDigests
    """The digests of the rendered values."""
    values: Values
    variable_files: tuple[Path, ...]
    """In order: later ones override earlier ones."""

    @property
    def backend(self) -> Backend:
        """The backend of its state."""
        return self.state.backend

    @property
    def lock_file(self) -> Path:
        """The file in which Terraform records the providers that it chose, and their hashes."""
        return self.folder / _LOCK_FILE

    def is_initialised_for(self, plan_key: str) -> bool:
        """Whether `init` was run here for this plan, so that the apply need not run it again."""
        marker = self.folder / _PREPARED
        return marker.is_file() and marker.read_text() == f"{self.artifact} {plan_key}"

    def initialised_for(self, plan_key: str) -> None:
        """Record that `init` was run for this plan; to be called before the backend is used.

        Raises:
            EngineFailed: Terraform uses another backend than ours.
        """
        self._require_backend()
        write_private(self.folder / _PREPARED, f"{self.artifact} {plan_key}".encode())

    def _require_backend(self) -> None:
        other = self.backend.used_instead(self.folder)
        if other is not None:
            raise EngineFailed(
                f"{part_shown(self.part)}: Terraform does not use this install's backend, but "
                f"{other!r}. Remove `backend` and `cloud` blocks from the module."
            )


def prepare(workplace: Workplace, input: OperationInput) -> Workspace:
    """Build the part's working folder from the release and the store; blocks.

    Raises:
        NotThere: the release has no such component, or no sandbox.
        BadInput: inputs are missing; not for a teardown with values that were kept.
        BadConfig: a template cannot be rendered, or an environment variable may not be set.
        EngineFailed: an earlier apply left a state that was not put in place.
    """
    config = workplace.releases.config(input.app, input.release)
    part = input.component
    module = config.part(part)
    if not isinstance(module, TerraformModule):
        what = "sandbox" if part == SANDBOX else f"component {part!r}"
        raise NotThere(f"The release {input.release} has no {what}.")
    root = workplace.work_folder(part)
    state = StateFile(workplace.store, part)
    unpacked = workplace.releases.unpack_module(input.app, input.release, part, root)
    folder, artifact = unpacked.folder, unpacked.artifact
    identify(artifact=artifact)
    values = _values(workplace, config, module, input)
    state.backend.write(folder)
    return Workspace(
        folder=folder,
        root=root,
        part=part,
        module=module,
        environment={
            **state.backend.environment_beside(values.env),
            # The vendor's variables override, so that its providers act with the intended identity.
            **environment(workplace.data, folder, values.env),
        },
        mask=values.mask.and_also(worker_secrets(workplace.store)),
        state=state,
        artifact=artifact,
        rendered=values.digests(workplace.state.digest_key(), part),
        values=values,
        variable_files=values.write(folder),
    )


def _values(
    workplace: Workplace, config: AppConfig, module: TerraformModule, input: OperationInput
) -> Values:
    problem_of = partial(environment_problem, tool=TERRAFORM.variables)
    refused = environment_problems(module.env_vars, problem_of)
    if refused:
        raise BadConfig(f"{part_shown(input.component)}: {'; '.join(refused)}.")
    if getattr(input, "teardown", False):
        return values_for_teardown(workplace, config, module, input)
    return render_values(workplace, config, module, input)
