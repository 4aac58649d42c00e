"""A Terraform whose supervisor died just as it started: everything is created exactly once."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from activities.operations.processes import identify, is_alive
from contracts.errors import ToolLost
from tests.activities.operations.dying_supervisor import DyingSupervisors
from tests.activities.terraform.terraform_site import Module, TerraformSite

pytestmark = pytest.mark.e2e

R = TypeVar("R")


def makes_one(made: Path) -> Module:
    command = f"echo made >> {made}"
    text = 'resource "terraform_data" "one" {{\n  provisioner "local-exec" {{\n    {}\n  }}\n}}\n'
    return Module({"main.tf": text.format(f'command = "{command}"')})


async def twice_at_most(attempt: Callable[[], Awaitable[R]]) -> R:
    try:
        return await attempt()
    except ToolLost as lost:
        assert not lost.non_retryable
        return await attempt()


@pytest.mark.parametrize("started", [False, True])
async def test_it_is_planned_and_applied_once_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: bool
) -> None:
    supervisors = DyingSupervisors(tmp_path / "patch", monkeypatch)
    site = TerraformSite(tmp_path)
    site.module = makes_one(tmp_path / "made")
    supervisors.next_dies(started=started)
    key, plan = await twice_at_most(site.plan)
    assert supervisors.died
    supervisors.next_dies(started=started)
    await twice_at_most(lambda: site.apply(key, plan, "run/net/apply/0"))
    assert supervisors.died
    assert (tmp_path / "made").read_text() == "made\n"


async def test_an_apply_that_ended_well_stays_so_whatever_it_left(tmp_path: Path) -> None:
    site = TerraformSite(tmp_path)
    command = f"setsid sleep 3600 > /dev/null 2>&1 & echo $! > {tmp_path}/left"
    text = 'resource "terraform_data" "one" {{\n  provisioner "local-exec" {{\n    {}\n  }}\n}}\n'
    site.module = Module({"main.tf": text.format(f'command = "{command}"')})
    await site.deploy()
    left = int((tmp_path / "left").read_text())
    assert not is_alive(identify(left))
    assert f"sleep (pid {left})" in await site.log("run/net/apply/2")
