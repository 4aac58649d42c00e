"""A build turns a folder into one release, whose digest depends on the content alone."""

import os
import shutil
import stat
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.build.release import BuildActivities
from apps.parts import SANDBOX
from apps.release import MODULE_ARTIFACT_TYPE, MODULE_MEDIA_TYPE, SOURCE_ARTIFACT_TYPE, ReleaseIndex
from artifacts.layout import Layout
from artifacts.manifests import parse_manifest, parse_object
from artifacts.packages import push_package
from artifacts.registry import Registry
from artifacts.sources import push_source
from contracts import builds
from contracts.builds import AssembleRelease, CheckSource, PackComponent
from contracts.errors import BadConfig, BadInput, NotThere, PolicyDenied, Unreachable
from contracts.releases import GRAPH_LIMIT_BYTES
from gateway.registry.app import registry_app
from tests.activities.build.shop_source import SANDBOX_FILES, build, registry_of, write_shop
from tests.artifacts.serving import served

NOWHERE = "sha256:" + "0" * 64


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "registry")


@pytest.fixture
def registry(layout: Layout) -> Iterator[Registry]:
    with registry_of(layout) as client:
        yield client


async def refused(kind: type[ApplicationError], awaitable: object) -> str:
    with pytest.raises(kind) as error:
        await awaitable  # type: ignore[misc]
    assert error.value.type == kind.__name__
    assert error.value.non_retryable is (kind is not Unreachable)
    return error.value.message


async def test_a_release_names_config_and_components_as_other_tools_read_them(
    registry: Registry, layout: Layout, tmp_path: Path
) -> None:
    request, assembled = await build(registry, write_shop(tmp_path / "app"), tmp_path / "data")
    assert not assembled.reused

    repository = layout.repository("apps/shop")
    stored = repository.manifest(assembled.release)
    index = ReleaseIndex.from_index(parse_object(stored.data))
    assert (index.app, index.config) == ("shop", request.config.digest)
    assert index.components == {n: blob.digest for n, blob in request.components.items()}
    assert sorted(index.components) == ["api", "network"]

    module = parse_manifest(repository.manifest(index.components["network"]).data)
    assert module.artifact_type == MODULE_ARTIFACT_TYPE
    assert [layer.media_type for layer in module.layers] == [MODULE_MEDIA_TYPE]
    assert module.config is not None
    assert module.config.media_type == "application/vnd.oci.empty.v1+json"
    archive = zipfile.ZipFile(BytesIO(repository.blob(module.layers[0].digest).read_bytes()))
    assert archive.namelist() == ["files/motd", "main.tf"]


async def test_building_twice_gives_the_same_release_from_whichever_folder(
    registry: Registry, tmp_path: Path
) -> None:
    first, one = await build(registry, write_shop(tmp_path / "app"), tmp_path / "data")
    again, two = await build(registry, tmp_path / "app", tmp_path / "data")
    assert (again, two.release, two.reused) == (first, one.release, True)

    copy = write_shop(tmp_path / "elsewhere/copy", {"modules/api/.terraform/x": "left behind"})
    for path in copy.rglob("*"):
        os.utime(path, (1, 1_000_000_000))
    third, three = await build(registry, copy, tmp_path / "other-worker")
    assert (third, three.release, three.reused) == (first, one.release, True)
    assert list((tmp_path / "data/sources").iterdir()) == []


async def test_the_sandbox_is_a_part_of_its_own(
    registry: Registry, layout: Layout, tmp_path: Path
) -> None:
    plain, _ = await build(registry, write_shop(tmp_path / "plain"), tmp_path / "data")
    app = write_shop(tmp_path / "app", SANDBOX_FILES)
    request, one = await build(registry, app, tmp_path / "data")
    assert plain.sandbox is None
    assert request.sandbox is not None
    assert request.components == plain.components

    repository = layout.repository("apps/shop")
    index = ReleaseIndex.from_index(parse_object(repository.manifest(one.release).data))
    assert index.sandbox == request.sandbox.digest
    assert sorted(index.components) == ["api", "network"]
    module = parse_manifest(repository.manifest(index.sandbox).data)
    archive = zipfile.ZipFile(BytesIO(repository.blob(module.layers[0].digest).read_bytes()))
    assert archive.namelist() == ["main.tf"]


async def test_building_a_sandbox_twice_gives_the_same_release(
    registry: Registry, tmp_path: Path
) -> None:
    app = write_shop(tmp_path / "app", SANDBOX_FILES)
    first, one = await build(registry, app, tmp_path / "data")
    copy = write_shop(tmp_path / "copy", SANDBOX_FILES)
    for path in copy.rglob("*"):
        os.utime(path, (1, 1_000_000_000))
    again, two = await build(registry, copy, tmp_path / "other-worker")
    assert (again, two.release, two.reused) == (first, one.release, True)

    (app / "modules/ground/more.tf").write_text("# more\n")
    after, three = await build(registry, app, tmp_path / "data")
    assert (after.config, after.components) == (first.config, first.components)
    assert after.sandbox != first.sandbox
    assert three.release != one.release


async def test_a_sandbox_with_the_content_of_a_component_shares_its_artifact(
    registry: Registry, layout: Layout, tmp_path: Path
) -> None:
    ground = SANDBOX_FILES["sandbox.toml"].replace("modules/ground", "modules/network")
    app = write_shop(tmp_path / "app", {"sandbox.toml": ground})
    request, built = await build(registry, app, tmp_path / "data")
    assert request.sandbox == request.components["network"]
    stored = layout.repository("apps/shop").manifest(built.release)
    index = ReleaseIndex.from_index(parse_object(stored.data))
    assert index.sandbox == index.components["network"]


async def test_only_what_changed_is_another_artifact(registry: Registry, tmp_path: Path) -> None:
    before, one = await build(registry, write_shop(tmp_path / "app"), tmp_path / "data")
    write_shop(tmp_path / "app", {"modules/network/files/motd": "bye\n"})
    after, two = await build(registry, tmp_path / "app", tmp_path / "data")
    assert after.config == before.config
    assert after.components["api"] == before.components["api"]
    assert after.components["network"] != before.components["network"]
    assert two.release != one.release
    assert not two.reused


async def test_pack_says_whether_the_artifact_was_there(registry: Registry, tmp_path: Path) -> None:
    source = push_source(registry, write_shop(tmp_path / "app"))
    activities, environment = BuildActivities(registry, tmp_path / "data"), ActivityEnvironment()
    request = PackComponent(app="shop", source=source, component="api")
    packed = [await environment.run(activities.pack, request) for _ in range(2)]
    assert [result.reused for result in packed] == [False, True]
    assert packed[0].artifact == packed[1].artifact


async def test_a_source_that_was_packed_here_is_not_packed_again(
    registry: Registry, layout: Layout, tmp_path: Path
) -> None:
    activities, run = BuildActivities(registry, tmp_path / "data"), ActivityEnvironment().run
    source = push_source(registry, write_shop(tmp_path / "app", SANDBOX_FILES))
    asked = CheckSource(app="shop", source=source)
    before = await run(activities.check, asked)
    assert before.packed == {}
    artifacts = {}
    for name in ("network", "api", SANDBOX):
        request = PackComponent(app="shop", source=source, component=name)
        artifacts[name] = (await run(activities.pack, request)).artifact
        # Before the release is assembled, each part is looked up by itself.
        assert (await run(activities.check, asked)).packed == artifacts

    components = {name: artifacts[name] for name in ("network", "api")}
    release = AssembleRelease(
        app="shop", config=before.config, components=components, sandbox=artifacts[SANDBOX]
    )
    assembled = await run(activities.assemble, release)
    shutil.rmtree(tmp_path / "data/cache")
    assert (await run(activities.check, asked)).packed == artifacts
    again = await run(activities.assemble, release)
    assert (again.release, again.reused) == (assembled.release, True)
    assert not (tmp_path / "data/cache").exists(), "the source was fetched again"

    other = await run(activities.check, CheckSource(app="store", source=source))
    assert other.packed == {}, "another app's repository has none of it"


async def test_what_the_registry_lost_is_packed_again(
    registry: Registry, layout: Layout, tmp_path: Path
) -> None:
    activities, run = BuildActivities(registry, tmp_path / "data"), ActivityEnvironment().run
    source = push_source(registry, write_shop(tmp_path / "app"))
    request = PackComponent(app="shop", source=source, component="api")
    packed = await run(activities.pack, request)

    shutil.rmtree(tmp_path / "registry/apps+shop")
    checked = await run(activities.check, CheckSource(app="shop", source=source))
    assert checked.packed == {}
    again = await run(activities.pack, request)
    assert (again.artifact, again.reused) == (packed.artifact, False)
    assert registry.has_manifest("apps/shop", packed.artifact.digest)


async def test_one_app_has_nothing_of_another(
    registry: Registry, layout: Layout, tmp_path: Path
) -> None:
    _, shop = await build(registry, write_shop(tmp_path / "app"), tmp_path / "data")
    _, store = await build(registry, tmp_path / "app", tmp_path / "data", app="store")
    assert shop.release != store.release
    assert not registry.has_manifest("apps/shop", store.release)


async def test_a_wrong_config_is_reported_as_a_whole(registry: Registry, tmp_path: Path) -> None:
    changes = {
        "components/api.toml": 'name = "api"\ntype = "terraform_module"\n',
        "actions/health.toml": "name = \n",
    }
    source = push_source(registry, write_shop(tmp_path / "app", changes))
    activities = BuildActivities(registry, tmp_path / "data")
    run = ActivityEnvironment().run
    message = await refused(
        BadConfig, run(activities.check, CheckSource(app="shop", source=source))
    )
    lines = message.splitlines()
    assert any(line.startswith("components/api.toml") for line in lines), message
    assert any(line.startswith("actions/health.toml") for line in lines), message
    assert str(tmp_path) not in message

    request = PackComponent(app="shop", source=source, component="network")
    await refused(BadConfig, run(activities.pack, request))
    assert not (tmp_path / "registry/apps+shop").exists()


async def test_warnings_of_a_config_come_along(registry: Registry, tmp_path: Path) -> None:
    source = push_source(registry, write_shop(tmp_path / "app"))
    activities = BuildActivities(registry, tmp_path / "data")
    request = CheckSource(app="shop", source=source)
    checked = await ActivityEnvironment().run(activities.check, request)
    assert checked.components == ["api", "network"]
    assert checked.warnings == []


async def test_what_was_not_uploaded_is_not_there(registry: Registry, tmp_path: Path) -> None:
    activities = BuildActivities(registry, tmp_path / "data")
    run = ActivityEnvironment().run
    message = await refused(
        NotThere, run(activities.check, CheckSource(app="shop", source=NOWHERE))
    )
    assert message.startswith(f"source {NOWHERE} is not there; run `exclave upload DIR` first")


async def test_an_unknown_component_is_bad_input(registry: Registry, tmp_path: Path) -> None:
    source = push_source(registry, write_shop(tmp_path / "app"))
    activities = BuildActivities(registry, tmp_path / "data")
    request = PackComponent(app="shop", source=source, component="web")
    message = await refused(BadInput, ActivityEnvironment().run(activities.pack, request))
    assert "no component web" in message
    request = PackComponent(app="shop", source=source, component=SANDBOX)
    message = await refused(BadInput, ActivityEnvironment().run(activities.pack, request))
    assert "no sandbox" in message


async def test_a_release_or_an_unsafe_zip_is_no_source(registry: Registry, tmp_path: Path) -> None:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("metadata.toml")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    unsafe, _ = push_package(registry, "sources", SOURCE_ARTIFACT_TYPE, buffer.getvalue())
    other, _ = push_package(registry, "sources", MODULE_ARTIFACT_TYPE, buffer.getvalue())
    activities = BuildActivities(registry, tmp_path / "data")
    for digest, why in ((unsafe.digest, "it is a link"), (other.digest, "artifactType")):
        run = ActivityEnvironment().run
        check = CheckSource(app="shop", source=digest)
        assert why in await refused(BadInput, run(activities.check, check))
        pack = PackComponent(app="shop", source=digest, component="api")
        assert why in await refused(BadInput, run(activities.pack, pack))
    assert list((tmp_path / "data/sources").iterdir()) == []


async def test_a_damaged_cache_is_fetched_again_and_a_damaged_registry_refused(
    registry: Registry, layout: Layout, tmp_path: Path
) -> None:
    source = push_source(registry, write_shop(tmp_path / "app"))
    activities, data = BuildActivities(registry, tmp_path / "data"), tmp_path / "data"
    run, request = ActivityEnvironment().run, CheckSource(app="shop", source=source)
    checked = await run(activities.check, request)

    kept = list((data / "cache").rglob("*"))
    for path in [path for path in kept if path.is_file()]:
        assert path.stat().st_mode & 0o777 == 0o600
        path.write_bytes(b"damaged")
    assert await run(activities.check, request) == checked

    layout.repository("sources").blob(source).write_bytes(b"forged")
    fresh = BuildActivities(registry, tmp_path / "fresh")
    assert "digest" in await refused(PolicyDenied, run(fresh.check, request))


async def test_a_release_has_all_components_of_its_config_and_no_other(
    registry: Registry, tmp_path: Path
) -> None:
    request, _ = await build(registry, write_shop(tmp_path / "app"), tmp_path / "data")
    api = {"api": request.components["api"]}
    activities = BuildActivities(registry, tmp_path / "data")
    for components in (api, request.components | {"more": api["api"]}):
        other = AssembleRelease(app="shop", config=request.config, components=components)
        await refused(BadInput, ActivityEnvironment().run(activities.assemble, other))
    other = request.model_copy(update={"sandbox": api["api"]})
    message = await refused(BadInput, ActivityEnvironment().run(activities.assemble, other))
    assert "assembled of ['api', 'network', 'sandbox']" in message
    elsewhere = AssembleRelease(app="other", config=request.config, components=request.components)
    await refused(NotThere, ActivityEnvironment().run(activities.assemble, elsewhere))


async def test_a_graph_that_no_workflow_takes_is_reported_when_building(
    registry: Registry, tmp_path: Path
) -> None:
    inputs = "\n".join(
        f'[[input]]\nname = "input_{number:04}_{"x" * 100}"\ndisplay_name = "I"\n'
        f'description = "I"\ngroup = "shop"\n'
        for number in range(1500)
    )
    group = '[[group]]\nname = "shop"\ndescription = "The shop"\n'
    region = '[[input]]\nname = "region"\ndisplay_name = "R"\ndescription = "R"\ngroup = "shop"\n'
    app = write_shop(tmp_path / "app", {"inputs.toml": f"{group}\n{region}\n{inputs}"})
    source = push_source(registry, app)
    activities = BuildActivities(registry, tmp_path / "data")
    request = CheckSource(app="shop", source=source)
    message = await refused(BadConfig, ActivityEnvironment().run(activities.check, request))
    assert str(GRAPH_LIMIT_BYTES) in message


async def test_a_registry_that_is_away_is_retried_and_a_read_only_one_is_not(
    layout: Layout, tmp_path: Path
) -> None:
    with registry_of(layout) as registry:
        source = push_source(registry, write_shop(tmp_path / "app"))
    request = CheckSource(app="shop", source=source)
    away = BuildActivities(registry := Registry(registry.address), tmp_path / "data")
    message = await refused(Unreachable, ActivityEnvironment().run(away.check, request))
    assert registry.address in message
    registry.close()
    with served(registry_app(layout, writable=False)) as address, Registry(address) as readable:
        activities = BuildActivities(readable, tmp_path / "data")
        message = await refused(PolicyDenied, ActivityEnvironment().run(activities.check, request))
    assert "read-only" in message


async def test_heartbeats_while_it_works(registry: Registry, tmp_path: Path) -> None:
    source = push_source(registry, write_shop(tmp_path / "app"))
    beats: list[object] = []
    environment = ActivityEnvironment()
    environment.on_heartbeat = lambda *details: beats.extend(details)
    activities = BuildActivities(registry, tmp_path / "data")
    await environment.run(activities.check, CheckSource(app="shop", source=source))
    assert f"checks {source}" in beats


def test_implements_the_contract_by_name(registry: Registry, tmp_path: Path) -> None:
    activities = BuildActivities(registry, tmp_path)
    for method, declared in (
        (activities.check, builds.CHECK),
        (activities.pack, builds.PACK),
        (activities.assemble, builds.ASSEMBLE),
    ):
        definition = activity._Definition.must_from_callable(method)
        assert definition.name == declared.name
        assert definition.arg_types == [declared.input]
        assert definition.ret_type is declared.result
