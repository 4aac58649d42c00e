"""The story, while somebody kills -9 its processes at random; a program of its own.

    python tests/e2e/random_kills.py --seed 7

It ends with status 0 if the story ended as if nothing had happened: every run came to what it must,
and every side effect was there exactly once. The one exception is the resource that was in flight
when its Terraform was killed: it is created again, since nobody can know how far it was.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from client.control_plane import ControlPlane
from contracts.access import AccessPage, AccessPageRequest
from contracts.names import access_workflow_id
from exclave.demo.cast import Cast, StoryFailed
from exclave.demo.stage import Stage, control_plane, empty_stage, install_worker
from exclave.demo.story import INSTALL, Story
from exclave.dev import child
from exclave.dev.encryption import keys_file
from exclave.screens.terminal import Lines
from wire.connection import TemporalAddress, connect_once
from wire.encryption.key_settings import master_keys

SHORTEST_SECONDS, LONGEST_SECONDS = 2.0, 6.0
"""Between two kills."""

_LOOKS, _LOOK_SECONDS = 100, 0.05

PROCESSES = ("worker", "tool", "supervisor", "control", "build", "temporal", "gateway")

EXPECTED = Counter(
    {
        "sandbox": 1,
        "network": 1,
        # Created, replaced by the third release, which fails at it, and again by the rollback.
        "database": 3,
        "cache": 1,
        "search": 1,
        "api": 1,
        "preflight": 1,
        "welcome": 1,
        "backup": 1,
        # After four deploys that ended well, once by hand, and once by its schedule.
        "health": 6,
    }
)
"""The lines of side effects: a component's main resource when it is created, an action's first
step when it runs."""


@dataclass
class Kills:
    """Who was killed."""

    seed: int
    stage: Stage
    killed: list[str] = field(default_factory=list)
    tools: Counter[str] = field(default_factory=Counter)
    """How often a component's Terraform was killed."""

    async def go_on(self) -> None:
        """Kill one after another, until cancelled."""
        chance = random.Random(self.seed)
        while True:
            await asyncio.sleep(chance.uniform(SHORTEST_SECONDS, LONGEST_SECONDS))
            who = chance.choice(PROCESSES)
            pick = chance.random()
            victims = await self._appearing(who)
            if not victims:
                continue
            pid, component = victims[int(pick * len(victims))]
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.tools.update([component] if who == "tool" else [])
                self.killed.append(f"{who} {component}".strip())
                print(f"    (killed {self.killed[-1]}, pid {pid})", flush=True)

    async def _appearing(self, who: str) -> list[tuple[int, str]]:
        """The victims of a kind; tools and supervisors are waited for."""
        for _ in range(_LOOKS):
            victims = sorted(self._victims(who))
            if victims:
                return victims
            await asyncio.sleep(_LOOK_SECONDS)
        return []

    def _victims(self, who: str) -> list[tuple[int, str]]:
        if who == "tool":
            return self._terraforms()
        if who == "supervisor":
            return [(pid, "") for pid in self._ours("activities.operations.supervisor")]
        name = f"install-{INSTALL}" if who == "worker" else who
        with contextlib.suppress(FileNotFoundError, ValueError):
            pids = child_pids(self.stage)
            return [(pids[name], "")] if name in pids else []
        return []

    def _terraforms(self) -> list[tuple[int, str]]:
        found = []
        for pid in self._ours("-input=false"):
            with contextlib.suppress(OSError):
                found.append((pid, Path(f"/proc/{pid}/cwd").readlink().name))
        return found

    def _ours(self, needle: str) -> list[int]:
        """Processes of the customer's machine whose command line holds the needle."""
        data = str(self.stage.customer(INSTALL))
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                inside = data in command or str((entry / "cwd").readlink()).startswith(data)
                if inside and needle in command:
                    found.append(int(entry.name))
        return found


def child_pids(stage: Stage) -> dict[str, int]:
    """The processes of the stage, by name."""
    pids: dict[str, int] = json.loads((stage.folder / "pids.json").read_text())
    return pids


def with_ledger(config: Path, ledger: Path) -> None:
    """Have every main resource and every action's first step write a line to the ledger."""
    for module in (config / "modules").iterdir():
        main = module / "main.tf"
        text = main.read_text()
        line = f"echo {module.name} >> {ledger}; "
        text = text.replace('    command = "', f'    command = "{line}', 1)
        # Long enough to be met in the middle.
        main.write_text(re.sub(r"sleep \d", "sleep 3", text))
    for action in (config / "actions").glob("*.toml"):
        text = action.read_text().replace("*/5 * * * *", "0 0 1 1 *")
        line = f"echo {action.stem} >> {ledger}\n"
        if "./scripts/check_api.sh" in text:
            script = config / "actions" / "scripts" / "check_api.sh"
            begin, _, rest = script.read_text().partition("\n")
            script.write_text(f"{begin}\n{line}{rest}")
        else:
            text = text.replace('command = """\n', f'command = """\n{line}', 1)
        action.write_text(text)


def compare(lines: Counter[str], tools: Counter[str]) -> list[str]:
    """What is otherwise than it must be."""
    problems = []
    for name in sorted(EXPECTED.keys() | lines.keys()):
        expected, found = EXPECTED[name], lines[name]
        most = expected + tools["_sandbox" if name == "sandbox" else name]
        if not expected <= found <= most:
            problems.append(f"{name}: {found} times instead of {expected} (at most {most})")
    return problems


def left_in_store(stage: Stage) -> list[str]:
    """What the end of the story left in the customer's store, besides its journals."""
    store = stage.customer(INSTALL) / "data" / "store"
    files = [path.relative_to(store) for path in store.rglob("*") if path.is_file()]
    return [
        str(path)
        for path in files
        if path.parts[0] not in {"journals", "customer"} and not path.parts[0].startswith(".")
    ]


async def enrolled_anew(plane: ControlPlane) -> list[str]:
    """The workers that came back otherwise than by the key that they had made for themselves."""
    entity = access_workflow_id(plane.client.namespace)
    page = await plane.ask(entity, "access", AccessPage, argument=AccessPageRequest())
    return [
        f"{subject} has {len(one.keys)} keys"
        for subject, one in page.subjects.items()
        if len(one.keys) != 1
    ]


async def tell(folder: Path, seed: int, kills: bool) -> list[str]:
    """Tell the story once; what was otherwise than it must be."""
    ledger = folder.with_suffix(".ledger")
    # Ten kills in a minute are no reason to wait for longer and longer.
    child.LONGEST_DELAY_SECONDS = child.FIRST_DELAY_SECONDS
    lines = Lines()
    with empty_stage(folder, usual_ports=False) as (stage, pids, lock):
        killer = Kills(seed, stage)
        async with control_plane(stage, pids, lock, lines) as (control, running):

            async def start_worker(stack: Path) -> None:
                await control.add_worker(install_worker(stage, INSTALL, stack))

            temporal = str(stage.declaration.temporal.address)
            where = TemporalAddress(temporal, stage.declaration.namespace)
            keys = master_keys(keys_file(stage.declaration))
            plane = ControlPlane(where, await connect_once(where, keys))
            cast = Cast(plane, f"http://{stage.declaration.registry.push}", lines)
            edit = lambda config: with_ledger(config, ledger)  # noqa: E731
            story = asyncio.create_task(Story(stage, cast, lines, start_worker, edit).play())
            killing = asyncio.create_task(killer.go_on()) if kills else None
            try:
                await asyncio.wait({story, running}, return_when=asyncio.FIRST_COMPLETED)
                if not story.done():
                    raise StoryFailed("the control plane ended")
                story.result()
                anew = await enrolled_anew(plane)
            finally:
                if killing is not None:
                    killing.cancel()
                story.cancel()
        found = Counter(ledger.read_text().split())
        print(f"{len(killer.killed)} kills: {dict(Counter(killer.killed))}")
        print(f"side effects: {dict(found)}")
        return (
            anew
            + compare(found, killer.tools)
            + [f"left in the store: {path}" for path in left_in_store(stage)]
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--no-kills", action="store_true", help="only tell the story")
    parser.add_argument("--keep", action="store_true", help="keep the folder, also of a good run")
    settings = parser.parse_args()
    # As the demo does: where there is no Terraform on the PATH, the library's command is found.
    os.environ["PATH"] += f"{os.pathsep}{Path(sys.executable).parent}"
    print(f"seed {settings.seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix=f"story-{settings.seed}-")) / "stage"
    folder.mkdir()
    try:
        problems = asyncio.run(tell(folder, settings.seed, not settings.no_kills))
    except StoryFailed as failed:
        problems = [str(failed)]
    for problem in problems:
        print(f"PROBLEM: {problem}")
    if problems:
        print(f"seed {settings.seed} FAILED; everything is kept in {folder}")
        sys.exit(1)
    if not settings.keep:
        shutil.rmtree(folder.parent)
    print(f"seed {settings.seed} ended well")


if __name__ == "__main__":
    main()
