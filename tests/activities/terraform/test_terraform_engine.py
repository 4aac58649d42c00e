"""Needs a real Terraform: variables, backends, damaged states, secrets, lost replaces."""

import json
from pathlib import Path

import pytest

from activities.secrets.masking import MASK
from contracts.errors import BadConfig, EngineFailed, StalePlan
from tests.activities.terraform.terraform_site import Module, TerraformSite

pytestmark = pytest.mark.e2e

ONE = 'resource "terraform_data" "one" {\n  input = "1"\n}\n'


@pytest.fixture
def site(tmp_path: Path) -> TerraformSite:
    return TerraformSite(tmp_path)


async def test_the_components_variables_win_over_the_modules_own(site: TerraformSite) -> None:
    site.module = Module(
        {
            "main.tf": "".join(
                f'variable "{name}" {{}}\noutput "{name}" {{\n  value = var.{name}\n}}\n'
                for name in ("both", "file", "own")
            ),
            "zz.auto.tfvars": 'both = "module"\nfile = "module"\nown = "module"\n',
        },
        {"vars": {"both": "vars"}, "var_file": [{"contents": 'both = "f"\nfile = "f"\n'}]},
    )
    applied = await site.deploy()
    assert applied.outputs.values == {"both": "vars", "file": "f", "own": "module"}


async def test_an_ephemeral_variable_is_there_at_the_apply_too(site: TerraformSite) -> None:
    text = 'variable "token" {\n  ephemeral = true\n  type = string\n}\n' + ONE
    site.module = Module({"main.tf": text}, {"vars": {"token": "t"}})
    await site.deploy()
    assert "terraform_data" in site.state.read_text()


async def test_a_workspace_of_the_app_is_refused(site: TerraformSite) -> None:
    site.module = Module({"main.tf": ONE}, {"env_vars": {"TF_WORKSPACE": "other"}})
    with pytest.raises(BadConfig, match=r"net: env_vars.TF_WORKSPACE is set by the worker"):
        await site.plan()


async def test_another_backend_is_refused_before_it_is_used(
    site: TerraformSite, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere.tfstate"
    backend = f'terraform {{\n  backend "local" {{\n    path = "{elsewhere}"\n  }}\n}}\n'
    site.module = Module({"main.tf": ONE, "zz_override.tf": backend})
    with pytest.raises(EngineFailed, match="does not use this install"):
        await site.plan()
    assert site.runs("run/net/plan/1") == ["1-init"]


async def test_an_empty_state_is_not_the_state_of_nothing(site: TerraformSite) -> None:
    site.module = Module({"main.tf": ONE})
    await site.deploy()
    whole = site.state.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2]):
        site.state.write_bytes(damaged)
        with pytest.raises(EngineFailed) as caught:
            await site.plan()
        assert str(site.state) in caught.value.message
    site.state.write_bytes(whole)
    _, plan = await site.plan()
    assert plan.empty


async def test_an_apply_that_is_killed_while_it_writes_the_state(
    site: TerraformSite, tmp_path: Path
) -> None:
    """The version before is put back and the rest is done: nothing is created twice."""
    site.module = Module({"main.tf": ONE})
    await site.deploy()
    lines, once = tmp_path / "lines", tmp_path / "once"
    killed = (
        'resource "terraform_data" "two" {\n  provisioner "local-exec" {\n'
        f'    command = "echo two >> {lines}"\n  }}\n}}\n'
        'resource "terraform_data" "three" {\n  depends_on = [terraform_data.two]\n'
        '  provisioner "local-exec" {\n'
        f'    command = "echo three >> {lines}; [ -e {once} ] && exit 0; touch {once}; '
        f'until grep -q two {site.state}; do sleep 0.05; done; : > {site.state}; kill -9 $PPID"\n'
        "  }\n}\n"
    )
    site.module = Module({"main.tf": ONE + killed})
    await site.deploy()
    assert lines.read_text().split() == ["two", "three", "three"]
    resources = json.loads(site.state.read_bytes())["resources"]
    assert sorted(one["name"] for one in resources) == ["one", "three", "two"]
    assert not list(site.data.rglob("snapshot"))


async def test_a_state_that_could_not_be_written_is_put_in_its_place(site: TerraformSite) -> None:
    site.module = Module({"main.tf": ONE})
    await site.deploy()
    state = json.loads(site.state.read_bytes())
    newer = json.dumps({**state, "serial": state["serial"] + 4})
    (site.folder / "errored.tfstate").write_text(newer)
    site.state.write_bytes(site.state.read_bytes()[:100])
    _, plan = await site.plan()
    assert plan.empty
    assert site.state.read_text() == newer
    assert not (site.folder / "errored.tfstate").exists()


async def test_a_secret_that_this_apply_makes_is_masked_in_every_output(
    site: TerraformSite,
) -> None:
    site.module = Module(
        {
            "main.tf": ONE
            + "locals {\n  pw = sha256(terraform_data.one.id)\n}\n"
            + 'output "pw" {\n  value = local.pw\n  sensitive = true\n}\n'
            + 'output "url" {\n  value = "db://u:${local.pw}@h"\n}\n'
        }
    )
    applied = await site.deploy()
    assert applied.outputs.sensitive == ["pw"]
    assert applied.outputs.values["url"] == f"db://u:{MASK}@h"
    _, again = await site.plan()
    assert again.empty and again.outputs.values["url"] == f"db://u:{MASK}@h"


async def test_a_secret_that_a_failed_apply_made_is_masked_in_its_error(
    site: TerraformSite,
) -> None:
    site.module = Module(
        {
            "main.tf": ONE
            + 'resource "terraform_data" "holds" {\n  input = sensitive(terraform_data.one.id)\n}\n'
            + 'resource "terraform_data" "fails" {\n  depends_on = [terraform_data.holds]\n'
            + '  provisioner "local-exec" {\n'
            + '    command = "echo the id is ${terraform_data.one.id}; exit 3"\n  }\n}\n'
        }
    )
    with pytest.raises(EngineFailed) as caught:
        await site.deploy()
    assert f"the id is {MASK}" in caught.value.message
    assert _id(site, "one") not in caught.value.message


async def test_the_log_hides_what_a_later_apply_replaced(site: TerraformSite) -> None:
    """The printed value is no longer in the state or the store."""
    shows = (
        'resource "terraform_data" "holds" {\n  input = sensitive(terraform_data.one.id)\n}\n'
        + 'resource "terraform_data" "shows" {\n  depends_on = [terraform_data.holds]\n'
        + '  provisioner "local-exec" {\n'
        + '    command = "echo the id is ${terraform_data.one.id}"\n  }\n}\n'
    )
    site.module = Module({"main.tf": ONE + shows})
    key, plan = await site.plan()
    await site.apply(key, plan, "run/net/apply/shows")
    made = _id(site, "one")
    replaced = ONE.replace("{\n", '{\n  triggers_replace = "again"\n')
    site.module = Module({"main.tf": replaced + shows})
    again, plan = await site.plan()
    await site.apply(again, plan)
    assert _id(site, "one") != made
    for plan_file in site.store.list("plans/"):
        site.store.delete(plan_file)
    log = await site.log("run/net/apply/shows")
    assert "-- apply (run" in log
    assert f"the id is {MASK}" in log
    assert made not in log


async def test_a_plan_made_with_other_providers_is_stale(site: TerraformSite) -> None:
    site.module = Module({"main.tf": ONE})
    key, plan = await site.plan()
    (site.folder / ".terraform.lock.hcl").write_text("# another provider\n")
    with pytest.raises(StalePlan, match="providers"):
        await site.apply(key, plan)
    assert not site.state.exists() or not site.state.read_bytes()


@pytest.mark.parametrize("first", ["true", "false"])
async def test_a_replace_that_its_trigger_no_longer_asks_for_is_done_all_the_same(
    site: TerraformSite, tmp_path: Path, first: str
) -> None:
    mark = tmp_path / "mark"
    text = (
        'variable "v" {}\nresource "terraform_data" "a" {\n  input = var.v\n}\n'
        'resource "terraform_data" "b" {\n  lifecycle {\n'
        "    replace_triggered_by = [terraform_data.a]\n"
        f"    create_before_destroy = {first}\n  }}\n"
        '  provisioner "local-exec" {\n    command = "test ! -e '
        f'{mark} || {{ rm {mark}; kill -9 $PPID; sleep 1; }}"\n  }}\n}}\n'
    )
    site.module = Module({"main.tf": text}, {"vars": {"v": "1"}})
    await site.deploy()
    before = _id(site, "b")
    site.module = Module({"main.tf": text}, {"vars": {"v": "2"}})
    key, plan = await site.plan()
    assert (plan.changes.update, plan.changes.replace) == (1, 1)
    mark.touch()
    await site.apply(key, plan)
    assert not mark.exists(), "Terraform was killed while it made the new one"
    assert _id(site, "b") != before
    _, rest = await site.plan()
    assert rest.empty


def _id(site: TerraformSite, name: str) -> str:
    [found] = [
        one for one in json.loads(site.state.read_bytes())["resources"] if one["name"] == name
    ]
    [instance] = found["instances"]
    return str(instance["attributes"]["id"])
