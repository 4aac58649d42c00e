"""After a successful deploy, old runs' files are dropped, but nothing that is still needed."""

import logging
import shutil
from pathlib import Path
from typing import cast

import pytest
from temporalio.testing import ActivityEnvironment

from activities.deploy.activities import DeployActivities
from activities.operations.opening import Operations
from activities.operations.spec import OUTPUT_FILE
from activities.releases.reader import ReleaseReader
from activities.retention import KEPT_RUNS, drop_old_runs
from activities.terraform.engine import TERRAFORM_ENGINE
from activities.terraform.state_file import UNSAVED
from activities.workplace import Workplace
from contracts.deploys import FinishInput
from contracts.messages import Turn
from store.folder import FolderStore
from store.install_records import DeployedRelease
from store.install_state import InstallState
from store.interface import ANY
from store.journal import Journal
from store.machine import Machine
from workers.engines import ENGINES

WEEK = 7 * 24 * 3600.0
NOW = 2_000_000_000.0


class Site:
    def __init__(self, root: Path) -> None:
        self.store = FolderStore(root / "store")
        self.data = root / "data"
        self.runs = self.data / "runs"

    def run(self, name: str, at: float, *, plan: bool = True, ended: bool = True) -> None:
        """A run that planned at that time, with its files."""
        key = f"{name}/net/plan/1"
        journal = Journal(self.store, lambda: at)
        journal.begin(key, Machine("here", "b"))
        if ended:
            journal.record_result(key, {})
        if plan:
            for file in ("terraform.tfplan", "record.json"):
                self.store.put(f"plans/{key}/{file}", b"secret", if_match=ANY)
        folder = self.runs / key / "1-plan"
        folder.mkdir(parents=True)
        (folder / "output.log").write_text("secret")

    def act(self, name: str, action: str, at: float) -> None:
        """A run of an action with one step."""
        key = f"{name}/{action}/step/0"
        journal = Journal(self.store, lambda: at)
        journal.begin(key, Machine("here", "b"))
        journal.record_result(key, {})
        (self.runs / key / "1-step").mkdir(parents=True)

    def planned(self) -> set[str]:
        return {key.split("/")[1] for key in self.store.list("plans/")}

    def here(self) -> set[str]:
        return {folder.name for folder in self.runs.iterdir()}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_the_newest_runs_keep_what_they_left(site: Site) -> None:
    # In an order that is neither that of the names nor its reverse.
    for number in (7, *range(7), *range(8, KEPT_RUNS + 5)):
        site.run(f"r{(number * 7) % 29}", NOW - WEEK * 9 + number)
    kept = {f"r{(number * 7) % 29}" for number in range(5, KEPT_RUNS + 5)}
    drop_old_runs(site.store, site.runs, TERRAFORM_ENGINE.holds_only_copy, NOW)
    assert site.planned() == kept
    assert site.here() == kept
    assert len(site.store.list("journals/")) == KEPT_RUNS + 5


def test_actions_push_out_nothing_but_their_own(site: Site) -> None:
    site.run("deploy", NOW - WEEK * 9)
    site.act("rare", "backup", NOW - WEEK * 8)
    for number in range(KEPT_RUNS + 3):
        site.act(f"often-{number}", "health", NOW - WEEK * 5 + number)
    drop_old_runs(site.store, site.runs, TERRAFORM_ENGINE.holds_only_copy, NOW)
    assert site.planned() == {"deploy"}
    often = {f"often-{number}" for number in range(3, KEPT_RUNS + 3)}
    assert site.here() == {"deploy", "rare", *often}


def test_what_another_attempt_may_look_for_is_kept_for_a_week(site: Site) -> None:
    for number in range(KEPT_RUNS):
        site.run(f"new-{number}", NOW - number)
    site.run("cancelled-lately", NOW - WEEK + 60, ended=False)
    site.run("cancelled-long-ago", NOW - WEEK - 60, ended=False)
    drop_old_runs(site.store, site.runs, TERRAFORM_ENGINE.holds_only_copy, NOW)
    for left in (site.planned(), site.here()):
        assert len(left) == KEPT_RUNS + 1
        assert "cancelled-lately" in left


def test_a_state_that_is_nowhere_else_is_kept(site: Site) -> None:
    for number in range(KEPT_RUNS):
        site.run(f"new-{number}", NOW - number)
    state = '{\n  "version": 4,\n  "terraform_version": "1.11.4",\n  "torn'
    for name in ("torn", "taken", "none"):
        site.run(name, NOW - WEEK)
        apply = site.runs / name / "net" / "apply" / "1" / "1-apply"
        apply.mkdir(parents=True)
        (apply / UNSAVED).touch()
        (apply / OUTPUT_FILE).write_text("begins\n" + (state if name != "none" else ""))
    (site.runs / "taken" / "net" / "apply" / "1" / "1-apply" / "state-rescued").touch()
    drop_old_runs(site.store, site.runs, TERRAFORM_ENGINE.holds_only_copy, NOW)
    assert site.here() == {f"new-{number}" for number in range(KEPT_RUNS)} | {"torn"}


def test_a_new_install_has_nothing_to_drop(site: Site) -> None:
    drop_old_runs(site.store, site.runs, TERRAFORM_ENGINE.holds_only_copy, NOW)


async def finish(site: Site) -> InstallState:
    state = InstallState(site.store, "acme", "dev")
    workplace = Workplace(
        engines=ENGINES,
        install="acme",
        org="dev",
        data=site.data,
        store=site.store,
        state=state,
        operations=cast(Operations, None),
        open_releases=lambda: cast(ReleaseReader, None),
    )
    input = FinishInput(
        install="acme",
        app="shop",
        release="sha256:" + "1" * 64,
        turn=Turn(number=1, workflow_id="deploy/acme/1"),
    )
    await ActivityEnvironment().run(DeployActivities(workplace).finish, input)
    return state


async def test_the_end_of_a_deploy_drops_them(site: Site) -> None:
    for number in range(KEPT_RUNS + 1):
        site.run(f"r{number}", 1_700_000_000.0 + number)
    await finish(site)
    assert "r0" not in site.planned() | site.here()
    assert len(site.planned()) == len(site.here()) == KEPT_RUNS


async def test_a_deploy_that_went_well_does_not_fail_for_old_files(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(path: Path, ignore_errors: bool = False) -> None:
        if ignore_errors:
            return
        raise PermissionError(13, "Permission denied", str(path))

    for number in range(KEPT_RUNS + 1):
        site.run(f"r{number}", 1_700_000_000.0 + number)
    monkeypatch.setattr(shutil, "rmtree", refuse)
    with caplog.at_level(logging.WARNING):
        state = await finish(site)
    assert state.deployed() == DeployedRelease(app="shop", release="sha256:" + "1" * 64)
    assert "Permission denied" in caplog.text
