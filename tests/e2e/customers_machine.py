"""The customer's machine within its network: the stack that was applied, and the install worker."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.e2e.apps_for_tests import Component
from tests.e2e.customer_network import GATEWAY_NAME, V4, V6, CustomerNetwork
from tests.e2e.install_site import Site
from tests.e2e.plane import BIN, PATIENCE_SECONDS, InstallWorker, Plane, until
from tests.tls_certificates import make_certificate


def guarded_plane(folder: Path) -> Plane:
    """A control plane whose gateway's certificate is for its name and addresses at the edge."""
    plane = Plane(folder, guarded=True)
    made = make_certificate(
        folder / "certificate",
        names=[
            # The build worker comes by loopback.
            "127.0.0.1",
            GATEWAY_NAME,
            *(address for one in (V4, V6) for address in (one.gateway, one.moved_gateway)),
        ],
    )
    where = folder / "dev" / "gateway"
    where.mkdir(parents=True)
    for file, name in ((made.ca, "ca"), (made.file, "certificate"), (made.key, "certificate-key")):
        shutil.copy(file, where / f"{name}.pem")
    (where / "certificate-key.pem").chmod(0o600)
    plane.start()
    return plane


class WorkerInNetwork(InstallWorker):
    """`exclave-worker` on the customer's side, which enrols by its token."""

    def __init__(
        self, plane: Plane, install: str, folder: Path, network: CustomerNetwork, gateway: str
    ) -> None:
        super().__init__(plane, install, folder)
        self.plane = plane
        self.app = f"{install}-app"
        self.network = network
        self.gateway = gateway
        """The host, as the enrolment names it."""
        self.within = network.customer.command
        self.stack = self.folder / "stack"
        self.direct_enrolment = self.enrolment
        """Of one that would not go through the gateway."""

    def apply_stack(self) -> None:
        """Have the install's stack written, for the address where its network has the gateway."""
        subprocess.run(
            [BIN / "exclave", "install", self.install, "--app", self.app, "--stack", self.stack],
            env=self.plane.environment,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=True,
        )
        self.enrolment = self.stack / "enrolment.toml"
        here = str(self.plane.gateway)
        text = self.enrolment.read_text()
        assert here in text
        text = text.replace(f"https://{here}", f"https://{self.gateway}")
        self.enrolment.write_text(text.replace(here, f"{self.gateway}:443"))

    def says(self, words: str, times: int = 1) -> None:
        def look() -> bool:
            assert self.process is not None and self.process.poll() is None, self.log.read_text()
            return self.log.read_text().count(words) >= times

        until(look, f"{words!r} in {self.log}")

    def start(self, **environment: str) -> None:
        super().start(NO_PROXY="*", no_proxy="*", **environment)

    def doctor(self, enrolment: Path) -> tuple[bool, list[dict[str, Any]]]:
        """What `exclave worker doctor` finds on this machine, and whether all is well."""
        done = subprocess.run(
            [
                *(*self.within, str(BIN / "exclave"), "worker", "doctor", "--output", "json"),
                *("--enrolment", str(enrolment), "--data", str(self.data)),
            ],
            env=os.environ | {"NO_PROXY": "*", "no_proxy": "*"},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        answer = json.loads(done.stdout)
        assert done.returncode == (0 if answer["ok"] else 1), done.stderr
        return answer["ok"], answer["checks"]

    def connections(self) -> dict[str, str]:
        """Where its machine is connected to, by its own end."""
        found = self.network.customer.sockets("-t", "state", "established")
        return {own: other for _, _, own, other, *_ in found}


def enrolled_site(worker: WorkerInNetwork, components: list[Component], folder: Path) -> Site:
    """An install whose worker has enrolled and takes work."""
    lines = folder / f"{worker.install}-lines"
    site = Site(worker.plane, worker.install, worker.app, worker, lines, folder)
    release = site.build(components)
    site.begin(release)
    worker.apply_stack()
    worker.start()
    worker.says(f"Working on the queue install.{worker.install}")
    return site
