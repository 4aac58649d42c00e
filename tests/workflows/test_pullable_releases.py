"""Which releases an install's worker may pull: named by commands and runs, kept while in use."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.deploys import ComponentOutcome
from contracts.installs import CarriedInstall, InstallReleases, MadeBy, PartNow, TurnEnd
from gateway.identity import Identity
from gateway.pulls.pullable_releases import InstallWorkflows
from tests.workflows.workflow_site import (
    OTHER_RELEASE,
    RELEASE,
    Handle,
    Site,
    approve,
    digest,
    outcomes,
    until,
)
from workflows.installs.pullable_releases import REQUESTED_RELEASES_KEPT, PullableReleases

AT = "2026-11-28T06:00:00+00:00"


def ended(release: str | None, **outcomes: str) -> TurnEnd:
    return TurnEnd.model_validate(
        {
            "workflow_id": "deploy/acme/1",
            "run_id": "0198c0de-1111-7000-8000-000000000000",
            "turn": None,
            "target": release,
            "outcomes": [
                ComponentOutcome.model_validate({"component": name, "outcome": outcome})
                for name, outcome in outcomes.items()
            ],
        }
    )


def carried(releases: PullableReleases) -> PullableReleases:
    state = CarriedInstall(told=releases.newest, made=releases.made)
    return PullableReleases(CarriedInstall.model_validate_json(state.model_dump_json()))


@given(st.lists(st.integers(0, 80)))
def test_the_newest_are_kept_across_continue_as_new(numbers: list[int]) -> None:
    releases = PullableReleases(CarriedInstall())
    for number in numbers:
        releases.request(digest(str(number)))
    newest = list(dict.fromkeys(digest(str(number)) for number in reversed(numbers)))
    assert releases.newest == newest[:REQUESTED_RELEASES_KEPT]
    assert carried(releases).all == releases.all == releases.newest


def test_what_made_a_part_stays_however_old_until_the_part_is_torn_down() -> None:
    releases = PullableReleases(CarriedInstall())
    old, failing = digest("old"), digest("failing")
    for release, outcome in ((old, "applied"), (failing, "failed")):
        releases.request(release)
        releases.learn(ended(release, net=outcome))
    for number in range(2 * REQUESTED_RELEASES_KEPT):
        releases.request(digest(str(number)))
        releases.learn(ended(digest(str(number)), net="skipped", api="not attempted"))
    releases = carried(releases)
    assert releases.all[REQUESTED_RELEASES_KEPT:] == [old, failing]
    releases.learn(ended(None, net="torn down"))
    assert old not in releases.all


def test_an_install_that_did_not_keep_it_yet_knows_what_it_runs() -> None:
    part = PartNow(
        component="net", outcome="applied", release=OTHER_RELEASE, workflow_id="deploy/a/1", at=AT
    )
    releases = PullableReleases(CarriedInstall(release=RELEASE, parts=[part]))
    assert releases.all == [RELEASE, OTHER_RELEASE]
    assert releases.made == [MadeBy(component="net", releases=[OTHER_RELEASE])]
    assert (
        PullableReleases(CarriedInstall(release=RELEASE, parts=[part], told=[], made=[])).all == []
    )


async def releases(site: Site) -> list[str]:
    found: InstallReleases = await site.entity.query("releases", result_type=InstallReleases)
    assert found.repository == f"apps/{site.app}"
    return list(found.releases)


@pytest.mark.asyncio(loop_scope="session")
async def test_every_way_to_start_a_run_tells_its_release(site: Site) -> None:
    await site.begin(release=digest("read for its inputs only"))
    deploy = await site.deploy(RELEASE)
    assert await releases(site) == [RELEASE]
    await site.run("act", {"action": "health", "release": OTHER_RELEASE})
    assert await releases(site) == [OTHER_RELEASE, RELEASE]

    direct = digest("started directly")
    run = await site.start(
        "Deploy", f"deploy/{site.install}/direct", {"install": site.install, "release": direct}
    )
    await site.waits_for_turn(run)

    async def may_pull() -> bool:
        return (await releases(site))[0] == direct

    await until(may_pull)
    await _done(deploy, run)


@pytest.mark.asyncio(loop_scope="session")
async def test_an_install_that_is_started_again_knows_what_open_runs_bring(site: Site) -> None:
    entity = await site.begin()
    deploy = await site.deploy(OTHER_RELEASE)
    await entity.terminate()
    await site.begin()

    async def may_pull() -> bool:
        return await releases(site) == [OTHER_RELEASE]

    await until(may_pull)
    await _done(deploy)


async def _done(*runs: Handle) -> None:
    for run in runs:
        await approve(run, "net")
        assert await outcomes(run) == {"net": "applied"}


@pytest.mark.asyncio(loop_scope="session")
async def test_the_gateway_asks_the_install_workflow(site: Site) -> None:
    installs = InstallWorkflows(lambda org: {"dev": site.client}[org])
    identity = Identity("install", "dev", site.install, "a-key", 0)
    assert await installs.releases(identity) is None, "there is no such install"
    await site.begin()
    await _done(await site.deploy())
    assert await installs.releases(identity) == InstallReleases(
        repository=f"apps/{site.app}", releases=[RELEASE]
    )
