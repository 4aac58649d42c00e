"""The story: one install from its first release to the end, chapter by chapter.

Each chapter says what will happen, lets it happen for real, and compares the outcome with the
expected one; if they differ, the story fails.
"""

import os
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from apps.parts import SANDBOX
from client.following import End
from contracts.deploys import Inputs
from contracts.installs import (
    ActRequest,
    DeployRequest,
    DeprovisionRequest,
    InstallStatus,
    ProvisionRequest,
    RollbackRequest,
    SetInputs,
)
from contracts.names import Digest
from exclave.demo.cast import Cast, StoryFailed, forget_sources, good
from exclave.demo.stage import EXAMPLES, Stage, lay_over
from exclave.screens.terminal import Lines

APP = "shop"
INSTALL = "acme"
EditConfig = Callable[[Path], None]


@dataclass
class Releases:
    """The releases built so far."""

    first: Digest = ""
    second: Digest = ""


@dataclass(eq=False)
class Story:
    """Plays the story on a stage, with a cast."""

    stage: Stage
    cast: Cast
    lines: Lines
    start_worker: Callable[[Path], Awaitable[None]]
    """Starts the install worker from the folder of its stack."""
    edit: EditConfig = lambda config: None
    """Changes each config folder before it is uploaded."""
    _releases: Releases = field(default_factory=Releases, init=False)
    _chapter: int = field(default=0, init=False)

    async def play(self) -> None:
        """Play the story to its end.

        Raises:
            StoryFailed: something had another outcome than it should.
        """
        await self._build()
        await self._install()
        await self._provision()
        await self._deploy()
        await self._act()
        await self._change_an_input()
        await self._bring_a_new_release()
        await self._fail_and_roll_back()
        await self._deprovision()

    async def _build(self) -> None:
        self._begin("Build", "The vendor's app config becomes one release, named by its digest.")
        config = self._config("first")
        self.edit(config)
        built = await self.cast.build(APP, config, 1)
        self._releases.first = built.release
        self._say(f"Release {built.release}, of {len(built.components)} components.")
        self._say("The same config again, from a fresh copy with new times:")
        copy = self.stage.vendor / "fresh-copy"
        shutil.copytree(config, copy, copy_function=shutil.copyfile)
        for path in copy.rglob("*"):
            os.utime(path)
        again = await self.cast.build(APP, copy, 2)
        self._require(again.release == built.release, "the second build gave another digest")
        self._require(again.reused, "the second build made the release anew")
        self._say("Nothing was built: the same content has the same digest.")

    async def _install(self) -> None:
        self._begin("Install", "A customer gets an install; its worker dials out from there.")
        await self.cast.install(INSTALL, APP, self._releases.first)
        stack = self.stage.customer(INSTALL) / "stack"
        await self.cast.apply_stack(INSTALL, stack)
        self._say("The customer gets a stack: a folder that can be read before it is applied.")
        for path in sorted(stack.iterdir()):
            self._say(f"  {path.name:<24} {path.stat().st_size:>6} bytes")
        self._say("The customer starts the worker with nothing else.")
        await self.start_worker(stack)
        status = await self.cast.until(
            INSTALL, lambda now: now.worker is not None, "the worker has connected"
        )
        if status.worker is not None:
            tools = ", ".join(f"{k} {v}" for k, v in status.worker.description.tools.items())
            host = status.worker.description.host
            self._say(f"Connected from {host}, with {tools or 'no tool'}.")

    async def _provision(self) -> None:
        self._begin("Provision", "The sandbox is planned, shown, approved and applied.")
        run, end = await self.cast.run(
            INSTALL, "provision", ProvisionRequest(release=self._releases.first)
        )
        self._expect(run, end, {SANDBOX: "applied"})
        await self._settled(lambda now: now.provisioned)

    async def _deploy(self) -> None:
        self._begin("Deploy", "Components are deployed along their graph, each as early as it can.")
        run, end = await self.cast.run(
            INSTALL, "deploy", DeployRequest(release=self._releases.first)
        )
        applied = dict.fromkeys(("network", "database", "cache", "api"), "applied")
        self._expect(run, end, applied)
        await self._settled(lambda now: now.release == self._releases.first)

    async def _act(self) -> None:
        self._begin(
            "Act", "A health check runs by hand and on schedule; it also ran after the deploy."
        )
        run, end = await self.cast.run(INSTALL, "act", ActRequest(action="health"))
        self._outputs(run, end)
        schedules = (await self.cast.status(INSTALL)).schedules
        self._require(len(schedules) == 1, f"there are {len(schedules)} schedules instead of one")
        self._say(f"Its schedule {schedules[0]} is triggered now, instead of in a few minutes.")
        run = await self.cast.tick(schedules[0])
        self._outputs(run, await self.cast.follow(run))

    async def _change_an_input(self) -> None:
        self._begin("Change an input", "Only what refers to it is planned again.")
        change = SetInputs(values={"cache_mb": "128"})
        await self.cast.send_update(INSTALL, "set_inputs", change, Inputs)
        run, end = await self.cast.run(
            INSTALL, "deploy", DeployRequest(release=self._releases.first)
        )
        self._expect(
            run,
            end,
            {
                "network": "skipped",
                "database": "skipped",
                # cache refers to the input. api is planned because it depends on cache.
                "cache": "applied",
                "api": "unchanged",
            },
        )
        await self._settled(lambda now: now.holder is None)

    async def _bring_a_new_release(self) -> None:
        self._begin(
            "A new release", "One component changes, one is new, and one is gone: it is torn down."
        )
        config = self._config("second", changes=("second",))
        self.edit(config)
        built = await self.cast.build(APP, config, 3)
        self._releases.second = built.release
        run, end = await self.cast.run(INSTALL, "deploy", DeployRequest(release=built.release))
        self._expect(
            run,
            end,
            {
                "network": "skipped",
                "database": "skipped",
                "search": "applied",
                "api": "applied",
                "cache": "torn down",
            },
        )
        await self._settled(lambda now: now.release == built.release)

    async def _fail_and_roll_back(self) -> None:
        self._begin("A release that fails", "Half of it is deployed when its database fails.")
        config = self._config("third", changes=("second", "third"))
        self.edit(config)
        built = await self.cast.build(APP, config, 4)
        change = SetInputs(values={"greeting": "Hello"})
        await self.cast.send_update(INSTALL, "set_inputs", change, Inputs)
        run, end = await self.cast.run(INSTALL, "deploy", DeployRequest(release=built.release))
        self._require(end.how == "failed", f"{run} {end.how} instead of failing")
        self._require("no space left on device" in end.message, f"{run} does not say why")
        self._say(f"{run} failed; the message of its engine:")
        self.lines.block(end.message, indent="  | ")
        await self._settled(lambda now: now.failure is not None)

        self._begin("Roll back", "To the previous release, by its digest, and with its inputs.")
        forget_sources(self.stage.declaration.data / "registry", self.stage.vendor)
        self._say("All sources are deleted first: whatever a deploy needs is in the release.")
        request = RollbackRequest(release=self._releases.second, inputs=True)
        run, end = await self.cast.run(INSTALL, "rollback", request)
        outcomes = self._outcomes(good(run, end))
        self._require(outcomes["database"] == "applied", "the rollback left the broken database")
        self._require(outcomes["search"] == "applied", "the rollback left the newer search")
        status = await self._settled(lambda now: now.release == self._releases.second)
        self._require(
            "greeting" not in status.inputs.values and status.inputs.values["cache_mb"] == "128",
            f"the inputs were not brought back: {status.inputs.values}",
        )
        self._say("The inputs are those of that time, too.")

    async def _deprovision(self) -> None:
        self._begin("Deprovision", "Everything is torn down in reverse order, the sandbox last.")
        run, end = await self.cast.run(INSTALL, "deprovision", DeprovisionRequest())
        torn = dict.fromkeys(("network", "database", "search", "api", SANDBOX), "torn down")
        self._expect(run, end, torn)
        status = await self._settled(lambda now: not now.provisioned)
        self._require(not status.schedules, f"schedules are left: {status.schedules}")
        self._require(not status.parts, f"parts are left: {status.parts}")

    def _config(self, name: str, changes: tuple[str, ...] = ()) -> Path:
        config = self.stage.vendor / name
        shutil.copytree(EXAMPLES / APP, config)
        for change in changes:
            lay_over(change, config)
        return config

    async def _settled(self, holds: Callable[[InstallStatus], bool]) -> InstallStatus:
        """The install's status, once it has recorded the run's end."""
        return await self.cast.until(
            INSTALL,
            lambda now: now.holder is None and not now.queue and holds(now),
            "the install has recorded the end",
        )

    def _expect(self, run: str, end: End, outcomes: dict[str, str]) -> None:
        found = self._outcomes(good(run, end))
        self._require(found == outcomes, f"{run} came to {found} instead of {outcomes}")

    def _outcomes(self, end: End) -> dict[str, str]:
        result = end.result
        parts = result["components"] if "components" in result else [result["sandbox"]]
        return {one["component"]: one["outcome"] for one in parts}

    def _outputs(self, run: str, end: End) -> None:
        steps = good(run, end).result["steps"]
        self._require(len(steps) == 2, f"{run} ran {len(steps)} steps instead of two")
        for step in steps:
            for name, value in step["outputs"]["values"].items():
                self._say(f"  {step['step']}: {name} = {value}")

    def _require(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise StoryFailed(f"chapter {self._chapter}: {otherwise}")

    def _begin(self, title: str, words: str) -> None:
        self._chapter += 1
        self.lines()
        self.lines(self.lines.paint(f"{self._chapter}. {title}", "cyan", bold=True))
        self.lines(f"   {words}")
        self.lines()

    def _say(self, words: str) -> None:
        self.lines(words)
