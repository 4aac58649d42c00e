"""A module's rendered variables, variable files and environment.

The values that a part was applied with are kept with its state, and used to tear it down. What its
templates read may be gone by then: an output may have been renamed, an input's type changed. Or it
may mean something else: if an input names another region now, there would be nothing to destroy.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from activities.plans.bound import RenderedDigests
from activities.secrets.masking import Mask
from activities.terraform.state_keys import values_key
from activities.workplace import Workplace
from apps.config.app import AppConfig
from apps.config.terraform import TerraformModule
from apps.input_values import InputErrors
from apps.parts import SANDBOX, part_shown
from apps.sensitivity import Sensitive
from apps.state import StateDocument
from apps.templates import Rendered, TemplateError, parse, render_value
from apps.templates.printing import go_text
from contracts.errors import BadConfig, BadInput
from contracts.messages import OperationInput
from store.install_records import Output
from store.interface import ANY
from wire.private_files import write_private

_OURS = "exclave-"


@dataclass(frozen=True)
class Values:
    """A module's rendered values, and the secrets that must be masked."""

    variables: dict[str, Rendered]
    files: list[Rendered]
    environment: dict[str, Rendered]
    secrets: list[object] = field(repr=False)
    """All other secrets, since the values may contain parts of them."""

    @property
    def env(self) -> dict[str, str]:
        """The environment as text."""
        return {name: go_text(one.value) for name, one in self.environment.items()}

    @property
    def mask(self) -> Mask:
        """A mask for all secrets."""
        values = [*self.variables.values(), *self.environment.values()]
        # A file as a whole is no secret if it is known what of it is.
        values += [one for one in self.files if not one.taken]
        whole = [one.value for one in values if one.sensitive]
        return Mask.of([*self.secrets, *self.taken, *whole])

    @property
    def taken(self) -> list[str]:
        """What templates took out of secrets, like the password in a JSON of credentials."""
        rendered = [*self.variables.values(), *self.files, *self.environment.values()]
        return sorted({text for one in rendered for text in one.taken})

    def digests(self, key: bytes, part: str) -> RenderedDigests:
        """The digests of these values, to which an approval of the part's plan is bound."""
        variables = {name: one.value for name, one in self.variables.items()}
        files = [go_text(one.value) for one in self.files]
        return RenderedDigests.of(key, part, variables, files, self.env)

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write variables and variable files; returns the files, of which later ones override
        earlier ones.

        Variables are written to files because every user of the machine can read argv.

        `plan` gets the files as `-var-file`, which overrides the module's own `*.auto.tfvars`.
        They are named `*.auto.tfvars` nevertheless, so that `apply` of a saved plan, which accepts
        no variables, finds the ephemeral ones.
        """
        for left in folder.glob(f"{_OURS}*.auto.tfvars*"):
            left.unlink()
        variables = {name: one.value for name, one in self.variables.items()}
        contents = [
            *((f"{index:03}", go_text(one.value)) for index, one in enumerate(self.files)),
            ("vars", json.dumps(variables)),
        ]
        paths = []
        for name, text in contents:
            kind = ".json" if text.lstrip().startswith("{") else ""
            paths.append(folder / f"{_OURS}{name}.auto.tfvars{kind}")
            write_private(paths[-1], text.encode())
        return tuple(paths)


def render_values(
    workplace: Workplace,
    config: AppConfig,
    module: TerraformModule,
    input: OperationInput,
    *,
    checked: bool = True,
) -> Values:
    """Render a module's values from the current content of the store; blocks.

    Args:
        workplace: The install's store and releases.
        config: The release's app config.
        module: The part's module.
        input: Names the part and the release.
        checked: Whether inputs must be complete and valid.

    Raises:
        BadInput: `checked`, and inputs are missing or invalid.
        BadConfig: a template cannot be rendered.
    """
    try:
        data = _document(workplace, config, input, checked=checked).template_data()
        return Values(
            variables={name: render_value(one, data) for name, one in module.vars.items()},
            files=[parse(file.contents).render(data) for file in module.var_file],
            environment={name: parse(text).render(data) for name, text in module.env_vars.items()},
            secrets=workplace.state.secrets(config, checked=checked),
        )
    except InputErrors as error:
        raise BadInput("; ".join(error.problems)) from None
    except TemplateError as error:
        raise BadConfig(f"{part_shown(input.component)}: {error}") from None


class _Kept(BaseModel):
    """The values that a part was applied with."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    variables: dict[str, Output]
    files: list[Output]
    environment: dict[str, Output]
    secrets: list[JsonValue] = Field(default_factory=list, repr=False)
    """The sensitive inputs, and what was taken out of secrets; kept since their values may change
    before the teardown."""


def keep_values(workplace: Workplace, config: AppConfig, part: str, values: Values) -> None:
    """Keep the values that a part is about to be applied with; blocks."""
    inputs = workplace.state.inputs(config).values()
    kept = _Kept(
        variables={name: _output(one) for name, one in values.variables.items()},
        files=[_output(one) for one in values.files],
        environment={name: _output(one) for name, one in values.environment.items()},
        secrets=[
            *(str(one.value) for one in inputs if isinstance(one, Sensitive)),
            *values.taken,
        ],
    )
    workplace.store.put(values_key(part), kept.model_dump_json().encode(), if_match=ANY)


def values_for_teardown(
    workplace: Workplace, config: AppConfig, module: TerraformModule, input: OperationInput
) -> Values:
    """The values that the part was applied with, but with current secrets; blocks.

    A credential may have been replaced since, and the old one revoked.

    Raises:
        BadConfig: an older worker applied it and kept no values, and a template cannot be rendered.
    """
    found = workplace.store.get(values_key(input.component))
    if found is None:
        return render_values(workplace, config, module, input, checked=False)
    kept = _Kept.model_validate_json(found.data)
    now = _secrets_now(workplace, config, module, input)
    return Values(
        variables={n: now.get(("vars", n), _rendered(one)) for n, one in kept.variables.items()},
        files=[_rendered(one) for one in kept.files],
        environment={n: now.get(("env", n), _rendered(one)) for n, one in kept.environment.items()},
        secrets=[*kept.secrets, *workplace.state.secrets_of_any_release()],
    )


def _secrets_now(
    workplace: Workplace, config: AppConfig, module: TerraformModule, input: OperationInput
) -> dict[tuple[str, str], Rendered]:
    """The values that read only sensitive inputs, rendered now; empty if that is not possible."""
    secret = {
        (*root, one.name)
        for one in config.inputs
        if one.sensitive
        for root in (("nuon", "inputs", "inputs"), ("nuon", "install", "inputs"))
    }
    texts: dict[tuple[str, str], Any] = {
        **{("vars", name): one for name, one in module.vars.items()},
        **{("env", name): one for name, one in module.env_vars.items()},
    }
    try:
        data = _document(workplace, config, input, checked=False).template_data()
        templates = {key: parse(one) for key, one in texts.items() if isinstance(one, str)}
        return {
            key: template.render(data)
            for key, template in templates.items()
            if template.references() and template.references() <= secret
        }
    except TemplateError:
        return {}


def _document(
    workplace: Workplace, config: AppConfig, input: OperationInput, *, checked: bool
) -> StateDocument:
    if input.component == SANDBOX:
        return workplace.state.sandbox_document(config, input.app, checked=checked)
    return workplace.state.document(config, input.app, checked=checked)


def _output(one: Rendered) -> Output:
    value: Any = one.value
    return Output(value=value, sensitive=one.sensitive)


def _rendered(one: Output) -> Rendered:
    return Rendered(one.value, one.sensitive)
