"""A step as a tool run: its script in a file, and an environment of its own."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from activities.customer.telling import identify
from activities.masking import Mask
from activities.operations.operation import ToolRun
from activities.operations.spec import Command
from activities.tool_environment import defaults, passed_on, secrets_passed_on
from activities.workplace import Workplace
from apps.config import ActionStep, AppConfig
from apps.environment import environment_problems, script_variable_problem
from apps.input_values import InputErrors
from apps.templates import TemplateError, parse
from apps.templates.printing import go_text
from contracts.actions import StepInput
from contracts.errors import BadConfig, BadInput
from store.install_state import ActionRun

STEP = "step"
"""Name of the command, and label of the run."""

_GRACE_SECONDS = 3.0
"""How long an interrupted script may take before its process group is told, too: a shell does not
act on SIGINT while its child runs."""


@dataclass(frozen=True)
class Script:
    """A step that is ready to run."""

    run: ToolRun
    folder: Path
    """The operation's own."""
    outputs: Path
    mask: Mask


def prepare_script(
    workplace: Workplace, config: AppConfig, step: ActionStep, input: StepInput, folder: Path
) -> Script:
    """Render the script and its environment, and write the script; blocks.

    Args:
        workplace: Where the state is.
        config: The release's app config.
        step: The step.
        input: What the activity was told.
        folder: The operation's own folder.

    Raises:
        BadConfig: a template cannot be rendered, or a variable may not be set.
        BadInput: an input is missing.
        NotThere: the release does not hold the repository that the step runs in.
    """
    rendered = _render(workplace, config, step, input)
    outputs = folder / "outputs"
    root = folder / "work"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    outputs.touch(mode=0o600)
    environment = {
        **defaults(),
        **passed_on(),
        "HOME": str(root),
        "NUON_ORG_ID": workplace.org,
        "NUON_APP_ID": input.app,
        "NUON_INSTALL_ID": input.install,
        "TRIGGER_TYPE": input.trigger,
        **rendered.environment,
        "NUON_ACTIONS_ROOT": str(root),
        "NUON_ACTIONS_OUTPUT_FILEPATH": str(outputs),
    }
    cwd = _repository(workplace, step, input, root / "repository") or root
    command = Command(STEP, _argv(rendered.text, folder / "script"), keeps_exit=True)
    identify(script=f"sha256:{sha256((folder / 'script').read_bytes()).hexdigest()}")
    run = ToolRun(
        commands=[command],
        cwd=cwd,
        environment=environment,
        timeout_seconds=input.timeout_seconds,
        grace_seconds=_GRACE_SECONDS,
    )
    return Script(run, folder, outputs, rendered.mask)


def _repository(
    workplace: Workplace, step: ActionStep, input: StepInput, destination: Path
) -> Path | None:
    """The folder that the step runs in, as the release holds it; None where it runs in nothing."""
    if step.public_repo is None and step.connected_repo is None:
        return None
    unpacked = workplace.releases.unpack_step(
        input.app, input.release, input.action, input.step, destination
    )
    identify(artifact=unpacked.artifact)
    return unpacked.folder


def _argv(text: str, path: Path) -> list[str]:
    """The script lies in a file: argv is for everybody on the machine to read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o700)
    with os.fdopen(descriptor, "w") as file:
        file.write(text if text.endswith("\n") else text + "\n")
    return [str(path)] if text.startswith("#!") else ["/bin/sh", str(path)]


@dataclass(frozen=True)
class _Rendered:
    text: str
    """Of the script."""
    environment: Mapping[str, str]
    mask: Mask


def _render(
    workplace: Workplace, config: AppConfig, step: ActionStep, input: StepInput
) -> _Rendered:
    text = step.inline_contents if step.inline_contents is not None else step.command or ""
    refused = environment_problems(step.env_vars, script_variable_problem)
    if refused:
        raise BadConfig(f"{input.action}, step {step.name!r}: {'; '.join(refused)}.")
    try:
        so_far = workplace.state.action_run(input.action, run_id(input))
        data = workplace.state.document(config, input.app, so_far).template_data()
        secrets = workplace.state.secrets(config) + _secrets_of(so_far)
        script = parse(text).render(data)
        environment = {name: parse(text).render(data) for name, text in step.env_vars.items()}
    except InputErrors as error:
        raise BadInput("; ".join(error.problems)) from None
    except TemplateError as error:
        raise BadConfig(f"{input.action}, step {step.name!r}: {error}") from None
    # The script as a whole is no secret that could be found in what it prints; its parts are.
    secrets += [one.value for one in environment.values() if one.sensitive] + secrets_passed_on()
    return _Rendered(
        text=go_text(script.value),
        environment={name: go_text(one.value) for name, one in environment.items()},
        mask=Mask.of(secrets),
    )


def run_id(input: StepInput) -> str:
    """The run that the step belongs to: two runs of one action may take turns, step by step."""
    return input.key.partition("/")[0]


def _secrets_of(run: ActionRun | None) -> list[object]:
    return [one.value for one in run.outputs.values() if one.sensitive] if run else []
