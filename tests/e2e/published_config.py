"""Builds a published app config unedited, with repositories made up for those that it names.

    python tests/e2e/published_config.py FOLDER [--app NAME]

Takes the folder of any app config whose components are Terraform. For each repository and directory
that it names it makes a module: variables as the config's `vars` name them, outputs as its
templates read them, and one `terraform_data`. The modules are committed to repositories on the
disk, which git takes for the real ones (`insteadOf` in the build worker's git config). Then the
folder is checked, uploaded and built twice by a development control plane of its own, which needs
no network, and what the release was made of is printed.

The exit status is 0 if both builds gave the same release. What lies on the web (https://…) would be
fetched for real. Run it by hand; nothing of the folder is kept.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from apps.config.app import AppConfig
from apps.config.sources import Source
from apps.config.terraform import TerraformModule
from apps.loader import check
from apps.parts import SANDBOX
from apps.reading.addresses import checked_directory, repository_url
from contracts.engines import ENGINES, deployable
from tests.e2e.plane import BIN, Plane
from tests.git_repositories import Repositories, git

READS = re.compile(r"\.(?:components\.([\w-]+)|sandbox)\.outputs\.([\w.-]+)")


def outputs_read(folder: Path) -> dict[str, dict[str, Any]]:
    """What the templates of all files read of each part, as nested values made up for it."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for file in folder.rglob("*"):
        if not file.is_file():
            continue
        for part, path in READS.findall(file.read_text(errors="replace")):
            at, names = found[part or SANDBOX], path.strip(".").split(".")
            for name in names[:-1]:
                inner = at.get(name)
                at[name] = inner if isinstance(inner, dict) else {}
                at = at[name]
            at.setdefault(names[-1], f"made-up-{names[-1]}")
    return found


def sources(config: AppConfig) -> dict[str, Source]:
    """Where the module of each part lies."""
    parts = [*(one.name for one in config.components), *([SANDBOX] if config.sandbox else [])]
    modules = {part: _module(config, part) for part in parts}
    return {part: module.source for part, module in modules.items() if not module.source.is_local}


def _module(config: AppConfig, part: str) -> TerraformModule:
    module = config.part(part)
    if not isinstance(module, TerraformModule):
        raise AssertionError(f"{part} is no module")
    return module


def module_of(config: AppConfig, parts: list[str], read: dict[str, dict[str, Any]]) -> str:
    """A module that all these parts can share."""
    variables: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    for part in parts:
        module = _module(config, part)
        names = [*module.vars, *(n[7:] for n in module.env_vars if n.startswith("TF_VAR_"))]
        variables |= {name: {"type": "any", "default": None} for name in names}
        outputs |= {name: {"value": value} for name, value in read.get(part, {}).items()}
    given = {name: f"${{var.{name}}}" for name in variables}
    resource = {"terraform_data": {"made_up": {"input": given}}}
    document = {"variable": variables, "output": outputs, "resource": resource}
    return json.dumps({key: value for key, value in document.items() if value}, indent=2)


def make_repositories(config: AppConfig, folder: Path, git_config: Path, work: Path) -> None:
    """One repository for each that the config names, with a module in each directory."""
    read = outputs_read(folder)
    shared: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for part, source in sources(config).items():
        place = repository_url(source.repo), source.branch or "main"
        shared[place][checked_directory(source.directory)].append(part)
    repositories = Repositories(work, git_config, "https://github.com/")
    for (url, branch), directories in shared.items():
        name = re.sub(r"^(https://github\.com/|https://|ssh://|git@)", "", url.removesuffix(".git"))
        files = {
            f"{directory}/main.tf.json".lstrip("/"): module_of(config, parts, read)
            for directory, parts in directories.items()
        }
        repositories.commit(name, files, branch=branch)
        if not url.startswith("https://github.com/"):
            key = f"url.{repositories.served / f'{name}.git'}.insteadOf"
            git("config", "--file", str(git_config), "--add", key, url, folder=work)
        for directory, parts in directories.items():
            print(f"made up {url} {branch} {directory or '.'} for {', '.join(parts)}")


def build(plane: Plane, folder: Path, app: str) -> dict[str, Any] | None:
    """What `exclave build` says; None, with its reasons printed, if it fails."""
    done = subprocess.run(
        [
            *(BIN / "exclave", "build", folder, "--app", app),
            *("--registry", plane.push, "--output", "json"),
        ],
        env=plane.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        print(done.stdout + done.stderr)
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--app", default="published")
    settings = parser.parse_args()
    checked = check(settings.folder, deployable(ENGINES))
    for problem in checked.problems:
        print(problem)
    if checked.app is None or checked.app.unbuildable:
        print("It cannot be built.")
        return 1
    with tempfile.TemporaryDirectory() as name:
        plane = Plane(Path(name))
        make_repositories(
            checked.app.config, settings.folder, plane.git_config, Path(name) / "repositories"
        )
        plane.start()
        try:
            first, second = (build(plane, settings.folder, settings.app) for _ in range(2))
        finally:
            plane.stop()
    if first is None or second is None:
        return 1
    print(json.dumps(first, indent=2))
    same = first["result"]["release"] == second["result"]["release"]
    print("The second build gave " + ("the same release." if same else "another release!"))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
