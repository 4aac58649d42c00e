"""Build: check, then pack every component at once, then assemble."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio
from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from apps.parts import SANDBOX
from contracts import builds
from contracts.builds import (
    AssembledRelease,
    AssembleRelease,
    Blob,
    BuildResult,
    CheckedSource,
    CheckSource,
    PackComponent,
    PackedComponent,
)
from contracts.errors import BadConfig
from contracts.names import BUILD_QUEUE
from tests.workflows.workflow_site import PATIENCE_SECONDS, Handle, digest, failure

pytestmark = pytest.mark.asyncio(loop_scope="session")

SOURCE = digest("the source")


def blob(name: str) -> Blob:
    return Blob(media_type="m", artifact_type="a", digest=digest(name), size=1)


class FakeBuilder:
    def __init__(self) -> None:
        self.packing = asyncio.Barrier(2)
        self.sandbox = False
        self.packed_before: list[str] = []
        self.packed: list[str] = []
        self.assembled: list[AssembleRelease] = []
        self.broken = ""

    @activity.defn(name=builds.CHECK.name)
    async def check(self, input: CheckSource) -> CheckedSource:
        if self.broken == "check":
            raise BadConfig("components/net.toml: `typ` is unknown")
        return CheckedSource(
            config=blob("config"),
            components=["net"] if self.sandbox else ["net", "db"],
            sandbox=self.sandbox,
            warnings=["odd"],
            packed={name: blob(name) for name in self.packed_before},
        )

    @activity.defn(name=builds.PACK.name)
    async def pack(self, input: PackComponent) -> PackedComponent:
        if self.broken == input.component:
            raise BadConfig(f"{input.component} is broken")
        self.packed.append(input.component)
        if not self.broken and not self.packed_before:
            # Each waits for the other: one after the other would never end.
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self.packing.wait()
        artifact = blob(input.component)
        return PackedComponent(component=input.component, artifact=artifact, reused=False)

    @activity.defn(name=builds.ASSEMBLE.name)
    async def assemble(self, input: AssembleRelease) -> AssembledRelease:
        self.assembled.append(input)
        return AssembledRelease(release=digest("release"), reused=True)


@pytest_asyncio.fixture(loop_scope="session")
async def builder(client: Client) -> AsyncIterator[FakeBuilder]:
    one = FakeBuilder()
    activities: list[Callable[..., Any]] = [one.check, one.pack, one.assemble]
    async with Worker(client, task_queue=BUILD_QUEUE, activities=activities):
        yield one


async def build(client: Client, name: str) -> Handle:
    input = {"app": "shop", "source": SOURCE}
    return await client.start_workflow(
        "Build", input, id=f"build/shop/{name}", task_queue="control"
    )


async def test_components_are_packed_at_once_and_assembled(
    client: Client, builder: FakeBuilder
) -> None:
    result = BuildResult.model_validate(await (await build(client, "good")).result())
    assert result == BuildResult(
        app="shop",
        release=digest("release"),
        components={"net": digest("net"), "db": digest("db")},
        reused=True,
        warnings=["odd"],
    )
    [assembled] = builder.assembled
    assert assembled.components == {"net": blob("net"), "db": blob("db")}
    assert assembled.config == blob("config")


async def test_the_sandbox_is_packed_at_once_with_the_components(
    client: Client, builder: FakeBuilder
) -> None:
    builder.sandbox = True
    result = BuildResult.model_validate(await (await build(client, "sandbox")).result())
    assert result.components == {"net": digest("net")}
    assert result.sandbox == digest(SANDBOX)
    [assembled] = builder.assembled
    assert assembled.components == {"net": blob("net")}
    assert assembled.sandbox == blob(SANDBOX)


@pytest.mark.parametrize("packed_before", [["net"], ["net", SANDBOX]])
async def test_what_was_packed_before_is_not_packed_again(
    client: Client, builder: FakeBuilder, packed_before: list[str]
) -> None:
    builder.sandbox, builder.packed_before = True, packed_before
    handle = await build(client, f"packed-{len(packed_before)}")
    result = BuildResult.model_validate(await handle.result())
    assert {"net", SANDBOX} == {*builder.packed, *packed_before}
    assert not {*builder.packed} & {*packed_before}
    assert (result.components, result.sandbox) == ({"net": digest("net")}, digest(SANDBOX))


@pytest.mark.parametrize("broken", ["check", "db"])
async def test_a_failure_ends_it_with_its_type(
    client: Client, builder: FakeBuilder, broken: str
) -> None:
    builder.broken = broken
    error = await failure(await build(client, f"broken-{broken}"))
    assert error.type == "BadConfig"
    assert "unknown" in error.message or "db is broken" in error.message
    assert not builder.assembled
