"""Models as plain JSON, and bad input from people as `BadInput`."""

import json
from typing import Any

import pytest
from pydantic import ValidationError
from temporalio.api.common.v1 import Payload

from contracts.deploys import DeployInput, Grant, Inputs
from contracts.errors import BadInput
from contracts.installs import DeployRequest, InstallInput, SetInputs
from contracts.messages import Turn
from wire.conversion import data_converter

RELEASE = "sha256:" + "1" * 64
CONVERTER = data_converter.payload_converter


def decode(value: Any, kind: type) -> Any:
    payload = Payload(metadata={"encoding": b"json/plain"}, data=json.dumps(value).encode())
    return CONVERTER.from_payload(payload, kind)


def refused(value: Any, kind: type) -> str:
    with pytest.raises(BadInput) as caught:
        decode(value, kind)
    assert caught.value.non_retryable
    assert caught.value.__cause__ is None
    return caught.value.message


def test_a_wrong_key_is_named_with_the_right_one() -> None:
    message = refused({"install": "acme", "relaese": RELEASE}, DeployInput)
    assert message.startswith("The input does not fit DeployInput: ")
    assert "relaese: unknown key, did you mean `release`?" in message
    assert "release: Field required" in message
    assert "It has: install, release, grant (optional)." in message


def test_a_question_ends_a_sentence() -> None:
    message = refused({"install": "acme", "release": RELEASE, "grnat": 1}, DeployInput)
    assert "did you mean" in message
    assert "?." not in message


def test_a_key_that_is_like_none_is_named_alone() -> None:
    message = refused({"release": RELEASE, "zzz": 1}, DeployRequest)
    assert "zzz: unknown key; " in message or "zzz: unknown key. " in message
    assert "did you mean" not in message


def test_a_nested_key_is_named_with_its_path() -> None:
    message = refused({"values": {"zone": 7}}, SetInputs)
    assert "values.zone: " in message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"release": 7}, "release: Input should be a valid string"),
        ({"release": "latest"}, "release: String should match pattern"),
        ({}, "release: Field required"),
        ([], "the input: "),
        ("x", "the input: "),
        (None, "the input: "),
        (7, "the input: "),
    ],
)
def test_wrong_types_are_reported_with_the_accepted_keys(value: Any, expected: str) -> None:
    message = refused(value, DeployRequest)
    assert expected in message
    assert message.endswith("It has: release.")


def test_a_value_is_not_repeated() -> None:
    assert "hunter2" not in refused({"values": {"license": ["hunter2"]}}, SetInputs)
    assert "hunter2" not in refused({"release": "hunter2"}, DeployRequest)


def test_what_is_no_json_is_refused_too() -> None:
    payload = Payload(metadata={"encoding": b"json/plain"}, data=b"{release:")
    with pytest.raises(BadInput):
        CONVERTER.from_payload(payload, DeployRequest)


def test_a_message_within_a_command_tolerates_unknown_keys() -> None:
    turn = {"number": 1, "workflow_id": "deploy/acme/1", "newer": True}
    value = {"install": "acme", "release": RELEASE, "grant": {"turn": turn, "app": "shop", "x": 1}}
    assert decode(value, DeployInput).grant == Grant(
        turn=Turn(number=1, workflow_id="deploy/acme/1"), app="shop"
    )


def test_a_message_tolerates_unknown_keys() -> None:
    assert decode({"revision": 3, "values": {}, "newer": [1]}, Inputs) == Inputs(revision=3)


@pytest.mark.parametrize("value", [{"number": "x", "workflow_id": "a"}, {}, [], None])
def test_a_message_that_does_not_validate_stays_a_fault_of_ours(value: Any) -> None:
    with pytest.raises(ValidationError):
        decode(value, Turn)


@pytest.mark.parametrize(
    "model",
    [
        DeployInput(
            install="acme",
            release=RELEASE,
            grant=Grant(
                turn=Turn(number=2**53 + 1, workflow_id="deploy/acme/1"),
                app="shop",
                inputs=Inputs(revision=1, values={"zone": 'ü"\n'}),
            ),
        ),
        InstallInput(install="acme", app="shop"),
        SetInputs(values={"a": None, "b": ""}),
    ],
)
def test_round_trip(model: Any) -> None:
    payload = CONVERTER.to_payload(model)
    assert payload.metadata["encoding"] == b"json/plain", "the command line and the UI can read it"
    assert json.loads(payload.data) == model.model_dump(mode="json")
    assert CONVERTER.from_payload(payload, type(model)) == model


async def test_several_values_and_none() -> None:
    values = [Turn(number=1, workflow_id="a"), None, "text", b"bytes", {"a": [1]}]
    payloads = await data_converter.encode(values)
    kinds: list[type] = [Turn, type(None), str, bytes, dict]
    assert await data_converter.decode(payloads, kinds) == values
