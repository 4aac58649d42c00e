"""Takes every measurement on one control plane, prints the figures, and writes them to a file.

    python -m bench [--keep FILE] [--output json]

It takes about twelve minutes. Exit status 1 means that a goal was missed.
"""

import sys
from pathlib import Path
from types import ModuleType

from bench import (
    build_again,
    encryption,
    first_activity,
    gateway,
    history_size,
    idle_worker,
    recovery,
    terraform_component,
    twenty_components,
)
from bench.report import as_json
from bench.running import exit_status, parser_of, take
from bench.testbed import testbed

MEASUREMENTS: tuple[ModuleType, ...] = (
    first_activity,
    encryption,
    build_again,
    terraform_component,
    twenty_components,
    idle_worker,
    history_size,
    gateway,
    recovery,
)
"""Each has `add_arguments` and `measure`; their flags have different names."""


def main() -> None:
    parser = parser_of("bench", __doc__)
    for one in MEASUREMENTS:
        one.add_arguments(parser)
    parser.add_argument(
        "--keep",
        type=Path,
        default=Path(".exclave/bench.json"),
        metavar="FILE",
        help="the file for every sample (default: %(default)s)",
    )
    settings = parser.parse_args()
    reports = []
    with testbed() as bed:
        for one in MEASUREMENTS:
            reports.append(take(bed, settings, one.measure))
            if settings.output == "text":
                # Printed at once, so that a later failure does not lose earlier results.
                print(reports[-1].as_text(), end="\n\n", flush=True)
    settings.keep.parent.mkdir(parents=True, exist_ok=True)
    settings.keep.write_text(as_json(reports) + "\n")
    if settings.output == "json":
        print(as_json(reports))
    sys.exit(exit_status(reports))


if __name__ == "__main__":
    main()
