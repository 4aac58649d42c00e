"""With a full disk, and with a Terraform that is killed, no record of what was created is lost."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.terraform.state_keys import kept_key
from contracts.deploys import Plan
from contracts.errors import EngineFailed, ExclaveError
from tests.activities.terraform.terraform_site import Module, TerraformSite
from tests.small_disk import small_disk

pytestmark = pytest.mark.e2e

APPLY = "run/net/apply/full"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as place:
        yield place


def resources(site: TerraformSite) -> list[str]:
    return sorted(one["name"] for one in json.loads(site.state.read_bytes())["resources"])


def making(name: str, command: str, after: str = "") -> str:
    first = f"  depends_on = [terraform_data.{after}]\n" if after else ""
    return (
        f'resource "terraform_data" "{name}" {{\n{first}  input = "made-{name}"\n'
        f'  provisioner "local-exec" {{\n    command = "{command}"\n  }}\n}}\n'
    )


async def until_done(site: TerraformSite, key: str, plan: Plan, filler: Path) -> list[str]:
    """Tries one apply until it succeeds, with space on the disk from the second attempt on; returns
    the attempts' errors."""
    said: list[str] = []
    for _ in range(9):
        try:
            await site.apply(key, plan, APPLY)
        except ExclaveError as error:
            assert error.retryable, error
            said.append(error.message)
            filler.unlink(missing_ok=True)
        else:
            return said
    raise AssertionError(said)


async def test_a_first_apply_on_a_full_disk_makes_nothing_twice(tmp_path: Path, disk: Path) -> None:
    """Neither the state nor `errored.tfstate` can be written, so the printed state is used."""
    site, lines = TerraformSite(disk / "site"), tmp_path / "lines"
    fills = f"echo one >> {lines}; head -c 9m /dev/zero > {disk}/filler; true"
    site.module = Module(
        {"main.tf": making("one", fills) + making("two", f"echo two >> {lines}", "one")}
    )
    key, plan = await site.plan()
    said = await until_done(site, key, plan, disk / "filler")
    assert lines.read_text().split() == ["one", "two"]
    assert resources(site) == ["one", "two"]
    assert not list(site.data.rglob("errored.tfstate"))
    log = await site.log(APPLY)
    assert "a Terraform state, which is not shown" in log
    assert "Failed to persist state to backend" in log
    assert all('"lineage"' not in text and "made-one" not in text for text in [log, *said])


async def test_a_torn_printed_state_is_not_shown_and_stops(site: TerraformSite) -> None:
    site.module = Module({"main.tf": making("one", "true")})
    key, plan = await site.plan()
    await site.apply(key, plan, APPLY)
    [log] = (site.data / "runs" / APPLY).glob("*-apply/output.log")
    state = site.state.read_text()
    log.write_text(f"begins\n{state[: len(state) // 2]}")
    site.state.unlink()
    with pytest.raises(EngineFailed, match="its end is missing: the disk") as caught:
        await site.plan()
    assert str(log) in caught.value.message
    assert "made-one" not in await site.log(APPLY)
    log.write_text(f"begins\n{state}\n\nError: Failed to persist state\n")
    for key in site.store.list("terraform/net/kept"):
        site.store.delete(key)
    _, plan = await site.plan()
    assert plan.empty
    assert resources(site) == ["one"]


@pytest.mark.parametrize("content", [b"", b'{"version": 4, "ser', b"no JSON"])
async def test_an_unreadable_errored_state_stops_with_where_to_look(
    site: TerraformSite, content: bytes
) -> None:
    site.module = Module({"main.tf": making("one", "true")})
    errored = site.folder / "errored.tfstate"
    command = f"printf '%s' '{content.decode()}' > {errored}; exit 1".replace('"', '\\"')
    site.module = Module({"main.tf": making("one", command)})
    key, plan = await site.plan()
    for attempt in (lambda: site.apply(key, plan, APPLY), site.plan):
        with pytest.raises(EngineFailed) as caught:
            await attempt()
        for word in (str(errored), "output.log", "import"):
            assert word in caught.value.message
        assert errored.read_bytes() == content


@pytest.mark.parametrize("written_before", [False, True])
async def test_a_first_apply_killed_between_emptying_and_writing_is_taken_up(
    site: TerraformSite, tmp_path: Path, written_before: bool
) -> None:
    lines, once = tmp_path / "lines", tmp_path / "once"
    wait = f"until grep -q made-one {site.state}; do sleep 0.05; done; " if written_before else ""
    kill = (
        f"echo two >> {lines}; [ -e {once} ] && exit 0; touch {once}; {wait}: > {site.state}; "
        "kill -9 $PPID; sleep 1"
    )
    text = making("one", f"echo one >> {lines}") if written_before else ""
    site.module = Module({"main.tf": text + making("two", kill, "one" if text else "")})
    key, plan = await site.plan()
    await site.apply(key, plan, APPLY)
    assert lines.read_text().split() == (["one"] if written_before else []) + ["two", "two"]
    assert resources(site) == (["one"] if written_before else []) + ["two"]


async def test_an_empty_state_that_nobody_saw_being_killed_stops(site: TerraformSite) -> None:
    site.module = Module({"main.tf": making("one", "exit 1")})
    with pytest.raises(EngineFailed, match="exit status 1"):
        await site.deploy()
    assert site.store.get(kept_key("net")) is not None, "an apply had begun"
    site.state.write_bytes(b"")
    with pytest.raises(EngineFailed, match="is empty, and it is not known") as caught:
        await site.deploy()
    assert str(site.state) in caught.value.message
    assert site.state.exists()


@pytest.fixture
def site(tmp_path: Path) -> TerraformSite:
    return TerraformSite(tmp_path)
