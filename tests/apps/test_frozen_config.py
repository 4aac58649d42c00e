import json
from pathlib import Path

import pytest

from apps.config.app import AppConfig
from apps.frozen import FrozenError, freeze, thaw
from apps.loader import load
from tests.apps.app_folder import App
from tests.apps.reading.test_every_kind import FILES
from tests.shipped import DEPLOYABLE

SHOP = Path(__file__).parents[2] / "examples/shop"
FROZEN = Path(__file__).with_name("frozen")


@pytest.fixture(scope="module")
def config() -> AppConfig:
    return load(SHOP, DEPLOYABLE).config


def test_thawing_gives_the_same_config(config: AppConfig) -> None:
    assert thaw(freeze(config)) == config
    assert freeze(thaw(freeze(config))) == freeze(config)


def test_a_release_of_before_there_were_sandboxes_can_be_read() -> None:
    config = thaw((FROZEN / "shop-without-sandbox.json").read_bytes())
    assert config.sandbox is None
    assert [component.name for component in config.components] == [
        "api", "cache", "database", "network",
    ]  # fmt: skip
    [health] = config.actions
    assert [trigger.type for trigger in health.triggers] == ["manual"]


def test_what_was_deployed_from_it_is_not_planned_anew() -> None:
    # The worker takes a digest of this for each component, and deploys what it knows to another.
    cache = thaw((FROZEN / "shop-without-sandbox.json").read_bytes()).component("cache")
    assert cache is not None
    assert cache.model_dump_json(exclude_defaults=True) == (
        '{"terraform_version":"1.11.0","public_repo":{"repo":".","directory":"modules/cache"},'
        '"vars":{"network_id":"{{ .nuon.components.network.outputs.id }}"},'
        '"var_file":[{"contents":"size_mb = 64\\nsubnet  = \\"{{ (.nuon.components.network.outputs)'
        '.first_subnet | default \\"none\\" }}\\"\\n"}],"type":"terraform_module","name":"cache"}'
    )


def test_the_same_folder_gives_the_same_bytes(app: App) -> None:
    for file, text in FILES.items():
        app.write(file, text)
    frozen = freeze(app.load().config)
    other = App(app.root / "copy" / "deep")
    for file, text in reversed(FILES.items()):
        other.write(file, text)
    assert freeze(other.load().config) == frozen
    assert thaw(frozen) == app.load().config
    assert freeze(thaw(frozen)) == frozen


def test_it_is_canonical(config: AppConfig) -> None:
    frozen = freeze(config)
    again = json.dumps(
        json.loads(frozen), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    assert frozen == again.encode()


def test_unknown_fields_and_a_higher_minor_are_tolerated(config: AppConfig) -> None:
    document = json.loads(freeze(config))
    document["format"] = "1.7"
    document["new"] = 1
    document["config"]["new"] = {"x": 1}
    document["config"]["components"][0]["new"] = 1
    assert thaw(json.dumps(document).encode()) == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "2.0"}, "format 2.0, and this version reads up to 1.x"),
        ({"format": "x"}, "which is not a version"),
        ({"config": {}}, "metadata: Field required"),
    ],
)
def test_what_it_cannot_read_is_told(
    config: AppConfig, change: dict[str, object], message: str
) -> None:
    document = json.loads(freeze(config)) | change
    with pytest.raises(FrozenError) as caught:
        thaw(json.dumps(document).encode())
    assert message in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"{}"])
def test_bytes_that_are_no_config(data: bytes) -> None:
    with pytest.raises(FrozenError):
        thaw(data)
