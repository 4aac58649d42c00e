"""The time that Exclave adds to a Terraform component, compared with the same commands by hand.

By hand: init, plan, show, apply and output, with the flags and the environment that Exclave uses,
one after the other in a separate folder. Exclave: its plan activity and its apply activity, each
from scheduled to completed by the server's clock, without the wait for the approval. The two
alternate, on a module with some seconds of work and on an empty one.
"""

import argparse
import asyncio
import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from activities.operations.spec import Command
from activities.terraform import commands
from activities.terraform.plan_json import PLAN_FILE
from activities.terraform.tool import TerraformTool, environment, find_terraform
from bench.configs import EMPTY, module, work
from bench.histories import activities
from bench.report import Figure, Report
from bench.running import main
from bench.testbed import Install, Testbed
from contracts.deploys import TERRAFORM_APPLY, TERRAFORM_PLAN

GOAL = 1.15


@dataclass(frozen=True)
class Taken:
    """How long one deployment of a component took, in seconds."""

    plan: float
    apply: float

    @property
    def both(self) -> float:
        return self.plan + self.apply


class ByHand:
    """A module in its own folder, and the commands for it."""

    def __init__(self, folder: Path, tool: TerraformTool, body: str) -> None:
        self._folder = folder / "module"
        self._tool = tool
        self._plan_file = folder / PLAN_FILE
        self._output = folder / "output.log"
        self._folder.mkdir(parents=True)
        self._environment = environment(folder, self._folder, {})
        backend = {"local": {"path": str(folder / "terraform.tfstate")}}
        (self._folder / "backend_override.tf.json").write_text(
            json.dumps({"terraform": {"backend": backend}})
        )
        (self._folder / "main.tf").write_text(module(body))

    def deploy(self, value: str) -> Taken:
        """Run all commands with this value of the variable; blocks."""
        variables = self._folder / "round.auto.tfvars.json"
        variables.write_text(json.dumps({"round": value}))
        planning = commands.plan(self._tool, self._plan_file, teardown=False)
        return Taken(
            plan=self._timed([commands.initialise(self._tool), *planning]),
            apply=self._timed(commands.apply(self._tool, self._plan_file)),
        )

    def _timed(self, several: list[Command]) -> float:
        start = time.monotonic()
        with self._output.open("wb") as output:
            for one in several:
                subprocess.run(
                    one.argv,
                    check=True,
                    cwd=self._folder,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )
        return time.monotonic() - start


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--work-seconds", type=float, default=20, help="seconds of work (default: %(default)s)"
    )
    parser.add_argument(
        "--work-times", type=int, default=3, help="repetitions with work (default: %(default)s)"
    )
    parser.add_argument(
        "--empty-times", type=int, default=10, help="repetitions without (default: %(default)s)"
    )


async def measure(bed: Testbed, settings: argparse.Namespace) -> Report:
    bodies = {"work": work(settings.work_seconds), "empty": EMPTY}
    tool = find_terraform()
    hands = {name: ByHand(bed.folder / f"by-hand-{name}", tool, bodies[name]) for name in bodies}
    client = await bed.connect()
    install = await bed.install(client, "terraform-component", bodies)
    # The first deployment of each is not counted, since programs are read from the disk then.
    await (await install.deploy_approved(plans=len(bodies))).result()
    await asyncio.to_thread(hands["empty"].deploy, "0")

    report = Report("A Terraform component, from scheduled to completed, without the approval")
    by_hand, ours = await _alternately(install, hands, "empty", settings.empty_times)
    _add(report, "empty", by_hand, ours)
    by_hand, ours = await _alternately(install, hands, "work", settings.work_times)
    base, value = _add(report, f"{settings.work_seconds:g} s of work", by_hand, ours)
    report.ratio("Exclave against by hand, with work", value, base, GOAL)
    return report


async def _alternately(
    install: Install, hands: dict[str, ByHand], component: str, repetitions: int
) -> tuple[list[Taken], list[Taken]]:
    by_hand, ours = [], []
    for number in range(1, repetitions + 1):
        by_hand.append(await asyncio.to_thread(hands[component].deploy, str(number)))
        ours.append(await _deploy(install, component, str(number)))
    return by_hand, ours


async def _deploy(install: Install, component: str, value: str) -> Taken:
    await install.set_round(component, value)
    run = await install.deploy_approved()
    await run.result()
    found = {one.name: one for one in activities((await run.fetch_history()).events)}
    return Taken(found[TERRAFORM_PLAN.name].seconds, found[TERRAFORM_APPLY.name].seconds)


def _add(
    report: Report, what: str, by_hand: list[Taken], ours: list[Taken]
) -> tuple[Figure, Figure]:
    base = report.median(f"by hand, {what}", [one.both for one in by_hand], "s")
    value = report.median(f"Exclave, {what}", [one.both for one in ours], "s")
    for part in ("plan", "apply"):
        added = [
            (getattr(o, part) - getattr(h, part)) * 1000 for o, h in zip(ours, by_hand, strict=True)
        ]
        report.median(f"  added by Exclave to the {part}", added, "ms")
    added = [(o.both - h.both) * 1000 for o, h in zip(ours, by_hand, strict=True)]
    report.median(f"  added by Exclave, {what}", added, "ms")
    return base, value


if __name__ == "__main__":
    main("bench.terraform_component", __doc__, add_arguments, measure)
