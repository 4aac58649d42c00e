"""Checks every app config below a folder, and that reading a config twice gives the same result.

    python -m bench.published_configs FOLDER [--output text|markdown|json]

A config is a folder with a metadata.toml that is not below another config. Each is copied twice;
in the second copy, files are created in another order and with other times. Both copies must have
the same problems, and freeze to the same bytes. Exit status 1 means that a config fails this.
"""

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from apps.frozen import freeze
from apps.loader import CheckedApp, check
from contracts.engines import ENGINES, deployable


@dataclass(frozen=True)
class Row:
    """The result for one config."""

    config: str
    files: int
    errors: int
    warnings: int
    notes: int
    frozen: str
    """The digest of the frozen config in a release; empty if the config cannot be used."""
    is_same: bool
    """Whether both copies gave the same result."""
    told: list[str]
    """Each error, then each warning."""


def configs(folder: Path) -> Iterator[Path]:
    """The configs below a folder, ordered by path."""
    if (folder / "metadata.toml").is_file():
        yield folder
        return
    for inner in sorted(folder.iterdir()):
        if inner.is_dir() and not inner.is_symlink() and inner.name != ".git":
            yield from configs(inner)


def row(config: Path, name: str) -> Row:
    """Check two copies of one config."""
    with tempfile.TemporaryDirectory(prefix="exclave-config-") as scratch:
        first, second = Path(scratch, "first"), Path(scratch, "second")
        shutil.copytree(config, first, symlinks=True, copy_function=shutil.copyfile)
        copy_in_another_order(config, second)
        checked, again = (check(one, deployable(ENGINES)) for one in (first, second))
    counts = Counter(problem.severity for problem in checked.problems)
    return Row(
        config=name,
        files=checked.files,
        errors=counts["error"],
        warnings=counts["warning"],
        notes=counts["note"],
        frozen=hashlib.sha256(frozen(checked)).hexdigest() if checked.app else "",
        is_same=frozen(checked) == frozen(again) and checked.problems == again.problems,
        told=[str(problem) for problem in checked.problems if problem.severity != "note"],
    )


def frozen(checked: CheckedApp) -> bytes:
    """The config as stored in a release; empty if it cannot be used."""
    return freeze(checked.app.config) if checked.app else b""


def copy_in_another_order(config: Path, to: Path) -> None:
    """Copy the files from the last to the first, with new times."""
    for age, file in enumerate(sorted(config.rglob("*"), reverse=True)):
        if file.is_dir() and not file.is_symlink():
            continue
        copy = to / file.relative_to(config)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy, follow_symlinks=False)
        os.utime(copy, (age, age), follow_symlinks=False)


def as_text(rows: list[Row]) -> str:
    """A table for people, with each config's errors and warnings below its line."""
    width = max(len(row.config) for row in rows)
    lines = [f"{'config':<{width}}  files  errors  warnings  notes  frozen"]
    for one in rows:
        state = "not the same twice" if not one.is_same else one.frozen[:12] or "-"
        counts = f"{one.files:>5}  {one.errors:>6}  {one.warnings:>8}  {one.notes:>5}"
        lines += [f"{one.config:<{width}}  {counts}  {state}", *(f"    {t}" for t in one.told)]
    return "\n".join([*lines, "", summary(rows)])


def as_markdown(rows: list[Row]) -> str:
    """The table in Markdown."""
    lines = ["| config | files | errors | warnings | notes |", "|---|--:|--:|--:|--:|"]
    lines += [
        f"| {one.config} | {one.files} | {one.errors} | {one.warnings} | {one.notes} |"
        for one in rows
    ]
    return "\n".join([*lines, "", summary(rows)])


def as_json(rows: list[Row]) -> str:
    """Everything, as JSON."""
    return json.dumps([asdict(one) for one in rows], indent=2)


def summary(rows: list[Row]) -> str:
    """The totals."""
    usable = sum(not one.errors for one in rows)
    same = sum(one.is_same for one in rows)
    return (
        f"{len(rows)} configs: {usable} without errors; {same} read the same twice, byte for byte."
    )


SHOWN: dict[str, Callable[[list[Row]], str]] = {
    "text": as_text, "markdown": as_markdown, "json": as_json,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.published_configs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", choices=SHOWN, default="text", help="(default: %(default)s)")
    settings = parser.parse_args()
    folder: Path = settings.folder
    found = list(configs(folder))
    if not found:
        sys.exit(f"there is no folder with a metadata.toml below {folder}")
    rows = [row(one, one.relative_to(folder).as_posix()) for one in found]
    print(SHOWN[settings.output](rows))
    sys.exit(0 if all(one.is_same for one in rows) else 1)


if __name__ == "__main__":
    main()
