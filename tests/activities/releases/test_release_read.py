"""`release.read` returns a release's graph, and only for releases of the named app."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.releases.graph import release_graph
from activities.releases.read import ReleaseActivities
from apps.config.actions import Action, ActionStep, Runbook, RunbookStep
from apps.config.app import AppConfig
from apps.config.inputs import Input
from apps.config.metadata import Metadata
from apps.release import MANIFEST_MEDIA_TYPE
from artifacts.layout import Layout
from artifacts.manifests import canonical_json
from artifacts.registry import Registry
from contracts import releases
from contracts.errors import BadConfig, BadInput, NotThere, PolicyDenied, Unreachable
from contracts.releases import GRAPH_LIMIT_BYTES, DeclaredInput, ReadRelease, ReleaseComponent
from tests.activities.build.shop_source import SANDBOX_FILES, build, registry_of, write_shop

NOWHERE = "sha256:" + "0" * 64


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "registry")


@pytest.fixture
def registry(layout: Layout) -> Iterator[Registry]:
    with registry_of(layout) as client:
        yield client


async def read(registry: Registry, app: str, release: str) -> releases.ReleaseGraph:
    request = ReadRelease(app=app, release=release)
    return await ActivityEnvironment().run(ReleaseActivities(registry).read, request)


async def refused(kind: type[ApplicationError], registry: Registry, app: str, release: str) -> str:
    with pytest.raises(kind) as error:
        await read(registry, app, release)
    return error.value.message


async def test_reads_graph_inputs_and_actions(registry: Registry, tmp_path: Path) -> None:
    _, built = await build(registry, write_shop(tmp_path / "app"), tmp_path / "data")
    graph = await read(registry, "shop", built.release)
    assert (graph.app, graph.release) == ("shop", built.release)
    # Only a template shows the dependency.
    assert graph.components == [
        ReleaseComponent(name="network", type="terraform_module", dependencies=[]),
        ReleaseComponent(name="api", type="terraform_module", dependencies=["network"]),
    ]
    assert graph.inputs == [
        DeclaredInput(name="license", required=True, sensitive=True),
        DeclaredInput(name="region", has_default=True),
    ]
    assert graph.actions == ["health"]
    assert "here" not in graph.model_dump_json(), "no values, only names"


async def test_tells_of_a_sandbox(registry: Registry, tmp_path: Path) -> None:
    _, plain = await build(registry, write_shop(tmp_path / "app"), tmp_path / "data")
    app = write_shop(tmp_path / "app", SANDBOX_FILES)
    _, built = await build(registry, app, tmp_path / "data")
    assert not (await read(registry, "shop", plain.release)).sandbox
    graph = await read(registry, "shop", built.release)
    assert graph.sandbox
    assert [component.name for component in graph.components] == ["network", "api"]


async def test_a_release_of_another_app_is_not_there(registry: Registry, tmp_path: Path) -> None:
    _, built = await build(registry, write_shop(tmp_path / "app"), tmp_path / "data")
    for app, release in (("other", built.release), ("shop", NOWHERE)):
        message = await refused(NotThere, registry, app, release)
        assert message.startswith(f"release {release} is not one of app {app}")


async def test_a_release_that_was_copied_from_another_app_is_not_there(
    registry: Registry, layout: Layout, tmp_path: Path
) -> None:
    _, built = await build(registry, write_shop(tmp_path / "app"), tmp_path / "data")
    (layout.root / "apps+shop").rename(layout.root / "apps+thief")
    message = await refused(NotThere, registry, "thief", built.release)
    assert message.startswith(f"release {built.release} is not one of app thief")


async def test_a_manifest_that_is_no_release_is_bad_input(
    registry: Registry, tmp_path: Path
) -> None:
    request, _ = await build(registry, write_shop(tmp_path / "app"), tmp_path / "data")
    assert "not a release" in await refused(BadInput, registry, "shop", request.config.digest)
    empty = registry.push_manifest(
        "apps/shop", canonical_json({"schemaVersion": 2}), MANIFEST_MEDIA_TYPE
    )
    await refused(BadInput, registry, "shop", empty.digest)


async def test_content_with_another_digest_is_refused(
    registry: Registry, layout: Layout, tmp_path: Path
) -> None:
    request, built = await build(registry, write_shop(tmp_path / "app"), tmp_path / "data")
    layout.repository("apps/shop").blob(request.config.digest).write_bytes(b"forged")
    assert "damaged or forged" in await refused(PolicyDenied, registry, "shop", built.release)


async def test_a_registry_that_is_away_is_tried_again(registry: Registry, tmp_path: Path) -> None:
    with Registry("http://127.0.0.1:1") as away:
        assert "127.0.0.1:1" in await refused(Unreachable, away, "shop", NOWHERE)
    assert Unreachable.retryable


def config_with_actions(count: int) -> AppConfig:
    step = ActionStep(name="look", command="true")
    return AppConfig(
        metadata=Metadata(version="v2"),
        inputs=[Input(name="region", display_name="", description="")],
        actions=[Action(name=f"a{number:0127}", steps=[step]) for number in range(count)],
    )


def test_refuses_a_graph_over_the_limit_and_names_it() -> None:
    # An action takes 131 bytes of the graph: its name, quotes and a comma.
    fitting = (GRAPH_LIMIT_BYTES - 500) // 131
    graph = release_graph("shop", NOWHERE, config_with_actions(fitting))
    assert len(graph.actions) == fitting
    with pytest.raises(BadConfig, match=f"more than the {GRAPH_LIMIT_BYTES}"):
        release_graph("shop", NOWHERE, config_with_actions(fitting + 10))


def test_implements_the_contract_by_name(registry: Registry) -> None:
    definition = activity._Definition.must_from_callable(ReleaseActivities(registry).read)
    assert definition.name == releases.READ.name
    assert definition.arg_types == [releases.READ.input]
    assert definition.ret_type is releases.READ.result


@pytest.mark.parametrize(
    ("timeout", "requires"),
    [("30m", []), ("30m1s", ["long-actions/1"]), ("12h", ["long-actions/1"])],
)
def test_what_a_worker_must_know_to_read_it(timeout: str, requires: list[str]) -> None:
    step = ActionStep(name="one", command="true")
    long = AppConfig(
        metadata=Metadata(version="v2"),
        actions=[Action(name="backup", steps=[step], timeout=timeout)],
    )
    assert release_graph("shop", NOWHERE, long).requires == requires
    runbook = Runbook(name="r", steps=[RunbookStep(name="s", type="action", timeout=timeout)])
    other = AppConfig(metadata=Metadata(version="v2"), runbooks=[runbook])
    assert release_graph("shop", NOWHERE, other).requires == requires
