"""A step as a tool run: its script in a file, and an environment of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from activities.customer.audit_events import identify
from activities.operations.operation import ToolRun
from activities.operations.spec import Command
from activities.removal import remove
from activities.secrets.masking import Mask
from activities.tools.environment import defaults, passed_on, secrets_passed_on
from activities.workplace import Workplace
from apps.config import ActionStep, AppConfig
from apps.environment import environment_problems, script_variable_problem
from apps.input_values import InputErrors
from apps.templates import TemplateError, parse
from apps.templates.printing import go_text
from contracts.actions import StepInput
from contracts.errors import BadConfig, BadInput
from store.install_records import ActionRun
from wire.private_files import make_private_folder, write_new

STEP = "step"
"""Name of the command, and label of the run."""

_GRACE_SECONDS = 3.0
"""How long an interrupted script may take before its process group is told, too: a shell does not
act on SIGINT while its child runs."""


@dataclass(frozen=True)
class Script:
    """A step's script, as whoever takes its result needs it."""

    folder: Path
    """The operation's own."""
    mask: Mask
    digest: str = ""
    """Of the text; empty where it is not to be run."""

    @property
    def outputs(self) -> Path:
        """The file that the step leaves its outputs in."""
        return self.folder / "outputs"


def begun_script(
    workplace: Workplace, config: AppConfig, step: ActionStep, input: StepInput, folder: Path
) -> Script:
    """The script of a step that an earlier attempt began; blocks. As `prepare_script`."""
    return Script(folder, _render(workplace, config, step, input).mask)


def prepare_script(
    workplace: Workplace, config: AppConfig, step: ActionStep, input: StepInput, folder: Path
) -> tuple[Script, ToolRun]:
    """Render the script and its environment, and make anew what it runs in; blocks.

    For a step that has not begun: what lies in its folder then is of no use to anybody.

    Args:
        workplace: Where the state is.
        config: The release's app config.
        step: The step.
        input: What the activity was told.
        folder: The operation's own folder.

    Raises:
        BadConfig: a template cannot be rendered, or a variable may not be set.
        BadInput: an input is missing or does not fit; not where the action belongs to a teardown.
        NotThere: the release does not hold the repository that the step runs in.
    """
    rendered = _render(workplace, config, step, input)
    text = rendered.text if rendered.text.endswith("\n") else rendered.text + "\n"
    # The text itself is handed on, so what was hashed is what runs.
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
        # It lies in a file: argv is for everybody on the machine to read.
        commands=[Command(STEP, _interpreter(text), keeps_exit=True, script=text)],
        cwd=cwd,
        environment=environment,
        timeout_seconds=input.timeout_seconds,
        grace_seconds=_GRACE_SECONDS,
    )


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


def _interpreter(text: str) -> list[str]:
    return [] if text.startswith("#!") else ["/bin/sh"]


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
    # The script as a whole is no secret that could be found in what it prints; its parts are.
    secrets += [one.value for one in environment.values() if one.sensitive] + secrets_passed_on()
    secrets += [text for one in (script, *environment.values()) for text in one.taken]
    return _Rendered(
        text=go_text(script.value),
        environment={name: go_text(one.value) for name, one in environment.items()},
        mask=Mask.of(secrets),
    )


def _tears_down(trigger: str) -> bool:
    """Whether the action belongs to a teardown, which inputs that do not fit must not hold up."""
    return any(f"-{what}" in trigger for what in ("teardown", "deprovision"))


def run_id(input: StepInput) -> str:
    """The run that the step belongs to: two runs of one action may take turns, step by step."""
    return input.key.partition("/")[0]


def _secrets_of(run: ActionRun | None) -> list[object]:
    return [one.value for one in run.outputs.values() if one.sensitive] if run else []
