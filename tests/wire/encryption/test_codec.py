"""The codec and the keys: who can read what, and what is refused."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.api.common.v1 import Payload
from temporalio.converter import ActivitySerializationContext, WorkflowSerializationContext

from contracts.deploys import DeployInput, Plan, PlanInput
from contracts.errors import BadInput, KeyMissing, PayloadRefused
from wire.conversion import data_converter, encrypting
from wire.encryption.codec import KEY_ID, PLACE, SUBJECT, Encryption
from wire.encryption.key_files import KeyFileError
from wire.encryption.key_ring import KeyRing, master_ring, worker_ring
from wire.encryption.keys import MasterKeys, WorkerKeys
from wire.encryption.subjects import ACCESS, BUILD, ORG, subject_of
from wire.encryption.unreadable import ENCRYPTED, Refused, is_unreadable
from wire.faults import Unreadable

MASTER = MasterKeys.new()
ACME = MASTER.for_subject("dev", "install/acme")
PLAIN = Payload(metadata={"encoding": b"json/plain"}, data=b'{"a": 1}')
CONVERTER = data_converter.payload_converter


def workflow(id: str, namespace: str = "dev") -> WorkflowSerializationContext:
    return WorkflowSerializationContext(namespace=namespace, workflow_id=id)


def activity(queue: str | None, workflow_id: str | None) -> ActivitySerializationContext:
    return ActivitySerializationContext(
        namespace="dev", activity_id="1", activity_type="x", activity_task_queue=queue,
        workflow_id=workflow_id, workflow_type="X", is_local=False,
    )  # fmt: skip


def control(context: Any = None, keys: MasterKeys = MASTER) -> Encryption:
    codec = Encryption(KeyRing(keys), "dev")
    return codec.with_context(context) if context else codec


def worker(keys: WorkerKeys = ACME) -> Encryption:
    return Encryption(KeyRing(keys), "dev").with_context(activity("install.acme", "deploy/acme/1"))


def refusal(payload: Payload) -> str:
    assert is_unreadable(payload)
    kind, _ = json.loads(payload.data)
    return str(kind)


payloads = st.builds(
    Payload,
    metadata=st.dictionaries(st.text(max_size=9), st.binary(max_size=9), max_size=3),
    data=st.binary(max_size=300),
)


@given(payload=payloads)
def test_the_control_side_and_the_worker_read_each_others_payloads(payload: Payload) -> None:
    there = control(activity("install.acme", "deploy/acme/1")).encrypt(payload)
    assert worker().decrypt(there) == payload
    back = worker().encrypt(payload)
    assert control(workflow("deploy/acme/1")).decrypt(back) == payload
    assert back != worker().encrypt(payload), "each has a nonce of its own"
    if len(payload.data) > 6:
        assert payload.data not in there.data + back.data


@given(data=st.binary(min_size=1, max_size=60), at=st.integers(0), bit=st.integers(0, 7))
def test_a_changed_bit_is_refused(data: bytes, at: int, bit: int) -> None:
    sealed = worker().encrypt(Payload(data=data))
    changed = bytearray(sealed.data)
    changed[at % len(changed)] ^= 1 << bit
    sealed.data = bytes(changed)
    assert refusal(worker().decrypt(sealed)) == "PayloadRefused"


@given(length=st.integers(0, 40))
def test_a_cut_payload_is_refused(length: int) -> None:
    sealed = worker().encrypt(Payload(data=b"x" * 40))
    sealed.data = sealed.data[:length]
    assert refusal(worker().decrypt(sealed)) == "PayloadRefused"


@pytest.mark.parametrize("subject", ["install/other", "app/acme", ORG, "", "install/acme\0"])
def test_what_names_another_subject_is_refused(subject: str) -> None:
    sealed = worker().encrypt(PLAIN)
    sealed.metadata[SUBJECT] = subject.encode()
    assert refusal(worker().decrypt(sealed)) == "PayloadRefused"
    assert refusal(control(workflow("deploy/acme/1")).decrypt(sealed)) == "PayloadRefused"


def test_the_payload_of_another_install_is_refused() -> None:
    others = control(workflow("deploy/other/1")).encrypt(PLAIN)
    assert others.metadata[SUBJECT] == b"install/other"
    assert refusal(worker().decrypt(others)) == "PayloadRefused"
    assert refusal(control(workflow("deploy/acme/1")).decrypt(others)) == "PayloadRefused"
    assert control().decrypt(others) == PLAIN, (
        "where it is not known whose it is, it says so itself"
    )


def test_neither_namespace_nor_master_key_can_be_another() -> None:
    sealed = control(workflow("deploy/acme/1")).encrypt(PLAIN)
    elsewhere = control(workflow("deploy/acme/1", namespace="other"))
    assert refusal(elsewhere.decrypt(sealed)) == "PayloadRefused"
    stranger = MasterKeys(
        current=MASTER.current, keys={MASTER.current: MasterKeys.new().keys.popitem()[1]}
    )
    assert refusal(control(keys=stranger).decrypt(sealed)) == "PayloadRefused"


def test_plain_payloads_are_for_the_control_side_alone() -> None:
    assert control(workflow("deploy/acme/1")).decrypt(PLAIN) == PLAIN
    assert refusal(worker().decrypt(PLAIN)) == "PayloadRefused"


@pytest.mark.parametrize("queue", ["install.acme", "build", None])
def test_no_worker_answers_in_plain_text(queue: str | None) -> None:
    """A gateway's host has no key, and must not be able to answer in a worker's name."""
    there = activity(queue, "deploy/acme/1" if queue else None)
    assert refusal(control(there).decrypt(PLAIN)) == "PayloadRefused"
    ours = activity("control", "deploy/acme/1")
    assert control(ours).decrypt(PLAIN) == PLAIN, "a person may have sent it"


def plain(value: object) -> Payload:
    return Payload(metadata={"encoding": b"json/plain"}, data=json.dumps(value).encode())


NOT_STARTED = plain("ACTIVITY_ID_NOT_STARTED")


@pytest.mark.parametrize("queue", ["install.acme", "build"])
async def test_what_temporal_says_of_a_cancel_is_read_and_is_no_result(queue: str) -> None:
    """The server has no key. In the details of a failure, its text is not worth forging."""
    there = activity(queue, "deploy/acme/1")
    converter = encrypting(KeyRing(MASTER), "dev").with_context(there)
    assert await converter.decode([NOT_STARTED]) == ["ACTIVITY_ID_NOT_STARTED"]
    for result in (Plan, dict, str):
        with pytest.raises(Unreadable, match="Look at the gateways"):
            await converter.decode([NOT_STARTED], [result])
    assert refusal(worker().decrypt(NOT_STARTED)) == "PayloadRefused", "no worker is told so"


@pytest.mark.parametrize(
    "almost",
    [
        plain("ACTIVITY_ID_NOT_STARTED "),
        plain("a reason"),
        plain(["ACTIVITY_ID_NOT_STARTED"]),
        Payload(data=NOT_STARTED.data),
        Payload(metadata={"encoding": b"json/protobuf"}, data=NOT_STARTED.data),
        Payload(metadata={**NOT_STARTED.metadata, "more": b""}, data=NOT_STARTED.data),
        Payload(metadata={"encoding": b"exclave/server-words"}, data=NOT_STARTED.data),
    ],
)
def test_only_exactly_what_temporal_says_passes(almost: Payload) -> None:
    assert refusal(control(activity("install.acme", "deploy/acme/1")).decrypt(almost))


@pytest.mark.parametrize("queue", ["install.acme", None])
async def test_temporal_states_why_a_standalone_activity_was_cancelled(
    queue: str | None,
) -> None:
    """The reason may be any text, and is never the activity's result."""
    there = activity(queue, None)
    converter = encrypting(KeyRing(MASTER), "dev").with_context(there)
    assert await converter.decode([plain("not needed")]) == ["not needed"]
    with pytest.raises(Unreadable, match="Look at the gateways"):
        await converter.decode([plain("not needed")], [str])
    for other in (PLAIN, plain(["x"]), Payload(metadata=PLAIN.metadata, data=b'"x')):
        assert refusal(control(there).decrypt(other)) == "PayloadRefused"


def at(type_: str, workflow_id: str = "deploy/acme/1") -> ActivitySerializationContext:
    return dataclasses.replace(activity("install.acme", workflow_id), activity_type=type_)


def test_an_answer_is_of_one_activity_of_one_workflow() -> None:
    """A gateway's host sees encrypted answers, and must not be able to swap them."""
    plain = Encryption(KeyRing(ACME), "dev")
    answer = plain.with_context(at("terraform.apply")).encrypt(PLAIN)
    assert control(at("terraform.apply")).decrypt(answer) == PLAIN
    for elsewhere in (at("terraform.plan"), at("terraform.apply", "deploy/acme/2")):
        assert refusal(control(elsewhere).decrypt(answer)) == "PayloadRefused"
    moved = Payload()
    moved.CopyFrom(answer)
    moved.metadata[PLACE] = b"terraform.plan of deploy/acme/1, answered"
    assert refusal(control(at("terraform.plan")).decrypt(moved)) == "PayloadRefused"
    del moved.metadata[PLACE]
    assert refusal(control(at("terraform.apply")).decrypt(moved)) == "PayloadRefused"
    assert refusal(control().decrypt(moved)) == "PayloadRefused"
    assert control().decrypt(answer) == PLAIN, "whoever looks at a history sees it"


def test_an_answer_of_a_build_worker_is_of_one_build() -> None:
    """It builds many apps with one key, so answers of different builds must not be exchangeable."""

    def assembling(build: str) -> ActivitySerializationContext:
        return dataclasses.replace(activity("build", build), activity_type="build.assemble")

    keys = KeyRing(MASTER.for_subject("dev", BUILD))
    answer = Encryption(keys, "dev").with_context(assembling("build/shop/1")).encrypt(PLAIN)
    assert control(assembling("build/shop/1")).decrypt(answer) == PLAIN
    for other in ("build/shop/2", "build/other/1"):
        assert refusal(control(assembling(other)).decrypt(answer)) == "PayloadRefused"


def test_a_workers_input_is_not_an_answer() -> None:
    """Otherwise, the input of an apply would pass as its answer."""
    request = control(at("terraform.apply")).encrypt(PLAIN)
    assert refusal(control(at("terraform.apply")).decrypt(request)) == "PayloadRefused"
    of_workflow = control(workflow("deploy/acme/1")).encrypt(PLAIN)
    assert refusal(control(at("terraform.apply")).decrypt(of_workflow)) == "PayloadRefused"
    here = Encryption(KeyRing(ACME), "dev").with_context(at("terraform.apply"))
    assert here.decrypt(request) == PLAIN
    assert here.decrypt(here.encrypt(PLAIN)) == PLAIN, "its own heartbeat, at the next attempt"
    assert refusal(here.decrypt(of_workflow)) == "PayloadRefused"


def alone(install: str = "acme", type_: str = "plan.view", id: str = "1") -> Any:
    there = activity(f"install.{install}", None)
    return dataclasses.replace(there, activity_type=type_, activity_id=id)


def test_what_one_asks_of_an_install_by_itself_is_answered_by_that_install() -> None:
    there = Encryption(KeyRing(ACME), "dev")
    answer = there.with_context(alone()).encrypt(PLAIN)
    assert control(alone()).decrypt(answer) == PLAIN
    # Another install's answer, another question's, an earlier one's, and the question itself.
    for elsewhere in (alone("other"), alone(type_="operation.log"), alone(id="2")):
        assert refusal(control(elsewhere).decrypt(answer)) == "PayloadRefused"
    request = control(alone()).encrypt(PLAIN)
    assert there.with_context(alone()).decrypt(request) == PLAIN
    assert refusal(control(alone()).decrypt(request)) == "PayloadRefused"
    # It is read by clients who know only the id.
    assert control(activity(None, None)).decrypt(answer) == PLAIN


def test_what_older_workers_and_commands_say_without_a_name_is_read() -> None:
    there = Encryption(KeyRing(ACME), "dev")
    nameless = there.encrypt(PLAIN)
    assert control(alone()).decrypt(nameless) == PLAIN
    assert refusal(control(alone("other")).decrypt(nameless)) == "PayloadRefused"
    # They do state the subject, since they know the queue.
    request = control(workflow("deploy/acme/1")).encrypt(PLAIN)
    assert there.with_context(alone()).decrypt(request) == PLAIN
    answer = there.with_context(at("plan.view")).encrypt(PLAIN)
    assert refusal(control(alone()).decrypt(answer)) == "PayloadRefused"
    other = Encryption(KeyRing(ACME), "dev").with_context(at("terraform.plan"))
    assert refusal(other.decrypt(request)) == "PayloadRefused"


def test_what_came_through_the_codec_server_is_read_on_the_control_side_alone() -> None:
    sent = control().encrypt(PLAIN)
    assert sent.metadata[SUBJECT] == ORG.encode()
    assert control(workflow("deploy/acme/1")).decrypt(sent) == PLAIN
    assert refusal(worker().decrypt(sent)) == "PayloadRefused"


def test_rotation() -> None:
    old = worker().encrypt(PLAIN)
    added = MASTER.with_new_key()
    (new_id,) = added.keys.keys() - MASTER.keys.keys()
    assert control(keys=added).encrypt(PLAIN).metadata[KEY_ID] == MASTER.current.encode()
    rotated = added.using(new_id)
    new = control(activity("install.acme", "deploy/acme/1"), rotated).encrypt(PLAIN)
    assert new.metadata[KEY_ID] == new_id.encode()
    informed = worker(rotated.for_subject("dev", "install/acme"))
    assert [informed.decrypt(one) for one in (old, new)] == [PLAIN, PLAIN]
    assert control(keys=rotated).decrypt(old) == PLAIN
    assert refusal(worker().decrypt(new)) == "KeyMissing", "it may come yet"
    with pytest.raises(KeyFileError, match="there is no key other"):
        rotated.using("other")


def test_a_worker_encrypts_for_nobody_else() -> None:
    codec = Encryption(KeyRing(ACME), "dev").with_context(workflow("deploy/other/1"))
    with pytest.raises(KeyMissing):
        codec.encrypt(PLAIN)


@pytest.mark.parametrize(
    ("context", "subject"),
    [
        (workflow("install/acme"), "install/acme"),
        (workflow("deploy/acme/7"), "install/acme"),
        (workflow("action/acme/nightly-2026-01-01T00:00:00Z"), "install/acme"),
        (workflow("build/shop/1"), "app/shop"),
        (workflow("rollout/shop/1"), "app/shop"),
        (workflow("access/dev"), ACCESS),
        (workflow("alone"), ORG),
        (workflow("deploy/NO NAME/1"), ORG),
        (activity("install.acme", "rollout/shop/1"), "install/acme"),
        (activity("control", "deploy/acme/7"), "install/acme"),
        (activity("build", "build/shop/1"), "build"),
        (activity("install.acme", None), "install/acme"),
        (activity("install.acme", ""), "install/acme"),
        (activity("install.", "deploy/acme/7"), "install/acme"),
        (activity("control", None), ORG),
        (activity(None, None), None),
        (None, None),
    ],
)
def test_whose_a_payload_is(context: Any, subject: str | None) -> None:
    assert subject_of(context) == subject


async def test_a_refused_payload_is_refused_where_it_is_read() -> None:
    tampered = Payload(metadata={"encoding": ENCRYPTED, SUBJECT: b"install/acme"}, data=b"")
    tampered.metadata[KEY_ID] = MASTER.current.encode()
    converter = encrypting(KeyRing(MASTER), "dev").with_context(workflow("deploy/acme/1"))
    with pytest.raises(BadInput, match="altered"):
        await converter.decode([tampered], [DeployInput])
    with pytest.raises(Unreadable, match="altered"):
        await converter.decode([tampered], [dict])
    tampered.metadata[KEY_ID] = b"later"
    with pytest.raises(Unreadable, match="not given"):
        await converter.decode([tampered], [DeployInput])
    [argument] = await encrypting(KeyRing(ACME), "dev").decode([PLAIN], [PlanInput])
    assert isinstance(argument, Refused)
    assert isinstance(argument.error, PayloadRefused)
    assert argument.error.non_retryable


async def test_without_keys_nothing_is_different_but_what_is_encrypted() -> None:
    assert encrypting(None, "dev") is data_converter
    sealed = worker().encrypt(PLAIN)
    with pytest.raises(Unreadable, match="EXCLAVE_KEYS"):
        CONVERTER.from_payload(sealed, DeployInput)
    argument = CONVERTER.from_payload(sealed, PlanInput)
    assert isinstance(argument, Refused)
    assert isinstance(argument.error, KeyMissing)


def test_keys_are_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    MASTER.write(path)
    stored = json.loads(path.read_text())["keys"][MASTER.current]
    shown = f"{MASTER!r} {MASTER} {ACME!r} {KeyRing(MASTER)!r} {MASTER.newest('dev', ORG)!r}"
    assert stored not in shown
    assert path.stat().st_mode & 0o777 == 0o600
    assert MasterKeys.read(path) == MASTER
    with pytest.raises(KeyFileError, match="is there already"):
        MASTER.write(path)
    # Errors about a broken file contain nothing of it.
    content = json.loads(path.read_text())
    content["keys"]["short"] = "c2hvcnQtc2VjcmV0"
    path.write_text(json.dumps(content))
    with pytest.raises(KeyFileError, match="the key short is not 32 bytes") as caught:
        MasterKeys.read(path)
    assert "c2hvcnQ" not in str(caught.value)
    assert stored not in str(caught.value)
    with pytest.raises(KeyFileError, match="is not a file of worker keys"):
        WorkerKeys.read(path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_reach_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "keys.json"
    MASTER.write(path)
    path.chmod(mode)
    with pytest.raises(KeyFileError, match="chmod 600"):
        MasterKeys.read(path)


def test_a_worker_is_given_its_own_keys_alone(tmp_path: Path) -> None:
    path = tmp_path / "worker-keys.json"
    ACME.write(path)
    content = json.loads(path.read_text())
    master = json.loads(json.dumps({k: v.get_secret_value() for k, v in MASTER.keys.items()}))
    assert content["subject"] == "install/acme"
    assert content["keys"].keys() == master.keys()
    assert not set(content["keys"].values()) & set(master.values())
    assert WorkerKeys.read(path) == ACME
    path.write_text(json.dumps(content | {"newer": 1}))
    assert WorkerKeys.read(path) == ACME, "a newer control plane may say more"


def test_a_replaced_file_is_read_anew_and_a_broken_one_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "keys.json"
    MASTER.write(path)
    ring = master_ring(path)
    added = MASTER.with_new_key()
    (new_id,) = added.keys.keys() - MASTER.keys.keys()
    assert ring.find("dev", ORG, new_id) is None
    added.using(new_id).write(path, replaces=True)
    found = ring.newest("dev", ORG)
    assert found is not None
    assert found.id == new_id
    draft = tmp_path / "draft"
    draft.write_text("{}")
    draft.chmod(0o600)
    draft.replace(path)
    assert ring.newest("dev", ORG) == found
    assert "the former ones are" in caplog.text
    path.unlink()
    assert ring.newest("dev", ORG) == found
    with pytest.raises(KeyFileError, match="is not there"):
        worker_ring(path)
