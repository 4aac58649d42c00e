"""An engine is a declaration and a folder: one of the tests alone goes through a whole life.

Its control, build and install workers are mains of its own, which call those that are shipped with
an engine more; what is shipped knows nothing of it.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from exclave.dev.declaration import read_declaration
from exclave.dev.programs import Program, build_workers, control_workers, registry, temporal_server
from tests.e2e.install_site import Site
from tests.e2e.plane import PATIENCE_SECONDS, ROOT, InstallWorker, Plane, until

pytestmark = pytest.mark.e2e

MAINS = "tests.engines.files"
IN_TREE = os.environ | {"PYTHONPATH": str(ROOT)}


class FilesPlane(Plane):
    """The development control plane, with control and build workers of the engine's own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        declaration = read_declaration(self.file)
        declaration.temporal.database.parent.mkdir(parents=True, exist_ok=True)
        self._run(temporal_server(declaration))
        self._run(registry(declaration))
        until(self.answers, "Temporal", PATIENCE_SECONDS)
        [control], [build] = control_workers(declaration), build_workers(declaration)
        self._run(control, "control_main")
        self._run(build, "build_main")
        for queue in ("control", "build"):
            until(partial(self._says, f"Working on the queue {queue}"), f"it; see {self.log}")

    def _says(self, words: str) -> bool:
        return words in self.log.read_text()

    def _run(self, program: Program, main: str | None = None) -> None:
        argv = list(program.argv)
        if main is not None:
            assert argv[1] == "-m" and argv[2].startswith("workers.")
            argv[2] = f"{MAINS}.{main}"
        with self.log.open("ab") as log:
            started = subprocess.Popen(
                argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=ROOT, env=IN_TREE
            )
        self._processes.append(started)

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
            process.wait(PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilesPlane]:
    one = FilesPlane(tmp_path_factory.mktemp("files-plane"))
    try:
        one.start()
        yield one
    finally:
        one.stop()


APP = {
    "metadata.toml": 'version = "v2"\n',
    "inputs.toml": "".join(
        f'[[input]]\nname = "{name}"\ndisplay_name = "{name}"\ndescription = "a path"\n'
        "required = true\n"
        for name in ("lines", "folder")
    ),
    "components/pages.toml": """
type = "pulumi"
name = "pages"
runtime = "python"
public_repo = { repo = ".", directory = "pages" }
[config]
folder = "{{ .nuon.inputs.inputs.folder }}/pages"
lines = "{{ .nuon.inputs.inputs.lines }}"
seconds = "3"
""",
    "components/index.toml": """
type = "pulumi"
name = "index"
runtime = "python"
public_repo = { repo = ".", directory = "index" }
[config]
folder = "{{ .nuon.components.pages.outputs.folder }}/index"
lines = "{{ .nuon.inputs.inputs.lines }}"
""",
    "index/index.html": "all pages",
}


def build(site: Site, pages: dict[str, str]) -> str:
    site.builds += 1
    folder = site.folder / f"config-{site.builds}"
    for name, text in (APP | {f"pages/{one}": text for one, text in pages.items()}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return site.plane.build(site.app, folder, site.builds)


def written(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir() if file.is_file()}


@pytest.fixture
def site(plane: FilesPlane, tmp_path: Path) -> Iterator[Site]:
    worker = InstallWorker(plane, "acme", tmp_path)
    worker.program = (sys.executable, "-m", f"{MAINS}.install_main")
    worker.start(**IN_TREE)
    yield Site(plane, "acme", "pages", worker, tmp_path / "lines", tmp_path)
    worker.stop()


def test_it_goes_through_a_whole_life(site: Site) -> None:
    plane, worker, folder = site.plane, site.worker, site.folder / "www"
    pages = {"a.txt": "1", "b.txt": "1", "c.txt": "1"}
    first = build(site, pages)
    site.begin_without_inputs(first)
    site.set_inputs(lines=str(site.lines_file), folder=str(folder))

    run = site.deploy(first)
    view = plane.approve_one_with_view(run)
    assert view["text"].startswith('apply pages: 3 to create\n\n+ a.txt\n    + text = "1"\n')
    site.wait_for_line("+b.txt")
    worker.kill()
    worker.start(**IN_TREE)
    plane.approve_one(run)
    assert site.outcomes(run) == {"pages": "applied", "index": "applied"}
    assert site.lines() == ["+a.txt", "+b.txt", "+c.txt", "+index.html"], "each was done once"
    assert written(folder / "pages") == pages
    assert "b.txt is done" in plane.logs(run)
    worker_said = plane.query("install/acme", "status")["worker"]["description"]
    assert "files/1" in worker_said["features"]
    assert worker_said["tools"]["files-writer"] == "1.0.0"

    assert site.outcomes(site.deploy(first)) == {"pages": "skipped", "index": "skipped"}

    changed = {"a.txt": "1", "b.txt": "2", "d.txt": "2", "e.txt": "2"}
    second = build(site, changed)
    run = site.deploy(second)
    site.lines_file.unlink()
    plane.approve_one(run)
    site.wait_for_line("-c.txt")
    writer, supervisor = until(lambda: worker.processes("writer.py"), "it")[0], worker.supervisor()
    worker.kill()
    for pid in (supervisor, writer):
        os.kill(pid, signal.SIGKILL)
    worker.start(**IN_TREE)
    assert site.outcomes(run) == {"pages": "applied", "index": "unchanged"}
    assert site.lines() == ["+b.txt", "-c.txt", "+d.txt", "+e.txt"], "the rest, and no more"
    assert written(folder / "pages") == changed

    run = site.deploy(first)
    plane.approve_one(run)
    assert site.outcomes(run) == {"pages": "applied", "index": "unchanged"}
    assert written(folder / "pages") == pages

    run = site.start("deprovision", {})
    plans = site.approve_all(run, 2)
    assert [(one["component"], one["teardown"]) for one in plans] == [
        ("index", True), ("pages", True),
    ]  # fmt: skip
    assert site.outcomes(run) == {"index": "torn down", "pages": "torn down"}
    assert written(folder / "pages") == {}
    left = {file.parts[0] for file in _below(worker.store_file(""))}
    assert left == {".lock", "journals", "customer"}


def _below(store: Path) -> list[Path]:
    return [file.relative_to(store) for file in store.rglob("*") if file.is_file()]
