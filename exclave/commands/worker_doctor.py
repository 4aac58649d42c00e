"""`exclave worker doctor`: finds what the worker's machine cannot reach, and why."""

import asyncio
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from client.errors import Refused
from exclave.exits import Exit, ending
from exclave.output import Output, OutputOption, print_json
from exclave.screens.terminal import Lines
from exclave.worker_machine import EnrolmentOption
from stacks.enrolment import Enrolment, EnrolmentError
from workers.doctor.examination import examine
from workers.doctor.findings import Finding


def doctor(
    enrolment: EnrolmentOption,
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="The worker's data folder (default: the current folder).",
        ),
    ] = Path(),
    output: OutputOption = Output.TEXT,
) -> None:
    """Find out which of the hosts that the worker needs cannot be reached, and why.

    It connects in the same way as the worker: run it as the worker's user, with the worker's
    HTTPS_PROXY. The exit status is 0 if the worker can work, and 1 if something is in its way.

    Example:

        exclave worker doctor --enrolment acme.toml --data /var/lib/exclave
    """
    with ending(), tempfile.TemporaryDirectory() as folder:
        try:
            enrolled = Enrolment.read(enrolment)
        except EnrolmentError as error:
            raise Refused(str(error)) from error
        found = asyncio.run(examine(enrolled, enrolment, data.resolve(), Path(folder)))
        if output is Output.JSON:
            ok = all(one.ok for one in found)
            checks = [asdict(one) for one in found]
            print_json({"install": enrolled.install, "ok": ok, "checks": checks})
        else:
            _show(Lines(), found)
    if not all(one.ok for one in found):
        raise typer.Exit(Exit.FAILED)


def _show(lines: Lines, found: list[Finding]) -> None:
    place = ""
    for one in found:
        if one.place != place:
            place = one.place
            lines(place)
        mark = lines.paint("ok   ", "green") if one.ok else lines.paint("FAILS", "red", bold=True)
        lines(f"  {mark}  {one.check:<10}  {one.said}")
        if one.what_to_do:
            lines(f"{'':>21}{one.what_to_do}")
    failed = [one for one in found if not one.ok]
    lines("")
    lines(f"{len(failed)} of {len(found)} checks fail." if failed else "Nothing is in the way.")
