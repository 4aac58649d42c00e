"""Writes a customer's store with today's code: everything that a worker keeps there."""

import json
from dataclasses import replace
from pathlib import Path

from activities.plans.fingerprints import input_fingerprints, part_fingerprint
from activities.plans.plan_store import PlanFiles, PlanRecord, load_record, save_plan, sha256
from activities.terraform.commands import APPLYING, PLANNING
from activities.terraform.lock_file import SAVED_AS
from activities.terraform.locking import StateLocks
from activities.terraform.plan_json import SAVED
from activities.terraform.state_file import StateFile
from activities.terraform.state_keys import lock_key, state_key
from activities.terraform.values import Values, keep_values
from activities.workplace import Workplace
from apps.graph import Graph
from apps.parts import SANDBOX
from apps.templates import Rendered
from contracts.deploys import Inputs
from contracts.names import action_subject
from store.customer import Question, answer_now, ask, decide
from store.folder import FolderStore
from store.install_records import (
    ActionRun,
    ComponentRecord,
    DeployedRelease,
    Output,
    ProvisionedRelease,
)
from store.install_state import InstallState
from store.interface import ANY, Store
from store.journal import Journal
from store.known_releases import note_release
from store.leases import Leases
from store.s3_place import S3Place
from store.turns import check_turn
from tests.activities.terraform.terraform_plans import changes, plan
from tests.stored.fixed import (
    APP,
    ARTIFACT,
    AT,
    INSTALL,
    LICENSE,
    MACHINE,
    OLDER_RELEASE,
    OTHER_MACHINE,
    RELEASE,
    fake,
)
from tests.stored.workplace import CONFIG, workplace_in

RUN = "run-1"
PLAN_KEY = f"{RUN}/network/plan/1"
APPLY_KEY = f"{RUN}/network/apply/2"
FAILED_KEY = f"{RUN}/api/apply/3"
OPEN_KEY = "run-2/health/step/1"
TFPLAN = b"not what Terraform writes, but bytes of a plan\x00\xff"
LOCK_FILE = b'provider "registry.example.com/example/example" {\n  version = "1.0.0"\n}\n'
VIEW = "apply network: 1 to create\n\n+ terraform_data.network\n"
STATE = b'{"version": 4, "lineage": "l", "serial": 3, "resources": []}'
ERRORED = b'{"version": 4, "lineage": "l", "serial": 4, "resources": []}'
LOCKED_AT = "2026-01-02T03:04:05.250000Z"
VALUES = Values(
    variables={"region": Rendered("here", False), "license": Rendered(LICENSE, True)},
    files=[Rendered('size = "small"\n', False)],
    environment={"EXAMPLE_MODE": Rendered("quiet", False)},
    secrets=[LICENSE],
)


class Bucket(FolderStore):
    """A folder that says that it is a bucket."""

    def s3_place(self) -> S3Place:  # type: ignore[override]
        return S3Place("bucket-of-acme", "exclave")

    def local_path(self, key: str) -> None:  # type: ignore[override]
        return None


def write_store(root: Path) -> None:
    """Write it into `store` below the folder."""
    workplace = workplace_in(root)
    store = workplace.store
    _write_digest_key(store, workplace.state)
    _write_state(workplace.state)
    note_release(store, OLDER_RELEASE)
    note_release(store, RELEASE)
    check_turn(store, 7, "deploy/acme/7")
    _write_operations(Journal(store, lambda: AT))
    leases = Leases(store, MACHINE, lambda: AT)
    leases.acquire("network", APPLY_KEY)
    leases.renew("network")
    leases.acquire(action_subject("health"), OPEN_KEY)
    _write_plan(store, workplace.state.digest_key())
    _write_customers(store)
    _write_terraform(workplace)


def _write_digest_key(store: Store, state: InstallState) -> None:
    state.digest_key()
    [key] = store.list("")
    store.put(key, fake(), if_match=ANY)


def _write_state(state: InstallState) -> None:
    state.put_app(APP)
    state.update_inputs(
        Inputs(revision=3, values={"region": "here", "size": "small"}, base=1, removed=["zone"])
    )
    state.set_sensitive_input("license", LICENSE)
    network = CONFIG.components[0]
    assert network.type == "terraform_module"
    state.put_component(
        ComponentRecord(
            component="network",
            type=network.type,
            status="done",
            app=APP,
            release=RELEASE,
            artifact=ARTIFACT,
            config=part_fingerprint(network),
            inputs=input_fingerprints(
                Graph(CONFIG), "network", state.inputs(CONFIG, checked=False), state.digest_key()
            ),
            generation=APPLY_KEY,
            built_on={SANDBOX: "run-0/_sandbox/apply/2"},
            dependencies=["ground"],
            var_name="net",
            outputs={
                "id": Output(value="net-here"),
                "ports": Output(value=[80, {"tls": 443}]),
                "key": Output(value="fake-output-0000", sensitive=True),
            },
        )
    )
    base = {"app": APP, "release": RELEASE, "artifact": ARTIFACT, "config": ARTIFACT}
    for part, kind, status in ((SANDBOX, "sandbox", "done"), ("api", "helm_chart", "applying")):
        found = {**base, "component": part, "type": kind, "status": status}
        state.put_component(ComponentRecord.model_validate(found))
    outputs = {"checked": Output(value=True), "token": Output(value="fake-token", sensitive=True)}
    for run, status in (("run-2", "done"), ("run-3", "running")):
        state.put_action_run(
            ActionRun.model_validate(
                {"action": "health", "status": status, "run": run, "begun": AT}
                | {"outputs": outputs, "sent": {"look": 18}}
            )
        )
    state.put_provisioned(ProvisionedRelease(app=APP, release=OLDER_RELEASE))
    state.put_deployed(DeployedRelease(app=APP, release=RELEASE))


def _write_operations(journal: Journal) -> None:
    for key, label in ((PLAN_KEY, PLANNING), (FAILED_KEY, APPLYING)):
        journal.begin(key, MACHINE)
        journal.begin_run(key, label, MACHINE)
    journal.begin(PLAN_KEY, OTHER_MACHINE)
    journal.begin_run(PLAN_KEY, "again", OTHER_MACHINE)
    journal.record_result(PLAN_KEY, {"digest": "sha256:" + "d" * 64, "empty": False})
    journal.record_failure(FAILED_KEY, "EngineFailed", "api: terraform apply failed.")
    journal.script(OPEN_KEY, ARTIFACT)
    journal.begin(OPEN_KEY, MACHINE)


def _write_plan(store: Store, key: bytes) -> None:
    found = changes("create_app")
    record = PlanRecord(
        component="network",
        digest=found.digest(key, install=INSTALL, component="network", verb="apply"),
        teardown=False,
        plan_file=sha256(TFPLAN),
        tool="terraform 1.11.4 linux_amd64",
        providers=sha256(LOCK_FILE),
        state="none",
        app=APP,
        release=RELEASE,
        artifact=ARTIFACT,
        variables=VALUES.digests(key, "network").variables,
        environment=VALUES.digests(key, "network").environment,
    )
    files = PlanFiles(TFPLAN, plan("create_app"), VIEW, {SAVED_AS: LOCK_FILE})
    save_plan(store, PLAN_KEY, SAVED, record, files)


def question(plan_key: str, apply_key: str, component: str) -> Question:
    return Question(
        plan_key=plan_key,
        apply_key=apply_key,
        digest="sha256:" + "d" * 64,
        component=component,
        verb="apply",
        changes="1 to create",
        app=APP,
        release=RELEASE,
        turn=7,
        run="deploy/acme/7",
        asked_at=AT,
        artifact=ARTIFACT,
        variables="fake-digest-of-variables",
        environment="fake-digest-of-environment",
    )


WAITING = question("run-2/network/plan/4", "run-2/network/apply/5", "network")
DENIED = question("run-2/api/plan/6", "run-2/api/apply/7", "api")


def approved(store: Store) -> Question:
    """The question about the plan that is kept."""
    record = load_record(store, PLAN_KEY)
    assert record is not None
    return replace(
        question(PLAN_KEY, APPLY_KEY, "network"),
        digest=record.digest,
        variables=record.variables,
        environment=record.environment,
    )


def _write_customers(store: Store) -> None:
    asked = approved(store)
    for one in (WAITING, asked, DENIED):
        ask(store, one)
    who = "root@machine-1"
    decide(store, asked, answer_now("approved", who, clock=lambda: AT))
    decide(store, DENIED, answer_now("denied", who, "not today", clock=lambda: AT))


def _write_terraform(workplace: Workplace) -> None:
    store = workplace.store
    keep_values(workplace, CONFIG, "network", VALUES)
    store.put(state_key("network"), STATE, if_match=ANY)
    state = StateFile(store, "network")
    state.keep_copy()
    folder = workplace.work_folder("network")
    folder.mkdir(parents=True)
    (folder / "errored.tfstate").write_bytes(ERRORED)
    state.take_errored(folder)
    _write_lock(workplace)


def _write_lock(workplace: Workplace) -> None:
    """The lock that a worker takes itself, as one leaves it that is killed meanwhile."""
    bucket = Bucket(workplace.data.parent / "store")
    folder = workplace.work_folder("network")
    locks = StateLocks.of(bucket, "network", folder, MACHINE, workplace.data)
    with locks.hold("it takes the state that Terraform could not write"):
        told = json.loads(bucket.root.joinpath(lock_key("network")).read_bytes())
    told["Created"] = LOCKED_AT
    bucket.put(lock_key("network"), json.dumps(told).encode(), if_match=ANY)
