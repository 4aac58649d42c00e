"""`exclave worker journal`: prints or verifies the audit log of an install worker."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from activities.customer.audit_chain import Head, Line, NoLine, Verified, parse_line
from activities.customer.audit_log import kept_head
from client.errors import Refused
from exclave.exits import CommandEnded, Exit
from exclave.output import Output, OutputOption, print_json
from exclave.screens.terminal import Lines, short
from exclave.worker_machine import DataOption, EnrolmentOption, WorkerMachine, at_worker

_LINES_OF = {
    "told": ("activity", "component", "action", "verdict", "workflow"),
    "let in": ("why",),
    "ran": ("label",),
    "ended": ("outcome",),
    "torn": ("kept",),
    "lost": ("why",),
}
_DIGESTS = ("plan", "plan_file", "artifact", "script", "release")


def journal(
    enrolment: EnrolmentOption,
    data: DataOption,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check the whole chain, and print its head.")
    ] = False,
    head: Annotated[
        str | None,
        typer.Option(
            "--head",
            metavar="NUMBER:HASH",
            help="A head that was kept elsewhere: it must be in the chain. With --verify.",
        ),
    ] = None,
    heads: Annotated[
        Path | None,
        typer.Option(
            "--heads",
            metavar="FILE",
            help="The worker's log, which has a head for each operation: each must be in the "
            "chain. - is standard input. With --verify.",
        ),
    ] = None,
    first: Annotated[
        int,
        typer.Option(
            "--first",
            min=1,
            metavar="NUMBER",
            help="The oldest line that must be there; earlier ones were archived. With --verify.",
        ),
    ] = 1,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Only newer lines: 2030-01-31[T12:00]."),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Print or verify the worker's audit log: what it was asked to do, what it ran, how it ended.

    An end that was cut off, or a forged chain, is noticed only by comparing with a head that was
    kept. The store keeps one; the worker's log, which systemd keeps, has one for each operation. If
    you keep the head that --verify prints somewhere else, you need to trust neither.

    Example:

        exclave worker journal --since 2030-01-31 --enrolment acme.toml --data .

        exclave worker journal --verify --enrolment acme.toml --data .

        journalctl -u exclave-worker > worker.log

        exclave worker journal --verify --heads worker.log --enrolment acme.toml --data .
    """
    with at_worker(enrolment, data) as worker:
        if verify:
            _verify(worker, [*_head(head), *_heads(heads)], first, output)
            return
        if head is not None or heads is not None or first != 1:
            raise CommandEnded(Exit.USAGE, "--head, --heads and --first belong to --verify.")
        _print(worker, _since(since), output)


def _head(text: str | None) -> list[Head]:
    if text is None:
        return []
    found = Head.parse(text)
    if found is None:
        raise CommandEnded(
            Exit.USAGE, f"{text!r} is not a head; give it as --verify prints it: 42:sha256:…"
        )
    return [found]


def _heads(file: Path | None) -> list[Head]:
    if file is None:
        return []
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8", errors="replace")
    except OSError as error:
        raise CommandEnded(Exit.USAGE, f"{file} cannot be read: {error.strerror}") from error
    found = Head.all_in(text)
    if not found:
        # Without a head in it, a successful check would prove nothing.
        raise CommandEnded(Exit.USAGE, f"{file} contains no head; the worker's log has them")
    return found


def _since(text: str | None) -> str:
    if text is None:
        return ""
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandEnded(
            Exit.USAGE, f"{text!r} is not a time; write for example 2030-01-31T12:00 (UTC)"
        ) from error
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _verify(worker: WorkerMachine, heads: list[Head], first: int, output: Output) -> None:
    stored = kept_head(worker.store, worker.machine_id)
    found = worker.audit_log.verified([*heads, *([stored] if stored else [])], first)
    if output is Output.JSON:
        print_json(_document(found, stored))
    else:
        _show(Lines(), worker, found, stored)
    if found.problems:
        problems = "\n".join(found.problems)
        more = f"\nand {found.more} more" if found.more else ""
        raise Refused(f"The audit log of {worker.install} is not intact:\n{problems}{more}")


def _show(lines: Lines, worker: WorkerMachine, found: Verified, stored: Head | None) -> None:
    whole = "is not intact" if found.problems else "is intact"
    lines(f"The audit log of {worker.install}, in {worker.audit_log.folder}, {whole}.")
    lines(f"  lines     {found.count}")
    if found.first and found.last:
        lines(f"  first     line {found.first.number}, {found.first.at}")
        lines(f"  last      line {found.last.number}, {found.last.at}")
        lines(f"  head      {found.last.head}")
    lines(f"  in store  {stored or 'no head is kept there'}")
    if found.unended:
        lines(f"  no end    {found.unended} tasks: the worker was killed, or is still at work")
    if found.torn:
        lines(f"  torn      {found.torn} lines, torn by crashes, were set aside")


def _document(found: Verified, stored: Head | None) -> dict[str, object]:
    return {
        "whole": not found.problems,
        "lines": found.count,
        "first_at": found.first.at if found.first else None,
        "last_at": found.last.at if found.last else None,
        "head": str(found.last.head) if found.last else None,
        "head_in_store": str(stored) if stored else None,
        "without_end": found.unended,
        "torn": found.torn,
        "problems": found.problems,
    }


def _print(worker: WorkerMachine, since: str, output: Output) -> None:
    lines = Lines()
    for line in _parsed(worker):
        if line.at < since:
            continue
        if output is Output.JSON:
            own = {"number": line.number, "at": line.at, "kind": line.kind}
            print_json({**own, **line.facts, "previous": line.previous, "hash": line.hash})
        else:
            lines(_words(line))


def _parsed(worker: WorkerMachine) -> Iterator[Line]:
    for number, raw in enumerate(worker.audit_log.lines(), 1):
        try:
            yield parse_line(raw)
        except NoLine as error:
            Lines(err=True)(f"line {number} of the files cannot be read: {error}")


def _words(line: Line) -> str:
    facts = line.facts
    words = [str(facts[name]) for name in _LINES_OF.get(line.kind, ()) if name in facts]
    words += [f"{name}={short(str(facts[name]))}" for name in _DIGESTS if name in facts]
    of = f" of {facts['told']}" if "told" in facts else ""
    return f"{line.number:>6}  {line.at}  {line.kind}{of}: {' '.join(words)}"
