"""Takes every measurement on one control plane, prints the figures, and keeps them in a file.

    python -m bench [--keep FILE] [--output json]

It takes about ten minutes. Exit status 1 means that a goal was missed.
"""

import sys
from pathlib import Path
from types import ModuleType

from bench import first_activity, recovery, terraform_component
from bench.report import as_json
from bench.running import parser_of, take, tell
from bench.testbed import testbed

MEASUREMENTS: tuple[ModuleType, ...] = (first_activity, terraform_component, recovery)
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
        help="where every sample is written to (default: %(default)s)",
    )
    settings = parser.parse_args()
    with testbed() as bed:
        reports = [take(bed, settings, one.measure) for one in MEASUREMENTS]
    settings.keep.parent.mkdir(parents=True, exist_ok=True)
    settings.keep.write_text(as_json(reports) + "\n")
    sys.exit(tell(reports, settings.output))


if __name__ == "__main__":
    main()
