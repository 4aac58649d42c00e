"""`exclave check`: reports what is wrong with an app config, in the form that compilers use."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from apps.loader import CheckedApp, check
from apps.reading.problems import Problem, Severity
from contracts.engines import ENGINES, deployable
from exclave.exits import Exit
from exclave.output import Output, print_json
from exclave.screens.terminal import Lines

_COLOURS: dict[Severity, str] = {"error": "red", "warning": "yellow", "note": "cyan"}


def check_config(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The app config's folder.")],
    output: Annotated[
        Output,
        typer.Option("--output", "-o", "--format", help="For people, or for programs."),
    ] = Output.TEXT,
) -> None:
    """Check an app config: every problem at once, with its file, line and key.

    Errors must be fixed. Warnings are about things without effect, most often a misspelt key. Notes
    are about things that Exclave knows but cannot run yet, and about sources that a build will
    fetch (this command fetches nothing). The exit status is 1 if there are errors.

    Example:

        exclave check examples/shop

        exclave check examples/shop --output json
    """
    checked = check(folder, deployable(ENGINES))
    if output is Output.JSON:
        print_json(_document(checked))
    else:
        _print(checked)
    if checked.app is None:
        raise typer.Exit(Exit.FAILED)


def _document(checked: CheckedApp) -> dict[str, object]:
    counts = _counts(checked.problems)
    return {
        "files": checked.files,
        **{f"{severity}s": counts[severity] for severity in _COLOURS},
        "problems": [asdict(problem) for problem in checked.problems],
    }


def _print(checked: CheckedApp) -> None:
    lines = Lines()
    for problem in checked.problems:
        severity = lines.paint(problem.severity, _COLOURS[problem.severity], bold=True)
        before, _, after = str(problem).partition(f": {problem.severity}: ")
        lines(f"{before}: {severity}: {after}")
    lines(_summary(checked))


def _summary(checked: CheckedApp) -> str:
    counts = _counts(checked.problems)
    found = [_counted(counts[one], one) for one in _COLOURS if counts[one] or one == "error"]
    summary = f"{', '.join(found)} in {_counted(checked.files, 'file')}."
    if checked.app and checked.app.unbuildable:
        summary += " It cannot be built yet; the notes say why."
    return summary


def _counts(problems: list[Problem]) -> Counter[Severity]:
    return Counter(problem.severity for problem in problems)


def _counted(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"
