"""A part that waits for what the run settles later ends the run, and nothing is begun."""

import pytest

from apps.parts import SANDBOX
from contracts.deploys import PlanInput
from tests.workflows.workflow_site import Site, decision, failure

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_component_that_waits_for_the_sandbox_s_teardown_is_refused(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [
        decision("net", SANDBOX, verb="teardown"), decision(SANDBOX, verb="teardown"),
    ]  # fmt: skip
    error = await failure(await site.run("deprovision", {}))
    assert error.type == "BadAnswer" and "has net wait for sandbox" in error.message
    assert site.worker.told(PlanInput) == []
