"""How long it takes to check the largest app config, and to render a typical template.

    python -m bench.config_check [--checks N] [--output json]

The config has 280 files: 120 components of every type, 60 actions, inputs, policies, roles,
runbooks and Terraform modules. Each check is a separate process on one core. The times of `check`
and of only parsing the same TOML are processor time, so that a busy neighbour hardly matters; the
time of the whole command is by the clock. Exit status 1 means that a goal was missed.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from apps.templates import parse
from bench.large_config import write_large_config
from bench.report import Figure, Report, as_json
from bench.running import exit_status, parser_of

CHECK_GOAL_SECONDS = 1.0
AGAINST_PARSING_GOAL = 20.0
RENDERS = 10_000
RENDER_GOAL_SECONDS = 1.0
MEMORY_GOAL_BYTES = 100 * 1024 * 1024

_ONE_CHECK = """
import json, sys, time, tomllib
from pathlib import Path
began = time.process_time()
from apps.loader import check
from contracts.engines import ENGINES, deployable
imported = time.process_time()
checked = check(Path(sys.argv[1]), deployable(ENGINES))
ended = time.process_time()
assert checked.app is not None, "\\n".join(map(str, checked.problems))
texts = [path.read_text() for path in Path(sys.argv[1]).rglob("*.toml")]
parsing = time.process_time()
for text in texts:
    tomllib.loads(text)
parsed = time.process_time()
print(json.dumps({
    "importing": imported - began, "check": ended - imported, "parsing": parsed - parsing,
    "files": checked.files,
}))
"""

VALUE = (
    'https://{{ .nuon.inputs.inputs.name }}.{{ default "example.com" .nuon.inputs.inputs.domain }}'
    "/{{ .nuon.components.api.outputs.path }}?install={{ .nuon.install.id }}"
)
DATA = {
    "nuon": {
        "install": {"id": "inl123"},
        "inputs": {"inputs": {"name": "shop", "domain": ""}},
        "components": {"api": {"outputs": {"path": "v1"}}},
    }
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--checks", type=int, default=11, help="how many checks (default: %(default)s)"
    )


def measure(settings: argparse.Namespace) -> list[Report]:
    with tempfile.TemporaryDirectory(prefix="exclave-bench-") as scratch:
        folder = Path(scratch, "app")
        files = write_large_config(folder)
        return [_checks(folder, files, settings.checks), _renders()]


def _checks(folder: Path, files: int, count: int) -> Report:
    samples = [_one_check(folder) for _ in range(count)]
    report = Report(f"Checking an app config of {files} files")
    parsing = report.median("only parsing its TOML", [s["parsing"] for s in samples], "s")
    checking = report.median(
        "checking, in a fresh process", [s["check"] for s in samples], "s", CHECK_GOAL_SECONDS
    )
    report.median("  its imports before that", [s["importing"] for s in samples], "s")
    report.median("the whole command, from its start", [s["command"] for s in samples], "s")
    report.ratio("checking against parsing", checking, parsing, AGAINST_PARSING_GOAL)
    return report


def _one_check(folder: Path) -> dict[str, float]:
    found: dict[str, float] = json.loads(_on_one_core(["-c", _ONE_CHECK, str(folder)]))
    began = time.perf_counter()
    _on_one_core(["-m", "exclave", "check", str(folder), "--format", "json"])
    return {**found, "command": time.perf_counter() - began}


def _on_one_core(arguments: list[str]) -> str:
    core = min(os.sched_getaffinity(0))
    return subprocess.run(
        [sys.executable, *arguments],
        check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    ).stdout  # fmt: skip


def _renders() -> Report:
    report = Report(f"Parsing a value with four paths once, and rendering it {RENDERS} times")
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        template = parse(VALUE)
        for _ in range(RENDERS):
            template.render(DATA)
        seconds.append(time.perf_counter() - began)
    report.median("all renders", seconds, "s", RENDER_GOAL_SECONDS)
    # The whole process, including the interpreter and all imports.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    report.figures.append(Figure("the process's peak memory", peak, "bytes", MEMORY_GOAL_BYTES))
    return report


def main() -> None:
    parser = parser_of("bench.config_check", __doc__)
    add_arguments(parser)
    settings = parser.parse_args()
    reports = measure(settings)
    text = "\n\n".join(report.as_text() for report in reports)
    print(as_json(reports) if settings.output == "json" else text)
    sys.exit(exit_status(reports))


if __name__ == "__main__":
    main()
