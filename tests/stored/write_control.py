"""Writes with today's code what people, control planes and gateways keep: keys, files, tables."""

import asyncio
import base64
import sqlite3
from contextlib import closing
from pathlib import Path

from pydantic import SecretStr
from temporalio.api.common.v1 import Payload

from activities.access.authority import EnrolmentAuthority, EnrolmentKey
from client.enrolment_tokens import write_build_worker, write_token
from contracts.access import EarlierAnswer
from exclave.dev.data import PidFile
from exclave.dev.declaration import Declaration
from exclave.dev.gateway import GatewayFiles
from gateway.enrolment.credentials import CredentialKey, GatewayCredentials
from gateway.identity import Identity
from gateway.rpc.task_tokens import TaskTokens
from gateway.telemetry.queue import Batch
from gateway.telemetry.signals import LOGS, METRICS, TRACES
from gateway.telemetry.store import TelemetryStore
from stacks.enrolment import BuildEnrolment, Enrolment
from stacks.policy import DEFAULT_POLICY
from tests.gateway.telemetry.otlp_site import logs, metrics, traces
from tests.stored.fixed import AT, INSTALL, ORG, fake, signing_key
from wire.encryption.codec import Encryption
from wire.encryption.keys import MasterKeys
from wire.encryption.subjects import install_subject
from wire.enrolment.client import Answer, ControlKeys, Enrolee, GatewayCalls
from wire.enrolment.credential import Enrolling
from wire.enrolment.sealing import decoded, encoded, seal
from wire.enrolment.token import TokenId, answer_bytes, sealed_about
from wire.enrolment.worker_identity import WorkerIdentity
from wire.network.gateway_address import GatewayAddress

GATEWAY = "https://gateway.example.com"
WORKER = Identity("install", ORG, INSTALL, "0" * 32, AT + 900)
TASK_TOKEN = b"what Temporal calls a task by"
PAYLOAD = Payload(metadata={"encoding": b"json/plain"}, data=b'{"key": "fake-input-0000"}')
HANDED = b"fake payload keys, as the control side hands them over"
EXPIRES = int(AT) + 3600


def write_control(root: Path) -> None:
    """Write it into `control`, `sealed` and `stack` below the folder."""
    declaration = Declaration.model_validate(
        {
            "namespace": ORG,
            "data": root / "control",
            "temporal": {
                "address": "127.0.0.1:7233",
                "ui": "127.0.0.1:8233",
                "database": "temporal.db",
            },
            "registry": {"push": "127.0.0.1:5080", "pull": "127.0.0.1:5081"},
        }
    )
    _write_dev(declaration)
    _write_telemetry(root / "control/gateway")
    authority = EnrolmentAuthority([EnrolmentKey.read(root / "control/enrolment-key")])
    _write_stack(root / "stack", authority)
    asyncio.run(_write_enrolled(root / "worker", authority))
    _write_sealed(root / "sealed", MasterKeys.read(root / "control/keys.json"))


def _write_dev(declaration: Declaration) -> None:
    """What `exclave dev` keeps."""
    data = declaration.data
    data.mkdir(parents=True)
    keys = {"2025-12-01-older": fake(), "2026-01-02-newer": fake()[::-1]}
    text = {name: SecretStr(base64.b64encode(key).decode()) for name, key in keys.items()}
    MasterKeys(current="2026-01-02-newer", keys=text).write(data / "keys.json")
    gateway = GatewayFiles(declaration)
    gateway.make()
    PidFile(data / "pids.json").add("temporal", 4242)


def _write_telemetry(folder: Path) -> None:
    """The table of what workers have sent, as the statements that make it."""
    path = folder / "telemetry.db"
    store = TelemetryStore(path, clock=lambda: AT)
    batches = [
        Batch(signal, WORKER, request.SerializeToString(), 1, AT)
        for signal, request in (
            (LOGS, logs("hello", service__name="worker")),
            (TRACES, traces()),
            (METRICS, metrics(1)),
        )
    ]
    with closing(sqlite3.connect(path)) as database:
        store.keep(database, batches)
        told = "\n".join(database.iterdump())
    for left in folder.glob("telemetry.db*"):
        left.unlink()
    (folder / "telemetry.sql").write_text(told + "\n")


def _write_stack(folder: Path, authority: EnrolmentAuthority) -> None:
    """What a customer is given."""
    folder.mkdir()
    enrolment = Enrolment.of(
        install=INSTALL,
        namespace=ORG,
        temporal="gateway.example.com:443",
        releases=GATEWAY,
        store="s3://bucket-of-acme/exclave",
        store_region="eu-central-1",
        store_endpoint="https://s3.example.com",
        gateway=GATEWAY,
        control_key=authority.public,
    )
    (folder / "enrolment.toml").write_text(enrolment.render())
    token = authority.mint(TokenId.fresh(ORG, install_subject(INSTALL), EXPIRES))
    write_token(folder / "enrolment-token", token.render())
    (folder / "policy.toml").write_text(DEFAULT_POLICY)
    building = BuildEnrolment.of(
        namespace=ORG, gateway=GATEWAY, gateway_ca=None, control_key=authority.public
    )
    token = authority.mint(TokenId.fresh(ORG, building.subject, EXPIRES))
    write_build_worker(folder / "build-worker", building.render(), token.render())


async def _write_enrolled(data: Path, authority: EnrolmentAuthority) -> None:
    """A worker's own keys, and what it remembers of its enrolment."""
    identity = WorkerIdentity.open(data)
    await Enrolling(enrolee(identity, authority.public), data, _Answered(identity)).enrol()


def enrolee(identity: WorkerIdentity, control: str) -> Enrolee:
    gateway = GatewayAddress.parse(GATEWAY)
    control_keys = ControlKeys.parse(control)
    return Enrolee(ORG, install_subject(INSTALL), identity, gateway, control_keys)


class _Answered:
    """The control side's answer to an enrolment, without the way there."""

    def __init__(self, identity: WorkerIdentity) -> None:
        self._identity = identity

    async def enrol(self, calls: GatewayCalls, bound: str) -> Answer:
        subject, public = install_subject(INSTALL), self._identity.public
        sealed = seal(HANDED, decoded(public.sealing), sealed_about("payload keys", subject))
        signed = EnrolmentKey(fake()).signing.sign(answer_bytes(subject, public, sealed))
        return Answer(EarlierAnswer(sealed=sealed, signature=encoded(signed)), HANDED)


def _write_sealed(folder: Path, master: MasterKeys) -> None:
    """What lies encrypted in histories, and what workers hold for a gateway."""
    folder.mkdir()
    worker = master.for_subject(ORG, install_subject(INSTALL))
    worker.write(folder / "worker-keys.json")
    issued = GatewayCredentials([CredentialKey(signing_key())], clock=lambda: AT).issue(
        "install", ORG, INSTALL, WORKER.key
    )
    sealed = {
        "payload": _bytes(Encryption(worker, ORG).encrypt(PAYLOAD)),
        "org-payload": _bytes(Encryption(master, ORG).encrypt(PAYLOAD)),
        "task-token": TaskTokens([fake()]).seal(TASK_TOKEN, WORKER, "activity"),
        "credential": issued.token.encode(),
    }
    for name, content in sealed.items():
        (folder / f"{name}.bin").write_bytes(content)


def _bytes(payload: Payload) -> bytes:
    return payload.SerializeToString(deterministic=True)
