"""A worker's decisions of which some would wait for ever end the run, and nothing is begun."""

import pytest

from apps.parts import SANDBOX
from contracts.deploys import Decision, PlanInput
from tests.workflows.workflow_site import Site, decision, failure

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    ("decisions", "told"),
    [
        ([decision("net"), decision("api", "nett")], "api is to wait for 'nett', which is no part"),
        ([decision("net", "net")], "net are to wait for each other"),
        (
            [decision("a", "b"), decision("b", "c"), decision("c", "a"), decision("d", "a")],
            "a, b, c, d are to wait for each other, in a circle",
        ),
        ([decision("net"), decision("net")], "it names a part twice"),
    ],
)
async def test_endless_decisions_of_a_deploy_are_refused(
    site: Site, decisions: list[Decision], told: str
) -> None:
    await site.begin()
    site.worker.decisions = decisions
    error = await failure(await site.deploy())
    assert error.type == "NotUnderstood" and told in error.message
    assert site.worker.told(PlanInput) == []


async def test_a_component_that_waits_for_the_sandbox_s_teardown_is_refused(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [
        decision("net", SANDBOX, verb="teardown"), decision(SANDBOX, verb="teardown"),
    ]  # fmt: skip
    error = await failure(await site.run("deprovision", {}))
    assert error.type == "NotUnderstood" and "net is to wait for '_sandbox'" in error.message
    assert site.worker.told(PlanInput) == []
