"""Steps of an action: what a run leaves for its own steps and for other runs, and lost steps."""

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.testing import ActivityEnvironment

from activities.action.activities import ActionActivities
from activities.action.script import STEP
from activities.logs.activities import LogActivities
from activities.operations.opening import Operations
from activities.operations.operation import Operation
from activities.operations.spec import LeaseTerms, ToolRun
from activities.operations.status import ToolEnd
from activities.plans.outputs import LARGEST_SENT_BYTES
from activities.releases.reader import ReleaseReader
from activities.secrets.masking import MASK
from activities.workplace import Workplace
from apps.config.app import AppConfig
from contracts.actions import StepInput, StepResult
from contracts.errors import EngineFailed, OutcomeUnknown, StoreBehind
from contracts.logs import LogPage, ReadLog
from store.folder import FolderStore
from store.install_records import ActionRecord
from store.install_state import InstallState
from store.interface import ANY
from store.leases import Leases
from store.machine import Machine
from store.opening import folder_description
from workers.engines import ENGINES

RELEASE = "sha256:" + "1" * 64
OUT = "$NUON_ACTIONS_OUTPUT_FILEPATH"
SEEN = "{{ .nuon.actions.workflows.scan.outputs.a }}"
TERMS = LeaseTerms(seconds=6, renew_seconds=0.2, margin_seconds=2)


def step(name: str, command: str, **env_vars: str) -> dict[str, Any]:
    return {"name": name, "command": command, "env_vars": env_vars}


class Reader:
    """A release with the one action `scan`."""

    def __init__(self, *steps: dict[str, Any]) -> None:
        self._config = AppConfig.model_validate(
            {"metadata": {"version": "v2"}, "actions": [{"name": "scan", "steps": list(steps)}]}
        )

    def config(self, app: str, release: str) -> AppConfig:
        return self._config


class Site:
    def __init__(self, root: Path, *steps: dict[str, Any]) -> None:
        self.data = root / "data"
        self.store = FolderStore(root / "store")
        self.machine = Machine.here(self.data)
        self.state = InstallState(self.store, "acme", "dev")
        operations = Operations(
            self.store, folder_description(self.store.root), self.data, self.machine, terms=TERMS
        )
        workplace = Workplace(
            engines=ENGINES,
            install="acme",
            org="dev",
            data=self.data,
            store=self.store,
            state=self.state,
            operations=operations,
            open_releases=lambda: cast(ReleaseReader, Reader(*steps)),
        )
        self._activities = ActionActivities(workplace)
        self._logs = LogActivities(workplace)

    async def step(self, number: int, run: str = "run-1", state_revision: int = 0) -> StepResult:
        input = StepInput(
            install="acme",
            app="shop",
            release=RELEASE,
            action="scan",
            step=number,
            key=f"{run}/scan/step/{number}",
            timeout_seconds=30,
            state_revision=state_revision,
        )
        return await ActivityEnvironment().run(self._activities.step, input)

    async def log(self, number: int) -> str:
        input = ReadLog(install="acme", key=f"run-1/scan/step/{number}")
        page: LogPage = await ActivityEnvironment().run(self._logs.read, input)
        assert page.ended
        return page.text

    def published(self) -> ActionRecord | None:
        return self.state.action("scan")

    def outputs(self) -> dict[str, object]:
        published = self.published()
        assert published is not None
        return {name: one.value for name, one in published.outputs.items()}


async def test_two_runs_that_take_turns_keep_what_is_theirs(tmp_path: Path) -> None:
    first = step("first", f"mkdir -p {tmp_path}/n; echo a=$(ls {tmp_path}/n | wc -l) >> {OUT}; "
                 f"mktemp {tmp_path}/n/XXXXXX")  # fmt: skip
    second = step("second", f"echo saw=$SEEN >> {OUT}", SEEN=SEEN)
    site = Site(tmp_path, first, second)
    await site.step(0, "run-1")
    await site.step(0, "run-2")
    assert site.published() is None, "others see a run when it has ended"
    await site.step(1, "run-1")
    steps: dict[str, object] = {"first": {"a": "0"}, "second": {"saw": "0"}}
    assert site.outputs() == {"a": "0", "saw": "0", "steps": steps}
    await site.step(1, "run-2")
    steps = {"first": {"a": "1"}, "second": {"saw": "1"}}
    assert site.outputs() == {"a": "1", "saw": "1", "steps": steps}
    published = site.published()
    assert published is not None
    assert published.status == "done"


async def test_commands_and_contents_are_rendered(tmp_path: Path) -> None:
    site = Site(
        tmp_path,
        step("first", f"echo a={{{{ .nuon.install.id }}}} >> {OUT}"),
        {"name": "second", "inline_contents": f"#!/bin/sh\necho b='{SEEN}' >> {OUT}\n"},
        step("third", f"echo 'c={{{{ left as it is }}}}' >> {OUT}"),
    )
    for number in range(3):
        await site.step(number)
    steps: dict[str, object] = {
        "first": {"a": "acme"}, "second": {"b": "acme"}, "third": {"c": "{{ left as it is }}"},
    }  # fmt: skip
    assert site.outputs()["steps"] == steps


async def test_a_failure_publishes_what_the_run_has_left(tmp_path: Path) -> None:
    site = Site(tmp_path, step("good", f"echo a=1 >> {OUT}"), step("bad", f"echo no >> {OUT}"))
    await site.step(0)
    with pytest.raises(EngineFailed, match="step 'bad': line 1"):
        await site.step(1)
    published = site.published()
    assert published is not None
    assert published.status == "failed"
    assert site.outputs() == {"a": "1", "steps": {"good": {"a": "1"}, "bad": {}}}


async def test_the_outputs_of_all_steps_together_fit_in_one_payload(tmp_path: Path) -> None:
    large = "x" * 20_000
    (tmp_path / "large").write_text(f"large={large}\nsmall=1\n")
    site = Site(tmp_path, *(step(name, f"cat {tmp_path}/large >> {OUT}") for name in "abc"))
    sent = [(await site.step(number)).outputs for number in range(3)]
    assert [one.omitted for one in sent] == [[], ["large"], ["large"]]
    assert [one.values["small"] for one in sent] == ["1", "1", "1"]
    assert sum(len(one.model_dump_json()) for one in sent) < LARGEST_SENT_BYTES
    assert site.outputs()["steps"] == {name: {"large": large, "small": "1"} for name in "abc"}


async def test_the_store_must_have_what_the_run_has_seen(tmp_path: Path) -> None:
    site = Site(tmp_path, step("only", "true"))
    with pytest.raises(StoreBehind):
        await site.step(0, state_revision=1)


async def test_a_step_whose_lease_was_lost_is_not_tried_without_end(tmp_path: Path) -> None:
    command = f"trap 'exit 1' INT; touch {tmp_path}/up; while true; do sleep 0.05; done"
    site = Site(tmp_path, step("long", command))
    running = asyncio.create_task(site.step(0))
    async with asyncio.timeout(20):
        while not (tmp_path / "up").exists():
            await asyncio.sleep(0.02)
    site.store.delete("leases/action/scan.json")
    Leases(site.store, Machine("there", "b"), seconds=1).acquire("action/scan", "k")
    with pytest.raises(OutcomeUnknown) as caught:
        await running
    assert "taken by machine there" in caught.value.message
    assert "not repeated" in caught.value.message
    published = site.published()
    assert published is not None
    assert published.status == "failed"
    with pytest.raises(OutcomeUnknown):
        await site.step(0)


async def test_a_store_that_failed_is_not_called_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(operation: Operation, label: str, run: ToolRun) -> ToolEnd:
        message = "the lease cannot be renewed: the store does not answer"
        return ToolEnd(STEP, "lease_lost", {}, STEP, operation.folder, message)

    monkeypatch.setattr(Operation, "run", run)
    site = Site(tmp_path, step("long", "true"))
    with pytest.raises(OutcomeUnknown, match="the store does not answer") as caught:
        await site.step(0)
    assert "another machine" not in caught.value.message


async def test_only_the_newest_runs_are_kept(tmp_path: Path) -> None:
    site = Site(tmp_path, step("only", f"echo a=1 >> {OUT}"))
    for number in range(30):
        key = f"action-runs/scan/old-{number}.json"
        old = {"action": "scan", "status": "done", "run": f"old-{number}", "begun": number}
        site.store.put(key, json.dumps(old).encode(), if_match=ANY)
    await site.step(0, "new")
    kept = site.store.list("action-runs/")
    assert len(kept) == 20
    assert "action-runs/scan/new.json" in kept
    assert "action-runs/scan/old-29.json" in kept
    assert "action-runs/scan/old-10.json" not in kept


async def test_what_one_step_left_is_hidden_by_the_next(tmp_path: Path) -> None:
    connection = json.dumps({"connection": {"host": "db.internal", "password": "hunter2hunter2"}})
    (tmp_path / "connection").write_text(connection)
    site = Site(
        tmp_path,
        step("first", f"cat {tmp_path}/connection >> {OUT}"),
        step("second", f"echo host=db.internal >> {OUT}"),
    )
    site.state.set_sensitive_input("password", "hunter2hunter2")
    assert (await site.step(0)).outputs.sensitive == ["connection"]
    assert (await site.step(1)).outputs.sensitive == ["host"]


async def test_the_log_hides_what_was_secret_then(tmp_path: Path) -> None:
    (tmp_path / "left").write_text(
        json.dumps({"connection": {"host": "db.internal", "password": "hunter2hunter2"}})
    )
    shows = "echo hunter2hunter2 at db.internal"
    site = Site(
        tmp_path,
        step("first", f"{shows}; cat {tmp_path}/left >> {OUT}"),
        step("second", f"{shows}; echo other=1 >> {OUT}"),
    )
    site.state.set_sensitive_input("password", "hunter2hunter2")
    await site.step(0)
    hidden = f"{MASK} at {MASK}"
    assert await site.log(0) == f"-- step (run 1)\n{hidden}\n"
    await site.step(1)
    # The input is set again, and another run has no such output.
    site.state.set_sensitive_input("password", "another-password")
    site.state.put_action(ActionRecord(action="scan", status="done"))
    for key in site.store.list("action-runs/"):
        site.store.delete(key)
    assert await site.log(0) == f"-- step (run 1)\n{hidden}\n"
    assert await site.log(1) == f"-- step (run 1)\n{hidden}\n"
    kept = site.data / "runs" / "run-1" / "scan" / "step" / "1" / "secrets.json"
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.process
async def test_a_step_that_leaves_something_running_has_ended_all_the_same(tmp_path: Path) -> None:
    left = "sleep 3600 & if command -v ssh-agent > /dev/null; then eval $(ssh-agent); fi"
    site = Site(tmp_path, step("only", f"{left}; echo a=1 >> {OUT}"))
    assert (await site.step(0)).outputs.values == {"a": "1"}
    assert "-- left running in the background, and ended now: " in await site.log(0)
