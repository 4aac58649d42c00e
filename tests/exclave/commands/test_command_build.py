"""`exclave build` turns a folder into a release; only the digest goes to standard output."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from contracts import builds
from contracts.builds import (
    AssembledRelease,
    AssembleRelease,
    Blob,
    BuildInput,
    CheckedSource,
    CheckSource,
    PackComponent,
    PackedComponent,
)
from contracts.errors import BadConfig, Unreachable
from contracts.names import BUILD_QUEUE, CONTROL_QUEUE
from tests.exclave.commands.typing_person import PATIENCE_SECONDS, Person
from tests.workflows.workflow_site import digest

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHOP = Path(__file__).parents[3] / "examples" / "shop"
BLOB = Blob(media_type="m", artifact_type="a", digest=digest("blob"), size=1)


class Builder:
    def __init__(self) -> None:
        self.checked: list[CheckSource] = []
        self.broken = ""
        self.away = ""
        self.checks = asyncio.Semaphore(0)
        """Released when a check has begun."""

    @activity.defn(name=builds.CHECK.name)
    async def check(self, input: CheckSource) -> CheckedSource:
        self.checked.append(input)
        self.checks.release()
        if self.away:
            raise Unreachable(self.away)
        return CheckedSource(config=BLOB, components=["net"])

    @activity.defn(name=builds.PACK.name)
    async def pack(self, input: PackComponent) -> PackedComponent:
        if self.broken:
            raise BadConfig(self.broken)
        return PackedComponent(component=input.component, artifact=BLOB, reused=False)

    @activity.defn(name=builds.ASSEMBLE.name)
    async def assemble(self, input: AssembleRelease) -> AssembledRelease:
        return AssembledRelease(release=digest("release"), reused=len(self.checked) > 1)


@pytest_asyncio.fixture(loop_scope="session")
async def builder(client: Client) -> AsyncIterator[Builder]:
    one = Builder()
    activities: list[Callable[..., Any]] = [one.check, one.pack, one.assemble]
    async with Worker(client, task_queue=BUILD_QUEUE, activities=activities):
        yield one


async def test_the_release_alone_is_printed_and_the_same_source_is_the_same_run(
    person: Person, builder: Builder, registry: dict[str, str]
) -> None:
    typed = await person.types("build", str(SHOP), "--registry", registry["push"])
    assert typed.status == 0, typed.err
    assert typed.out == digest("release") + "\n"
    assert "pack net done" in " ".join(typed.err.split())
    person.environment["EXCLAVE_REGISTRY"] = registry["push"]
    again = await person.types("build", str(SHOP), "--app", "shop", "-o", "json")
    assert again.documents[-1]["result"]["reused"]
    run = again.documents[0]["run"]
    assert run == f"build/shop/{builder.checked[0].source[7:19]}"
    assert run in typed.err
    assert builder.checked[0] == builder.checked[1]


async def test_a_build_that_fails(
    person: Person, builder: Builder, registry: dict[str, str]
) -> None:
    builder.broken = "components/net.toml: module: is not there"
    typed = await person.types("build", str(SHOP), "--registry", registry["push"])
    assert typed.status == 1
    assert typed.out == ""
    assert typed.err.splitlines()[-1].endswith(f" failed: {builder.broken}")
    status = await person.types("status", "--app", "shop")
    assert f"failed: {builder.broken}" in status.out and "build/shop/" in status.out


async def test_what_a_build_waits_for_is_in_the_status(
    client: Client, person: Person, builder: Builder
) -> None:
    builder.away = "https://git.example.com/owner/name.git cannot be fetched now"
    build = await client.start_workflow(
        "Build",
        BuildInput(app="waiting", source=digest("source")),
        id="build/waiting/1",
        task_queue=CONTROL_QUEUE,
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(builder.checked) < 2:
            await builder.checks.acquire()
    typed = await person.types("status", "--app", "waiting", "-o", "json")
    [shown] = typed.document["builds"]
    assert (shown["workflow_id"], shown["status"]) == ("build/waiting/1", "checking")
    assert shown["words"].startswith("tried ") and builder.away in shown["words"]
    await build.terminate("the test has seen it")


async def test_what_is_wrong_with_the_folder_is_reported_before_anything_else(
    person: Person, tmp_path: Path
) -> None:
    folder = tmp_path / "My Shop"
    folder.mkdir()
    (folder / "metadata.toml").write_text('version = "v9"\n')
    typed = await person.types("build", str(folder), "--registry", "http://127.0.0.1:1")
    assert (typed.status, typed.out) == (1, "")
    assert "name the app with --app" in typed.err
    typed = await person.types("build", str(folder), "--app", "shop")
    assert typed.err.startswith("metadata.toml:1: error: version: ")
