"""Many ask at once on a busy machine: whatever the order of things, the histories replay.

One that does not is a workflow that is stuck as soon as it is not in memory any more. Updates that
arrive while something else ends are where the SDK has failed before; see `workflows.calls`.
"""

import asyncio
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
import pytest_asyncio
from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from activities.access.authority import EnrolmentAuthority
from client.updates import was_put_back
from contracts.deploys import Approval
from contracts.releases import DeclaredInput
from tests.gateway.enrolment_site import Clock, Org, soon
from tests.workflow_histories import replay_all
from tests.workflows.workflow_plane import ENROLMENT_KEY, controlling, temporal
from tests.workflows.workflow_site import RELEASE, FakeControl, Handle, Site, asked, ended
from wire.enrolment.worker_identity import WorkerIdentity

CLIENTS = 3
"""Of each entity."""
RUNS = 3
"""That each entity lives through; it continues as new between them."""

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def busy_machine() -> Iterator[None]:
    """A core's worth of somebody else's work."""
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield
    loop.kill()
    loop.wait()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def short_histories() -> AsyncIterator[Client]:
    async with temporal({"limit.historyCount.suggestContinueAsNew": "60"}) as connected:
        yield connected


@pytest.fixture
def lives(request: pytest.FixtureRequest) -> range:
    return range(request.config.getoption("--busy-lives"))


class Life:
    """An entity, and how often it has continued as new."""

    def __init__(self, entity: Handle) -> None:
        self._entity = entity
        self._runs: set[str] = set()

    async def goes_on(self) -> bool:
        run = (await soon(self._entity.describe())).run_id
        self._runs.add(run)
        return len(self._runs) <= RUNS


@contextmanager
def _may_be_refused() -> Iterator[None]:
    try:
        yield
    except WorkflowUpdateFailedError as refused:
        assert isinstance(refused.cause, ApplicationError)
    except RPCError as error:
        # The moment's fault; the `exclave` command sends it again.
        if not was_put_back(error):
            raise


async def _access_life(client: Client, number: int) -> None:
    org = Org(client, EnrolmentAuthority([ENROLMENT_KEY]), Clock(4_000_000_000.0), f"org-{number}")
    await org.begin()
    life = Life(org.entity)
    workers = [WorkerIdentity.generate() for _ in range(3)]

    async def ask(chance: random.Random) -> None:
        while await life.goes_on():
            with _may_be_refused():
                await _ask_access(org, chance, workers)

    async with asyncio.TaskGroup() as clients:
        for one in range(CLIENTS):
            clients.create_task(ask(random.Random(f"{number} {one}")))


async def _ask_access(org: Org, chance: random.Random, workers: list[WorkerIdentity]) -> None:
    subject = f"install/{chance.randrange(5)}"
    match chance.choice(
        ["enrol", "enrol", "enrol", "change", "change", "malformed", "unknown", "page"]
    ):
        case "enrol":
            await org.enrol(subject, chance.choice(workers))
        case "change":
            await org.update(chance.choice(["pause", "resume", "revoke", "restore"]), subject)
        case "malformed":
            bare = org.request(subject, workers[0]).model_copy(update={"token": None})
            await soon(org.entity.execute_update("enrol", bare))
        case "unknown":
            await org.update("resume", "install/nobody")
        case "page":
            await org.page()


async def _install_life(client: Client, control: FakeControl, number: int) -> None:
    site = Site(client, f"busy-{number}")
    control.inputs[site.app] = [DeclaredInput(name="n", type="number")]
    async with site.serving():
        await site.begin(release=RELEASE)
        await site.knows_its_inputs()
        life = Life(site.entity)

        async def ask(chance: random.Random) -> None:
            while await life.goes_on():
                with _may_be_refused():
                    await _ask_install(site, chance)

        async with asyncio.TaskGroup() as clients:
            for one in range(CLIENTS):
                clients.create_task(ask(random.Random(f"{number} {one}")))


async def _ask_install(site: Site, chance: random.Random) -> None:
    match chance.choice(["inputs", "wrong inputs", "deploy", "deploy", "act", "status"]):
        case "inputs":
            await soon(site.set_inputs({"n": str(chance.randrange(100))}))
        case "wrong inputs":
            await soon(site.entity.execute_update("set_inputs", {"values": {"n": "many"}}))
        case "deploy":
            run = await soon(site.deploy())
            await _decide(run, chance)
        case "act":
            run = await soon(site.run("act", {"action": "health"}))
            await ended(run)
        case "status":
            await soon(site.status())


async def _decide(run: Handle, chance: random.Random) -> None:
    """Answer its plan, or give the run up at some moment of its life."""
    match chance.choice(["approve", "approve", "deny", "cancel", "cancel later"]):
        case "cancel":
            await run.cancel()
        case "cancel later":
            await asked(run, "net")
            await run.cancel()
        case answer:
            plan = await asked(run, "net")
            await soon(run.execute_update(answer, Approval(digest=plan.digest, by="ann")))
    await ended(run)


async def test_every_run_of_a_busy_machine_replays(
    busy_machine: None, short_histories: Client, lives: range
) -> None:
    control = FakeControl()
    async with controlling(short_histories, control), asyncio.TaskGroup() as entities:
        for number in lives:
            entities.create_task(_access_life(short_histories, number))
            entities.create_task(_install_life(short_histories, control, number))
    replayed = await replay_all(short_histories)
    assert replayed >= 2 * RUNS * len(lives)
