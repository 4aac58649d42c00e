"""The declaration of the development control plane: what it accepts, and how it refuses."""

from itertools import pairwise
from pathlib import Path

import pytest

from exclave.dev.declaration import DeclarationError, read_declaration
from exclave.dev.programs import (
    build_workers,
    codec_servers,
    control_workers,
    gateways,
    temporal_server,
)

RIGHT = """
namespace: dev
data: data
temporal:
  address: 127.0.0.1:7233
  ui: 127.0.0.1:8233
  database: temporal.db
  dynamic_config: {matching.enableFairness: true, frontend.namespaceCount: 12000}
  sqlite_pragmas: {journal_mode: wal}
registry: {push: 127.0.0.1:5080, pull: "[::1]:5081"}
workers: {control: 1, build: 2}
"""


def declared(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "temporal-dev.yaml"
    path.write_text(text)
    return path


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(DeclarationError) as caught:
        read_declaration(declared(tmp_path, text))
    return str(caught.value)


def test_paths_are_relative_to_the_declaration(tmp_path: Path) -> None:
    declaration = read_declaration(declared(tmp_path, RIGHT))
    assert declaration.data == tmp_path / "data"
    assert declaration.temporal.database == tmp_path / "data" / "temporal.db"


def test_the_servers_flags_carry_what_is_declared(tmp_path: Path) -> None:
    argv = temporal_server(read_declaration(declared(tmp_path, RIGHT))).argv
    given = set(pairwise(argv))
    assert {
        ("--ip", "127.0.0.1"),
        ("--port", "7233"),
        ("--namespace", "dev"),
        ("--dynamic-config-value", "matching.enableFairness=true"),
        ("--dynamic-config-value", "frontend.namespaceCount=12000"),
        ("--sqlite-pragma", "journal_mode=wal"),
        ("--search-attribute", "ExclaveInstall=Keyword"),
    } <= given


def test_workers_are_numbered_from_the_second_on(tmp_path: Path) -> None:
    declaration = read_declaration(declared(tmp_path, RIGHT))
    programs = control_workers(declaration) + build_workers(declaration)
    assert [program.name for program in programs] == ["control", "build", "build-2"]
    assert "http://[::1]:5081" in programs[0].argv
    folders = {program.argv[-1] for program in programs[1:]}
    assert folders == {str(tmp_path / "data" / "build"), str(tmp_path / "data" / "build-2")}


def test_without_a_word_there_is_a_gateway_and_encryption(tmp_path: Path) -> None:
    declaration = read_declaration(declared(tmp_path, RIGHT))
    assert str(declaration.gateway) == "127.0.0.1:7443"
    assert str(declaration.codec) == "127.0.0.1:8234"
    [first, _] = build_workers(declaration)
    assert "--address" not in first.argv, "it knows only the gateway"
    assert "--keys" not in first.argv, "it gets its keys when it enrols"
    assert "--ui-codec-endpoint" in temporal_server(declaration).argv


def test_plain_is_asked_for_by_name(tmp_path: Path) -> None:
    declaration = read_declaration(declared(tmp_path, f"{RIGHT}gateway: false\n"))
    assert declaration.gateway is None
    assert declaration.codec is None
    assert gateways(declaration) == codec_servers(declaration) == []
    assert ("--address", "127.0.0.1:7233") in set(pairwise(build_workers(declaration)[0].argv))
    for nothing in ("", "true", "yes please"):
        said = refusal(tmp_path, f"{RIGHT}gateway: {nothing}\n")
        assert "gateway: " in said
        assert "write IP:PORT" in said


def test_every_problem_is_reported_with_file_and_key(tmp_path: Path) -> None:
    text = RIGHT.replace("namespace: dev", "namespace: Dev").replace("data: data", "dta: data")
    lines = refusal(tmp_path, text).splitlines()
    file = tmp_path / "temporal-dev.yaml"
    assert len(lines) == 3
    assert any(line.startswith(f"{file}: namespace: 'Dev' is not a name") for line in lines)
    assert f"{file}: data: is missing" in lines
    assert any(line.startswith(f"{file}: dta: there is no such key") for line in lines)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("0.0.0.0:7233", "not a loopback address"),
        ("192.168.1.4:7233", "authenticates nobody"),
        ("localhost:7233", "write IP:PORT"),
        ("127.0.0.1", "write IP:PORT"),
        ("127.0.0.1:0", "between 1 and 65535"),
        ("127.0.0.1:99999", "between 1 and 65535"),
        ("127.0.0.999:7233", "is not an IP address"),
    ],
)
def test_only_loopback_addresses_are_taken(tmp_path: Path, address: str, reason: str) -> None:
    said = refusal(tmp_path, RIGHT.replace("127.0.0.1:7233", f'"{address}"'))
    assert ": temporal.address: " in said
    assert reason in said


def test_one_address_serves_one_thing(tmp_path: Path) -> None:
    said = refusal(tmp_path, RIGHT.replace("127.0.0.1:8233", "127.0.0.1:5080"))
    assert "registry.push and temporal.ui are both 127.0.0.1:5080" in said


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("control: 1", "control: 0", "workers.control"),
        ("control: 1", "control: many", "workers.control"),
        ("journal_mode: wal", '"journal=mode": wal', "temporal.sqlite_pragmas"),
    ],
)
def test_values_out_of_range_are_refused(tmp_path: Path, old: str, new: str, key: str) -> None:
    assert f": {key}" in refusal(tmp_path, RIGHT.replace(old, new))


def test_nothing_is_encrypted_without_a_way_to_hand_workers_their_keys(tmp_path: Path) -> None:
    said = refusal(tmp_path, f"{RIGHT}gateway: false\ncodec: 127.0.0.1:8234\n")
    assert "only the gateway gives workers their keys; declare `gateway`, too" in said


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"does not exist.*--file"):
        read_declaration(tmp_path / "other.yaml")


@pytest.mark.parametrize("text", ["a: [", "- 1", ""])
def test_what_is_no_declaration_is_refused_by_file(tmp_path: Path, text: str) -> None:
    assert refusal(tmp_path, text).startswith(str(tmp_path / "temporal-dev.yaml"))


def test_the_projects_own_declaration_is_right() -> None:
    declaration = read_declaration(Path(__file__).parents[2] / "temporal-dev.yaml")
    config = declaration.temporal.dynamic_config
    assert declaration.namespace == "dev"
    assert str(declaration.temporal.address) == "127.0.0.1:7233"
    # Together with worker commands, this setting makes a draining worker spin.
    assert "frontend.enableCancelWorkerPollsOnShutdown" not in config
