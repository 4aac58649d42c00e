"""The status screens: all installs in a table, or one install on a page."""

from collections.abc import Iterator
from datetime import datetime

from apps.display_text import shown_output
from apps.parts import part_shown
from client.overview import InstallDetails, Overview, Row, RunNow
from exclave.screens.plans import how_to_decide
from exclave.screens.terminal import Lines, short

_COLOURS = {
    "failed": "red",
    "stuck": "red",
    "away": "yellow",
    "never seen": "yellow",
    "paused": "yellow",
    "revoked": "red",
    "not attempted": "red",
    "waits for approval": "yellow",
}
_HEADINGS = ("INSTALL", "APP", "RELEASE", "STATUS", "WORKER", "NOW")


def show_overview(lines: Lines, found: Overview) -> None:
    """Write a line for each install, with failures below it; then the builds."""
    if not found.rows:
        lines("There are no installs yet. Create one: exclave install INSTALL --app APP")
    else:
        _show_rows(lines, found)
    if found.builds:
        lines()
        lines(lines.paint("Builds", bold=True))
    for build in found.builds:
        words = f": {_first_line(build.words)}" if build.words else ""
        said = f"  {build.workflow_id}  {build.status}{words}"
        lines(lines.paint(said, _COLOURS.get(build.status)))


def _show_rows(lines: Lines, found: Overview) -> None:
    cells = [_cells(row) for row in found.rows]
    widths = [max(len(row[i]) for row in [_HEADINGS, *cells]) for i in range(len(_HEADINGS))]
    lines(lines.paint(_aligned(_HEADINGS, widths, _HEADINGS), bold=True))
    for row, texts in zip(found.rows, cells, strict=True):
        painted = [lines.paint(text, _COLOURS.get(text)) for text in texts]
        lines(_aligned(painted, widths, texts))
        for run in row.runs[1:]:
            lines(" " * (sum(widths[:-1]) + 2 * (len(widths) - 1)) + _run(run))
        for run in row.runs:
            if run.disk_is_full:
                lines(lines.paint(f"  disk full: {_first_line(run.trouble)}", "red"))
        for stuck in [row.stuck, *(run.stuck for run in row.runs)]:
            if stuck:
                lines.block(shown_output(stuck), indent="  ")
        if row.failure:
            lines(lines.paint(f"  failed: {_first_line(row.failure)}", "red"))
    if found.total > len(found.rows):
        lines(
            f"{len(found.rows)} of {found.total} installs. Name an app with --app, or an install, "
            "or use --all."
        )


def _cells(row: Row) -> tuple[str, ...]:
    now = _run(row.runs[0]) if row.runs else "-"
    status = "stuck" if row.stuck else row.status or "-"
    return (row.install, row.app, short(row.release), status, row.worker, now)


def _aligned(
    painted: list[str] | tuple[str, ...], widths: list[int], texts: tuple[str, ...]
) -> str:
    padded = [
        shown + " " * (width - len(text))
        for shown, width, text in zip(painted, widths, texts, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _run(run: RunNow) -> str:
    if run.stuck:
        return f"{run.workflow_id} stuck"
    of = f" of {run.component}" if run.component and "approval" in run.status else ""
    return f"{run.workflow_id} {run.status}{of}".strip()


def _first_line(text: str) -> str:
    first, more, _ = shown_output(text).partition("\n")
    return f"{first} …" if more else first


def show_details(lines: Lines, found: InstallDetails) -> None:
    """Write a page about one install."""
    status = found.status
    heading = lines.paint(status.install, bold=True)
    lines(f"{heading}, an install of {status.app}")
    lines()
    for name, text in _facts(lines, found):
        lines(f"  {name:<10}{text}")
    _show_stuck(lines, found)
    _show_waiting(lines, found)
    if status.failure is not None:
        lines()
        lines(
            lines.paint(f"Failed: {status.failure.workflow_id}, {_time(status.failure.at)}", "red")
        )
        lines.block(shown_output(status.failure.message), indent="  ", rest="      ")
    _show_table(lines, "What runs where", _parts(found))
    _show_table(lines, "Releases that it has run", _releases(found))
    _show_table(lines, "Schedules", _schedules(found))
    _show_table(lines, "Inputs", [(name, v) for name, v in status.inputs.values.items()])


def _facts(lines: Lines, found: InstallDetails) -> Iterator[tuple[str, str]]:
    status = found.status
    yield "release", status.release or "none yet"
    yield "sandbox", "provisioned" if status.provisioned else "not provisioned"
    yield "worker", lines.paint(found.worker, _COLOURS.get(found.worker)) + _worker_words(found)
    yield from _policy(found)
    yield "turn", status.holder.workflow_id if status.holder else "free"
    for workflow_id in status.queue:
        yield "", f"{workflow_id} waits for the turn"
    yield "inputs", f"revision {status.inputs.revision}"
    for run in found.runs:
        yield "now", _run(run)
        if run.trouble:
            what = "disk full" if run.disk_is_full else "retrying"
            yield "", lines.paint(f"{what}: {_first_line(run.trouble)}", "yellow")


def _policy(found: InstallDetails) -> Iterator[tuple[str, str]]:
    """What the worker last reported about the customer's policy."""
    worker = found.status.worker
    if worker is None:
        return
    described = worker.description
    if described.approval in {"customer", "both"}:
        yield "policy", "an apply also needs the customer's approval"
    if described.rules:
        yield "policy", f"the customer has set rules for: {', '.join(described.rules)}"


def _worker_words(found: InstallDetails) -> str:
    worker = found.status.worker
    if worker is None:
        return ""
    described = worker.description
    tools = ", ".join(f"{name} {version}" for name, version in sorted(described.tools.items()))
    seen = (
        f"last asked for work {_time(found.polled)}"
        if found.polled
        else f"last seen {_time(worker.seen)}"
    )
    return f" on {described.host}, version {described.version}, with {tools or 'no tools'}; {seen}"


def _show_stuck(lines: Lines, found: InstallDetails) -> None:
    for run in found.runs:
        if run.stuck:
            lines()
            lines.block(shown_output(run.stuck))


def _show_waiting(lines: Lines, found: InstallDetails) -> None:
    for run, plans in found.plans.items():
        for plan in plans:
            name = part_shown(plan.component)
            lines()
            words = f"{name} waits for an approval in {run} ({plan.changes}):"
            lines(lines.paint(words, "yellow"))
            lines(f"    exclave plan {run} --component {name}")
            for command in how_to_decide(run, plan):
                lines(f"    {command}")


def _parts(found: InstallDetails) -> list[tuple[str, ...]]:
    return [
        (part_shown(one.component), one.outcome, short(one.release), _time(one.at), one.workflow_id)
        for one in found.status.parts
    ]


def _releases(found: InstallDetails) -> list[tuple[str, ...]]:
    return [(one.release, _time(one.at), one.workflow_id) for one in found.status.before]


def _schedules(found: InstallDetails) -> list[tuple[str, ...]]:
    return [(name, f"next {_time(at)}") for name, at in found.schedules.items()]


def _show_table(lines: Lines, heading: str, rows: list[tuple[str, ...]]) -> None:
    if not rows:
        return
    lines()
    lines(lines.paint(heading, bold=True))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        painted = [lines.paint(text, _COLOURS.get(text)) for text in row]
        lines("  " + _aligned(painted, widths, row))


def _time(at: str | datetime | None) -> str:
    """A time to the second, in UTC, or "unknown"."""
    if at is None:
        return "unknown"
    text = at.isoformat() if isinstance(at, datetime) else at
    return f"{text[:19].replace('T', ' ')} UTC"
