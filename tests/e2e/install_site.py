"""An install with its worker, its app, and the file that its provisioners write lines to."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.apps_for_tests import Component, write_app
from tests.e2e.plane import InstallWorker, Plane, until


@dataclass
class Site:
    """An install with its worker, its app, and the file of lines."""

    plane: Plane
    install: str
    app: str
    worker: InstallWorker
    lines_file: Path
    folder: Path
    builds: int = 0
    release: str = ""
    """The newest one that was built."""

    def build(
        self,
        components: list[Component],
        inputs: str = "",
        actions: dict[str, str] | None = None,
        sandbox: Component | None = None,
    ) -> str:
        self.builds += 1
        folder = self.folder / f"config-{self.builds}"
        write_app(folder, components, inputs, actions, sandbox)
        release = self.release = self.plane.build(self.app, folder, self.builds)
        # Whatever a deploy needs is in the release.
        shutil.rmtree(folder)
        return release

    def begin(self, release: str) -> None:
        """Start Install and set what every deploy needs."""
        self.begin_without_inputs(release)
        self.set_inputs(lines=str(self.lines_file))

    def begin_without_inputs(self, release: str) -> None:
        """Start Install."""
        self.plane.start_workflow(
            "Install",
            f"install/{self.install}",
            {"install": self.install, "app": self.app, "release": release},
        )
        install = f"install/{self.install}"
        until(lambda: self.plane.query(install, "status")["declared"], "the declared inputs")

    def set_inputs(self, **values: str) -> None:
        self.plane.update(f"install/{self.install}", "set_inputs", {"values": values})

    def deploy(self, release: str) -> str:
        return self.start("deploy", {"release": release})

    def act(self, action: str) -> str:
        return self.start("act", {"action": action})

    def start(self, update: str, request: dict[str, object]) -> str:
        """Start a run by an update on the install; returns its workflow id."""
        started = self.plane.update(f"install/{self.install}", update, request)
        return str(started["workflow_id"])

    def approve_all(self, run: str, count: int) -> list[dict[str, Any]]:
        return [self.plane.approve_one(run) for _ in range(count)]

    def lines(self) -> list[str]:
        return self.lines_file.read_text().split() if self.lines_file.exists() else []

    def wait_for_line(self, line: str) -> None:
        until(lambda: line in self.lines(), f"the line {line}; the worker's log: {self.worker.log}")

    def result(self, run: str) -> dict[str, Any]:
        return self.plane.result(run)

    def completed(self, run: str) -> dict[str, Any]:
        answer = self.result(run)
        told = json.dumps(answer, indent=1).replace("\\n", "\n")
        assert answer["status"] == "COMPLETED", f"{told}\n{self.worker.log.read_text()}"
        found: dict[str, Any] = answer["result"]
        return found

    def outcomes(self, run: str) -> dict[str, str]:
        return {one["component"]: one["outcome"] for one in self.completed(run)["components"]}

    def state_resources(self, component: str) -> list[str]:
        state = json.loads(
            self.worker.store_file(f"terraform/{component}/terraform.tfstate").read_text()
        )
        return [
            f"{one['type']}.{one['name']}" for one in state["resources"] for _ in one["instances"]
        ]
