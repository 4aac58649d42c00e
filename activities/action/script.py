"""A step as a tool run: its script in a file, and an environment of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from activities.customer.audit_events import identify
from activities.operations.spec import Command, ToolRun
from activities.removal import remove
from activities.secrets.masking import Mask
from activities.tools.environment import defaults, passed_on, secrets_passed_on
from activities.workplace import Workplace
from apps.config.actions import ActionStep
from apps.config.app import AppConfig
from apps.environment import environment_problems, script_variable_problem
from apps.input_values import InputErrors
from apps.templates import TemplateError, parse
from apps.templates.printing import go_text
from contracts.actions import StepInput
from contracts.errors import BadConfig, BadInput
from store.install_records import ActionRun
from wire.private_files import make_private_folder, write_new

STEP = "step"
"""The name of the command and the label of the run."""

_GRACE_SECONDS = 3.0
"""How long an interrupted script may take before its process group is signalled too, since a shell
does not act on SIGINT while its child runs."""


@dataclass(frozen=True)
class Script:
    """What is needed of a step's script to take its result."""

    folder: Path
    """The operation's folder."""
    mask: Mask
    digest: str = ""
    """The digest of its text; empty if it will not be run."""

    @property
    def outputs(self) -> Path:
        """The file that the step writes its outputs to."""
        return self.folder / "outputs"


def begun_script(
    workplace: Workplace, config: AppConfig, step: ActionStep, input: StepInput, folder: Path
) -> Script:
    """The script of a step that an earlier attempt began; otherwise as `prepare_script`. Blocks."""
    return Script(folder, _render(workplace, config, step, input).mask)


def prepare_script(
    workplace: Workplace, config: AppConfig, step: ActionStep, input: StepInput, folder: Path
) -> tuple[Script, ToolRun]:
    """Render the script and its environment, and create the folder that it runs in; blocks.

    Only for a step that has not begun: an existing work folder is replaced.

    Args:
        workplace: The install's state and releases.
        config: The release's app config.
        step: The step.
        input: The activity's input.
        folder: The operation's folder.

    Raises:
        BadConfig: a template cannot be rendered, or a variable may not be set.
        BadInput: an input is missing or invalid; not checked if the action belongs to a teardown.
        NotThere: the release does not have the repository that the step runs in.
    """
    rendered = _render(workplace, config, step, input)
    text = rendered.text if rendered.text.endswith("\n") else rendered.text + "\n"
    # The supervisor gets the text itself, so that what was hashed is what runs.
    script = Script(folder, rendered.mask, f"sha256:{sha256(text.encode()).hexdigest()}")
    identify(script=script.digest)
    root = folder / "work"
    if root.exists():
        remove(root)
    make_private_folder(root)
    script.outputs.unlink(missing_ok=True)
    write_new(script.outputs, b"")
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
        "NUON_ACTIONS_OUTPUT_FILEPATH": str(script.outputs),
    }
    cwd = _repository(workplace, step, input, root / "repository") or root
    return script, ToolRun(
        # The script is passed in a file, since every user of the machine can read argv.
        commands=[Command(STEP, _interpreter(text), keeps_exit=True, script=text)],
        cwd=cwd,
        environment=environment,
        timeout_seconds=input.timeout_seconds,
        grace_seconds=_GRACE_SECONDS,
    )


def _repository(
    workplace: Workplace, step: ActionStep, input: StepInput, destination: Path
) -> Path | None:
    """The folder from the release that the step runs in; None if it names no repository."""
    if step.public_repo is None and step.connected_repo is None:
        return None
    unpacked = workplace.releases.unpack_step(
        input.app, input.release, input.action, input.step, destination
    )
    identify(artifact=unpacked.artifact)
    return unpacked.folder


def _interpreter(text: str) -> list[str]:
    return [] if text.startswith("#!") else ["/bin/sh"]


@dataclass(frozen=True)
class _Rendered:
    text: str
    """The script."""
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
        checked = not _tears_down(input.trigger)
        document = workplace.state.document(config, input.app, so_far, checked=checked)
        data = document.template_data()
        secrets = workplace.state.secrets(config, checked=checked) + _secrets_of(so_far)
        script = parse(text).render(data)
        environment = {name: parse(text).render(data) for name, text in step.env_vars.items()}
    except InputErrors as error:
        raise BadInput("; ".join(error.problems)) from None
    except TemplateError as error:
        raise BadConfig(f"{input.action}, step {step.name!r}: {error}") from None
    # The script as a whole need not be masked in its output; the secrets in it must be.
    secrets += [one.value for one in environment.values() if one.sensitive] + secrets_passed_on()
    secrets += [text for one in (script, *environment.values()) for text in one.taken]
    return _Rendered(
        text=go_text(script.value),
        environment={name: go_text(one.value) for name, one in environment.items()},
        mask=Mask.of(secrets),
    )


def _tears_down(trigger: str) -> bool:
    """Whether the action belongs to a teardown, which invalid inputs must not prevent."""
    return any(f"-{what}" in trigger for what in ("teardown", "deprovision"))


def run_id(input: StepInput) -> str:
    """The run that the step belongs to, since steps of two runs of one action may alternate."""
    return input.key.partition("/")[0]


def _secrets_of(run: ActionRun | None) -> list[object]:
    return [one.value for one in run.outputs.values() if one.sensitive] if run else []
