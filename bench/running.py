"""Shared by all measurements: command line, testbed, exit status."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence

from bench.report import Report, as_json
from bench.testbed import Testbed, testbed

AddArguments = Callable[[argparse.ArgumentParser], None]
Measure = Callable[[Testbed, argparse.Namespace], Awaitable[Report]]


def parser_of(program: str, description: str | None) -> argparse.ArgumentParser:
    """A command line with the options of all measurements."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {program}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--output", choices=["text", "json"], default="text", help="(default: %(default)s)"
    )
    return parser


def main(
    program: str, description: str | None, add_arguments: AddArguments, measure: Measure
) -> None:
    """Take one measurement; exit status 1 means that a goal was missed."""
    parser = parser_of(program, description)
    add_arguments(parser)
    settings = parser.parse_args()
    with testbed() as bed:
        report = take(bed, settings, measure)
    print(as_json([report]) if settings.output == "json" else report.as_text())
    sys.exit(exit_status([report]))


def take(bed: Testbed, settings: argparse.Namespace, measure: Measure) -> Report:
    """Take one measurement on a running testbed."""

    async def taken() -> Report:
        return await measure(bed, settings)

    return asyncio.run(taken())


def exit_status(reports: Sequence[Report]) -> int:
    """1 if a goal was missed."""
    return 0 if all(report.is_met for report in reports) else 1
