"""Keys, files and tables of older control planes, gateways and stacks read as they were meant."""

import base64
import fcntl
import os
import re
import sqlite3
from contextlib import closing
from datetime import time
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload

from activities.access.authority import EnrolmentAuthority, EnrolmentKey
from exclave.dev.data import DataFolderInUse, hold
from gateway.enrolment.credentials import CredentialKey, GatewayCredentials
from gateway.rpc.task_tokens import NotTheirs, TaskTokens
from gateway.settings import GatewaySettings
from gateway.telemetry.queue import Batch
from gateway.telemetry.signals import LOGS
from gateway.telemetry.store import TelemetryStore
from stacks.enrolment import BuildEnrolment, Enrolment
from stacks.policy import Policy, Window
from store.opening import s3_description
from store.s3_place import S3Place
from tests.gateway.telemetry.otlp_site import logs
from tests.stored.fixed import AT, INSTALL, ORG, fake
from tests.stored.write_control import (
    EXPIRES,
    GATEWAY,
    HANDED,
    PAYLOAD,
    TASK_TOKEN,
    WORKER,
    enrolee,
)
from wire.encryption.codec import Encryption
from wire.encryption.keys import MasterKeys, WorkerKeys
from wire.encryption.subjects import ACCESS, BUILD, install_subject
from wire.enrolment.credential import ByToken, Enrolling
from wire.enrolment.token import EnrolmentToken, TokenId
from wire.enrolment.worker_identity import WorkerIdentity


@pytest.fixture
def gateway(stored: Path) -> GatewaySettings:
    return GatewaySettings.read(stored / "control/gateway/gateway.toml")


@pytest.fixture
def enrolment_key(stored: Path) -> EnrolmentKey:
    return EnrolmentKey.read(stored / "control/enrolment-key")


def test_master_keys_and_those_that_follow_from_them(stored: Path) -> None:
    master = MasterKeys.read(stored / "control/keys.json")
    assert master.current == "2026-01-02-newer"
    assert {name: master.bytes_of(name) for name in master.keys} == {
        "2025-12-01-older": fake(),
        "2026-01-02-newer": fake()[::-1],
    }
    worker = WorkerKeys.read(stored / "sealed/worker-keys.json")
    assert worker == master.for_subject(ORG, install_subject(INSTALL))
    assert (worker.namespace, worker.subject) == (ORG, "install/acme")
    assert base64.b64encode(worker.bytes_of("2025-12-01-older")).startswith(b"o8xLAEqbTxLif5Ex")
    access = WorkerKeys.read(stored / "control/gateway/access-keys.json")
    assert access == master.for_subject(ORG, ACCESS)


def test_payloads_that_lie_in_histories(stored: Path) -> None:
    master = MasterKeys.read(stored / "control/keys.json")
    worker = WorkerKeys.read(stored / "sealed/worker-keys.json")
    for keys, name in ((worker, "payload"), (master, "payload"), (master, "org-payload")):
        payload = Payload.FromString((stored / f"sealed/{name}.bin").read_bytes())
        assert payload.metadata["encoding"] == b"binary/encrypted"
        assert payload.metadata["encryption-key-id"] == b"2026-01-02-newer"
        assert Encryption(keys, ORG).decrypt(payload) == PAYLOAD


def test_one_time_tokens(stored: Path, enrolment_key: EnrolmentKey) -> None:
    assert enrolment_key.secret == fake()
    authority = EnrolmentAuthority([enrolment_key])
    for folder, subject in (("stack", install_subject(INSTALL)), ("stack/build-worker", BUILD)):
        token = EnrolmentToken.parse((stored / folder / "enrolment-token").read_text())
        assert token == enrolment_key.token(token.id)
        named = TokenId.parse(token.id)
        assert (named.org, named.subject, named.expires) == (ORG, subject, EXPIRES)
        assert named.number == TokenId.parse(str(named)).number != ""
        assert named.is_signed_by_one_of([enrolment_key.signing.public_key()])
        assert authority.which_made(token.id, token.__eq__) == enrolment_key


def test_enrolment_files(stored: Path, enrolment_key: EnrolmentKey) -> None:
    found = Enrolment.read(stored / "stack/enrolment.toml")
    assert found.model_dump(exclude_none=True) == {
        "install": INSTALL,
        "namespace": ORG,
        "temporal": "gateway.example.com:443",
        "releases": GATEWAY,
        "store": "s3://bucket-of-acme/exclave",
        "store_region": "eu-central-1",
        "store_endpoint": "https://s3.example.com",
        "gateway": GATEWAY,
        "control_key": enrolment_key.public,
    }
    place = S3Place("bucket-of-acme", "exclave", "eu-central-1", "https://s3.example.com")
    assert found.store_description(stored) == s3_description(place)
    building = BuildEnrolment.read(stored / "stack/build-worker/enrolment.toml")
    assert building.model_dump(exclude_none=True) == {
        "worker": "build",
        "namespace": ORG,
        "gateway": GATEWAY,
        "control_key": enrolment_key.public,
    }


def test_the_policy(stored: Path) -> None:
    file = stored / "stack/policy.toml"
    as_written = Policy.read(file)
    assert as_written.rules() == [], "every line that sets something is commented out"
    # Of what is commented out, prose alone has a space before it.
    file.write_text(re.sub(r"^#(?! )", "", file.read_text(), flags=re.MULTILINE))
    found = Policy.read(file)
    assert found.model_dump(exclude={"digest", "hours"}) == as_written.model_dump(
        exclude={"digest", "hours"}
    ), "and tells the default"
    assert found.hours == [
        Window.model_validate(
            {"days": ["mon", "tue", "wed", "thu"], "zone": "Europe/Berlin"}
            | {"from": time(22), "to": time(5)}
        )
    ]


def test_a_workers_keys_and_its_enrolment(stored: Path, enrolment_key: EnrolmentKey) -> None:
    data = stored / "worker"
    identity = WorkerIdentity.open(data)
    assert identity.signing.private_bytes_raw() == fake()
    assert identity.thumbprint == "c560f915be7034f6355e24fc27ac4312"
    who = enrolee(identity, enrolment_key.public)
    assert Enrolling(who, data, ByToken(stored / "none")).payload_keys() == HANDED


def test_a_gateways_settings(stored: Path, gateway: GatewaySettings) -> None:
    folder = stored / "control/gateway"
    assert gateway.model_dump(include={"listen", "orgs", "certificate", "key"}) == {
        "listen": "127.0.0.1:7443",
        "orgs": (ORG,),
        "certificate": folder / "certificate.pem",
        "key": folder / "certificate-key.pem",
    }
    assert gateway.secrets == (folder / "secret",)
    assert gateway.credential_keys == (folder / "credential-key.pem",)
    assert gateway.payload_keys == (folder / "access-keys.json",)
    assert gateway.temporal.address == "127.0.0.1:7233"
    assert gateway.artifacts is not None and gateway.telemetry is not None
    assert gateway.artifacts.layout == Path("/var/lib/recorded/control/registry")
    assert gateway.telemetry.store == folder / "telemetry.db"
    assert gateway.read_secrets() == (fake(),)


def test_what_workers_hold_for_a_gateway(stored: Path, gateway: GatewaySettings) -> None:
    [file] = gateway.credential_keys
    credentials = GatewayCredentials([CredentialKey.read(file)], clock=lambda: AT)
    token = (stored / "sealed/credential.bin").read_text()
    assert credentials.authenticate(f"Bearer {token}") == WORKER
    tokens = TaskTokens(gateway.read_secrets())
    sealed = (stored / "sealed/task-token.bin").read_bytes()
    assert tokens.open(sealed, WORKER, "activity") == TASK_TOKEN
    with pytest.raises(NotTheirs):
        tokens.open(sealed, WORKER, "command")


def test_the_table_of_telemetry(stored: Path) -> None:
    folder = stored / "control/gateway"
    file = folder / "telemetry.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript((folder / "telemetry.sql").read_text())
        asked = "SELECT received, signal, org, install, key, name, text, trace, span FROM telemetry"
        trace, span = bytes(range(16)).hex(), bytes(range(8)).hex()
        received = int(AT * 1e9)
        before = [
            (received, signal, ORG, INSTALL, WORKER.key, *rest)
            for signal, *rest in (
                ("logs", "INFO", "hello", trace, ""),
                ("traces", "apply", "error, 1.500 s engine failed", trace, span),
                ("metrics", "tools", '[{"timeUnixNano": "5", "asInt": "1"}]', "", ""),
            )
        ]
        assert database.execute(asked).fetchall() == before
        # A gateway of today goes on with it.
        store = TelemetryStore(file, clock=lambda: AT)
        batch = Batch(LOGS, WORKER, logs("again").SerializeToString(), 1)
        store.keep(database, [batch])
        assert len(database.execute(asked).fetchall()) == len(before) + 1


def test_processes_that_a_killed_control_plane_left(stored: Path) -> None:
    lock = os.open(stored / "control/lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DataFolderInUse, match="pids: temporal 4242"), hold(stored / "control"):
            pass
    finally:
        os.close(lock)
