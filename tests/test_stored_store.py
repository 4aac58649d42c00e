"""The store of a customer whose worker was of an older version reads as it was meant."""

import json
from pathlib import Path

import pytest

from activities.customer.audit_log import kept_head
from activities.customer.gate import was_bound_and_began
from activities.plans.fingerprints import input_fingerprints, part_fingerprint
from activities.plans.plan_store import load_plan, load_record, load_view, sha256
from activities.terraform.backends.registry import backend_of
from activities.terraform.lock_file import load_lock_file
from activities.terraform.locking import StateLocks
from activities.terraform.plan_json import SAVED
from activities.terraform.state_file import StateFile
from activities.terraform.state_keys import kept_key, set_aside_key, state_key
from activities.terraform.values import values_for_teardown
from activities.workplace import Workplace
from apps.graph import Graph
from apps.parts import SANDBOX
from apps.sensitivity import Sensitive
from contracts import deploys
from contracts.errors import StoreBehind
from contracts.names import action_subject
from store.customer import Answer, answered, ask, waiting
from store.install_records import ActionRecord, ActionRun, ComponentRecord, Output
from store.journal import Entry, Failure, Journal, Outcome, Run
from store.known_releases import known_releases
from store.leases import Lease, Leases
from store.turns import TurnIsHeld, check_turn, highest_turn
from tests.activities.terraform.terraform_plans import changes
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
    WHO,
    fake,
)
from tests.stored.workplace import CONFIG, workplace_in
from tests.stored.write_store import (
    APPLY_KEY,
    DENIED,
    ERRORED,
    FAILED_KEY,
    LOCK_FILE,
    OPEN_KEY,
    PLAN_KEY,
    STATE,
    TFPLAN,
    VALUES,
    VIEW,
    WAITING,
    Bucket,
    approved,
)
from tests.stored.write_worker import applied


@pytest.fixture
def workplace(stored: Path) -> Workplace:
    return workplace_in(stored)


def test_the_app_its_releases_and_the_revision(workplace: Workplace) -> None:
    state = workplace.state
    assert state.app() == APP
    deployed, provisioned = state.deployed(), state.provisioned()
    assert deployed is not None and (deployed.app, deployed.release) == (APP, RELEASE)
    assert provisioned is not None
    assert (provisioned.app, provisioned.release) == (APP, OLDER_RELEASE)
    assert known_releases(workplace.store, state) == {RELEASE, OLDER_RELEASE}
    assert state.revision() == 8
    state.require_revision(8)
    with pytest.raises(StoreBehind):
        state.require_revision(9)


def test_inputs(workplace: Workplace) -> None:
    assert workplace.state.inputs(CONFIG) == {"region": "here", "license": Sensitive(LICENSE)}
    found = json.loads((workplace.data.parent / "store/inputs/current.json").read_bytes())
    assert deploys.Inputs.model_validate(found) == deploys.Inputs(
        revision=3, values={"region": "here", "size": "small"}, base=1, removed=["zone"]
    )
    # What the store has stays: the revision is the one that it knows.
    workplace.state.update_inputs(deploys.Inputs(revision=3, values={"region": "elsewhere"}))
    assert workplace.state.inputs(CONFIG)["region"] == "here"


def test_what_is_deployed(workplace: Workplace) -> None:
    state = workplace.state
    network = state.component("network")
    assert network is not None
    assert network.model_dump(exclude={"config", "inputs"}) == {
        "component": "network",
        "type": "terraform_module",
        "status": "done",
        "app": APP,
        "release": RELEASE,
        "artifact": ARTIFACT,
        "generation": APPLY_KEY,
        "built_on": {SANDBOX: "run-0/_sandbox/apply/2"},
        "dependencies": ["ground"],
        "var_name": "net",
        "outputs": {
            "id": {"value": "net-here", "sensitive": False},
            "ports": {"value": [80, {"tls": 443}], "sensitive": False},
            "key": {"value": "fake-output-0000", "sensitive": True},
        },
    }
    assert {name: one.status for name, one in state.components().items()} == {
        "network": "done",
        "api": "applying",
    }
    base = {"app": APP, "release": RELEASE, "artifact": ARTIFACT, "config": ARTIFACT}
    assert state.component(SANDBOX) == ComponentRecord.model_validate(
        {**base, "component": SANDBOX, "type": "sandbox", "status": "done"}
    )


def test_nothing_is_planned_anew_because_the_worker_is_a_newer_one(workplace: Workplace) -> None:
    state, module = workplace.state, CONFIG.components[0]
    record = state.component("network")
    assert record is not None and module.type == "terraform_module"
    assert record.config == part_fingerprint(module)
    assert state.digest_key() == fake()
    assert record.inputs.keys() == {"region"}
    assert record.inputs == input_fingerprints(
        Graph(CONFIG), "network", state.inputs(CONFIG), state.digest_key()
    )


def test_actions(workplace: Workplace) -> None:
    state = workplace.state
    outputs = {"checked": Output(value=True), "token": Output(value="fake-token", sensitive=True)}
    done = ActionRecord(action="health", status="done", outputs=outputs)
    assert state.action("health") == done
    runs = {run: state.action_run("health", run) for run in ("run-2", "run-3")}
    common = {"action": "health", "outputs": outputs, "begun": AT, "sent": {"look": 18}}
    assert runs == {
        run: ActionRun.model_validate({**common, "run": run, "status": status})
        for run, status in (("run-2", "done"), ("run-3", "running"))
    }


def test_what_must_not_be_shown(workplace: Workplace) -> None:
    assert workplace.state.secrets_of_any_release() == ["fake-output-0000", "fake-token", LICENSE]


def test_operations_and_what_came_of_them(workplace: Workplace) -> None:
    journal = Journal(workplace.store)
    assert sorted(journal.all_operations()) == sorted([PLAN_KEY, APPLY_KEY, FAILED_KEY, OPEN_KEY])
    assert sorted(journal.operations("run-1")) == sorted([PLAN_KEY, APPLY_KEY, FAILED_KEY])
    planned = {"digest": "sha256:" + "d" * 64, "empty": False}
    assert journal.entry(PLAN_KEY) == Entry(
        attempts=2,
        runs=(
            Run(1, "plan", MACHINE.id, AT, WHO),
            Run(2, "again", OTHER_MACHINE.id, AT, WHO),
        ),
        outcome=Outcome(result=planned),
        newest_attempt_at=AT,
        outcome_at=AT,
        bound_to=None,
    )
    failure = Failure("EngineFailed", "api: terraform apply failed.")
    assert journal.outcome(FAILED_KEY) == Outcome(failure=failure)
    assert journal.entry(OPEN_KEY) == Entry(1, (), None, AT, None, None)
    # The script that the key stands for, whichever is asked for now.
    assert journal.script(OPEN_KEY, "sha256:another") == ARTIFACT


def test_what_a_key_is_bound_to(workplace: Workplace) -> None:
    entry = Journal(workplace.store).entry(APPLY_KEY)
    assert entry is not None
    assert entry.bound_to == {
        "activity": deploys.TERRAFORM_APPLY.name,
        "app": APP,
        "release": RELEASE,
        "component": "network",
        "plan_key": PLAN_KEY,
        "digest": approved(workplace.store).digest,
        "teardown": False,
    }
    input = applied(workplace)
    assert was_bound_and_began(workplace.store, deploys.TERRAFORM_APPLY.name, input)
    other = input.model_copy(update={"digest": "sha256:" + "0" * 64})
    assert not was_bound_and_began(workplace.store, deploys.TERRAFORM_APPLY.name, other)


def test_what_a_worker_allowed_that_bound_no_keys(workplace: Workplace, stored: Path) -> None:
    file = stored / f"store/journals/{APPLY_KEY}.json"
    document = json.loads(file.read_bytes())
    del document["let_in"]
    file.write_text(json.dumps(document))
    input = applied(workplace)
    assert was_bound_and_began(workplace.store, deploys.TERRAFORM_APPLY.name, input)
    other = input.model_copy(update={"digest": "sha256:" + "0" * 64})
    assert not was_bound_and_began(workplace.store, deploys.TERRAFORM_APPLY.name, other)


def test_the_turn(workplace: Workplace) -> None:
    assert highest_turn(workplace.store) == 7
    check_turn(workplace.store, 7, "deploy/acme/7")
    for number, run in ((6, "deploy/acme/7"), (7, "deploy/acme/another")):
        with pytest.raises(TurnIsHeld, match=r"turn is 7 of deploy/acme/7"):
            check_turn(workplace.store, number, run)


def test_a_lease_keeps_other_machines_away(workplace: Workplace) -> None:
    held = Lease(APPLY_KEY, MACHINE.id, MACHINE.boot, expires_at=AT + 90, since=AT)
    other = Leases(workplace.store, OTHER_MACHINE, lambda: AT)
    of_action = Lease(OPEN_KEY, MACHINE.id, MACHINE.boot, expires_at=AT + 90, since=AT)
    assert other.others() == {"network": held, action_subject("health"): of_action}
    assert other.acquire("network", "run-9/network/apply/1") == held
    own = Leases(workplace.store, MACHINE, lambda: AT + 10)
    assert own.renew("network").since == AT


def test_a_plan_is_what_was_approved(workplace: Workplace) -> None:
    store = workplace.store
    plan = load_plan(store, PLAN_KEY, SAVED)
    assert plan.file == TFPLAN
    assert plan.changes == changes("create_app")
    assert load_lock_file(store, PLAN_KEY) == LOCK_FILE
    record = load_record(store, PLAN_KEY)
    assert record is not None and load_view(store, PLAN_KEY) == (record, VIEW)
    key = workplace.state.digest_key()
    digests = VALUES.digests(key, "network")
    assert record.model_dump() == {
        "component": "network",
        "digest": plan.changes.digest(key, install=INSTALL, component="network", verb="apply"),
        "teardown": False,
        "plan_file": sha256(TFPLAN),
        "tool": "terraform 1.11.4 linux_amd64",
        "providers": sha256(LOCK_FILE),
        "state": "none",
        "app": APP,
        "release": RELEASE,
        "artifact": ARTIFACT,
        "variables": digests.variables,
        "environment": digests.environment,
    }


def test_questions_to_the_customer_and_their_answers(workplace: Workplace) -> None:
    store = workplace.store
    assert waiting(store) == [WAITING]
    assert answered(store, WAITING) is None
    asked = approved(store)
    assert answered(store, asked) == Answer("approved", "root@machine-1", AT)
    assert ask(store, asked) == Answer("approved", "root@machine-1", AT)
    assert answered(store, DENIED) == Answer("denied", "root@machine-1", AT, "not today")


def test_how_far_the_workers_journal_had_come(workplace: Workplace) -> None:
    head = kept_head(workplace.store, MACHINE.id)
    assert head is not None
    assert head.number == 4
    assert head.hash.startswith("sha256:")


def test_the_values_that_a_part_is_torn_down_with(workplace: Workplace) -> None:
    module = CONFIG.components[0]
    assert module.type == "terraform_module"
    found = values_for_teardown(workplace, CONFIG, module, applied(workplace))
    assert found.variables == VALUES.variables
    assert found.files == VALUES.files
    assert found.environment == VALUES.environment
    assert LICENSE in found.secrets


def test_terraforms_state_and_the_copies_of_it(workplace: Workplace) -> None:
    store, state = workplace.store, StateFile(workplace.store, "network")
    assert state.content() == ERRORED
    for key in (kept_key("network"), set_aside_key("network")):
        found = store.get(key)
        assert found is not None and found.data == STATE
    # So what is torn is put back from that copy.
    store.put(state_key("network"), b"", if_match=state_etag(workplace))
    assert state.restore(workplace.data / "none")
    assert state.content() == STATE


def state_etag(workplace: Workplace) -> str:
    found = workplace.store.get(state_key("network"))
    assert found is not None
    return found.etag


def test_a_lock_that_a_killed_worker_left_on_a_state(workplace: Workplace, stored: Path) -> None:
    bucket = Bucket(stored / "store")
    lock = backend_of(bucket, "network").read_lock()
    assert lock is not None
    assert (lock.who, lock.operation) == (WHO, "errored-state")
    assert lock.created == AT + 0.25
    assert lock.info.startswith(f"exclave {MACHINE.id}: ")
    locks = StateLocks.of(bucket, "network", stored, MACHINE, workplace.data)
    assert locks.proof_of_origin(lock), "it may be broken"
