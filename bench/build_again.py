"""A second build of the same content, compared with the first build.

The app has several components, each with a module of two hundred lines and some megabytes of other
files whose content is new in every round. It is uploaded and built; then a copy of the folder, at
another path and with other times, is uploaded and built. The measured time is what a person waits
for: packing and pushing the folder, and the workflow Build from its start to its result, without
the start of the command's own process. Both builds must give the same release.
"""

import argparse
import asyncio
import os
import random
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import Client

from artifacts.registry import Registry
from artifacts.sources import push_source
from bench.configs import write_config
from bench.report import Report
from bench.running import main
from bench.testbed import Testbed
from contracts.builds import BuildInput, BuildResult
from contracts.names import CONTROL_QUEUE

GOAL = 0.1
_APP = "build-again"
_FILES = 20
"""Files in each module, beside its `main.tf`."""

_RESOURCES = 20
_RESOURCE = """
resource "terraform_data" "part{number}" {{
  triggers_replace = [var.round]
  input = {{
    name   = "part-${{var.round}}-{number}"
    labels = merge({{ "app" = "bench" }}, {{ "part" = "{number}" }})
    sizes  = [for size in range(3) : size * {number}]
  }}
}}
"""


@dataclass(frozen=True)
class _Built:
    """One build; seconds."""

    upload: float
    build: float
    result: BuildResult

    @property
    def both(self) -> float:
        return self.upload + self.build


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--components", type=int, default=10, help="components of the app (default: %(default)s)"
    )
    parser.add_argument(
        "--megabytes", type=float, default=5, help="size of each module (default: %(default)s)"
    )
    parser.add_argument(
        "--contents", type=int, default=5, help="contents to build twice each (%(default)s)"
    )


async def measure(bed: Testbed, settings: argparse.Namespace) -> Report:
    client = await bed.connect()
    first, again = [], []
    with Registry(bed.plane.push) as registry:
        for number in range(settings.contents + 1):
            folder = bed.folder / f"build-{number}"
            _write(folder, settings.components, settings.megabytes, seed=number)
            copy = _copied(folder)
            one = await _build(client, registry, folder, f"{number}-first")
            two = await _build(client, registry, copy, f"{number}-again")
            _require_same(one.result, two.result)
            first.append(one)
            again.append(two)
            for used in (folder, copy):
                shutil.rmtree(used)
    # The first content is not counted: it warms up imports, connections and the page cache.
    return _report(settings, first[1:], again[1:])


def _write(folder: Path, components: int, megabytes: float, seed: int) -> None:
    """Write a config folder; each seed gives the modules other content."""
    generator = random.Random(seed)
    names = [f"component{number}" for number in range(components)]
    body = "".join(_RESOURCE.format(number=number) for number in range(_RESOURCES))
    write_config(folder, dict.fromkeys(names, body))
    for name in names:
        files = folder / "modules" / name / "files"
        files.mkdir()
        for number in range(_FILES):
            content = generator.randbytes(int(megabytes * 1_000_000 / _FILES))
            (files / f"{number}.bin").write_bytes(content)


def _copied(folder: Path) -> Path:
    """A copy with another path and other times, like a fresh clone."""
    copy = folder.with_name(f"{folder.name}-copy")
    shutil.copytree(folder, copy, copy_function=shutil.copyfile)
    for path in copy.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return copy


async def _build(client: Client, registry: Registry, folder: Path, name: str) -> _Built:
    begun = time.monotonic()
    source = await asyncio.to_thread(push_source, registry, folder)
    uploaded = time.monotonic()
    result: BuildResult = await client.execute_workflow(
        "Build",
        BuildInput(app=_APP, source=source),
        id=f"build/{_APP}/{name}",
        task_queue=CONTROL_QUEUE,
        result_type=BuildResult,
    )
    return _Built(uploaded - begun, time.monotonic() - uploaded, result)


def _require_same(first: BuildResult, again: BuildResult) -> None:
    if first.reused or not again.reused or first.release != again.release:
        raise RuntimeError(f"the second build did not reuse the first: {first}, then {again}")


def _report(settings: argparse.Namespace, first: list[_Built], again: list[_Built]) -> Report:
    report = Report(
        f"A build: {settings.components} components, modules of {settings.megabytes:g} MB"
    )
    base = report.median("first build", [one.both for one in first], "s")
    _parts(report, first)
    value = report.median("second build, from a fresh copy", [one.both for one in again], "s")
    _parts(report, again)
    report.ratio("second against first", value, base, GOAL)
    return report


def _parts(report: Report, builds: list[_Built]) -> None:
    report.median("  upload", [one.upload * 1000 for one in builds], "ms")
    report.median("  Build", [one.build * 1000 for one in builds], "ms")


if __name__ == "__main__":
    main("bench.build_again", __doc__, add_arguments, measure)
