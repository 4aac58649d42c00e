"""The settings in `gateway.toml`."""

from pathlib import Path

import pytest

from gateway.settings import GatewaySettings, SettingsError
from tests.gateway.authority import make_authority

MINIMAL = """
listen = "127.0.0.1:0"
secrets = ["secret"]
credential_keys = ["credentials.pem"]
orgs = ["dev"]
[temporal]
address = "127.0.0.1:7233"
"""
ENCRYPTED = MINIMAL.replace("listen", 'certificate = "gateway.pem"\nkey = "gateway.key"\nlisten')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_authority(tmp_path)
    (tmp_path / "secret").write_bytes(b"s" * 32)
    for name in ("secret", "gateway.key"):
        (tmp_path / name).chmod(0o600)
    return tmp_path


def read(folder: Path, text: str) -> GatewaySettings:
    path = folder / "gateway.toml"
    path.write_text(text)
    return GatewaySettings.read(path)


def test_paths_are_relative_to_the_file(folder: Path) -> None:
    settings = read(folder, ENCRYPTED)
    assert settings.secrets == (folder / "secret",)
    door = settings.door()
    assert (door.secrets, door.frontend.address) == ((b"s" * 32,), "127.0.0.1:7233")
    assert door.certificate is not None


def test_limits_have_defaults_and_can_be_set(folder: Path) -> None:
    door = read(folder, MINIMAL + "[limits]\npolls = 3\n").door()
    assert (door.limits.polls, door.limits.calls_per_second) == (3, 200)


def test_temporals_own_credentials_are_read(folder: Path) -> None:
    key = folder / "api-key"
    key.write_text("a key\n")
    key.chmod(0o600)
    frontend = read(folder, MINIMAL + 'tls = true\napi_key = "api-key"\n').door().frontend
    assert (frontend.tls, frontend.api_key) == (True, "a key")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (MINIMAL.replace("127.0.0.1:0", "0.0.0.0:443"), "credentials would travel in clear"),
        (MINIMAL.replace("127.0.0.1:0", "nowhere"), "write HOST:PORT"),
        (MINIMAL.replace("listen", 'key = "gateway.key"\nlisten'), "belong together"),
        (MINIMAL.replace('["secret"]', "[]"), "secrets"),
        (MINIMAL.replace('"dev"', '"No Org"'), r"orgs\.0"),
        (MINIMAL + 'api_key = "secret"\n', "without tls = true"),
        (MINIMAL + 'tls = true\ncertificate = "gateway.pem"\n', "belong together"),
        (
            MINIMAL.replace("listen", "listens"),
            "listen: is missing\n.*listens: there is no such key",
        ),
        ("listen =", "is not TOML"),
    ],
)
def test_what_cannot_be_is_refused(folder: Path, text: str, problem: str) -> None:
    with pytest.raises(SettingsError, match=f"(?s){problem}"):
        read(folder, text)


def test_a_secret_that_others_may_read_is_none(folder: Path) -> None:
    (folder / "secret").chmod(0o644)
    with pytest.raises(SettingsError, match="chmod 600"):
        read(folder, MINIMAL).door()


def test_a_secret_that_is_too_short_is_none(folder: Path) -> None:
    (folder / "secret").write_bytes(b"short")
    with pytest.raises(SettingsError, match="at least 32 bytes"):
        read(folder, MINIMAL).door()


def test_a_file_that_is_missing_is_named(folder: Path) -> None:
    (folder / "secret").unlink()
    with pytest.raises(SettingsError, match=r"secret cannot be read: No such file"):
        read(folder, MINIMAL).door()


def test_the_file_itself_may_be_missing(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        GatewaySettings.read(tmp_path / "gateway.toml")
