"""A module's outputs: whole in the store, without what is sensitive on the wire."""

import json

import pytest

from activities.secrets.masking import MASK, Mask
from activities.terraform.outputs import LARGEST_SENT_BYTES, as_sent, read_outputs, sent_bytes
from contracts.errors import EngineFailed
from store.install_state import Output

PRINTED = {
    "id": {"sensitive": False, "type": "string", "value": "vpc-1"},
    "password": {"sensitive": True, "type": "string", "value": "hunter2hunter2"},
    "url": {"sensitive": False, "type": "string", "value": "https://x:hunter2hunter2@db"},
    "ports": {"sensitive": False, "type": ["list", "number"], "value": [80, 443]},
    "none": {"sensitive": False, "type": "dynamic", "value": None},
}


def test_all_are_kept_and_only_what_is_not_sensitive_is_sent() -> None:
    outputs = read_outputs(json.dumps(PRINTED).encode())
    assert outputs["password"] == Output(value="hunter2hunter2", sensitive=True)
    assert outputs["ports"].value == [80, 443]
    sent = as_sent(outputs, Mask.of(["hunter2hunter2"]))
    assert sent.sensitive == ["password"]
    assert sent.values == {
        "id": "vpc-1", "url": f"https://x:{MASK}@db", "ports": [80, 443], "none": None,
    }  # fmt: skip
    assert "hunter2" not in sent.model_dump_json()
    assert "hunter2" not in repr(outputs), "nor in a log"


def test_no_outputs() -> None:
    assert as_sent(read_outputs(b"{}"), Mask.of([])).values == {}


@pytest.mark.parametrize("printed", [b"", b"[]", b'{"a": 1}', b'{"a": {"value": 1}}', b"\xff"])
def test_what_is_not_understood_is_an_engine_failure(printed: bytes) -> None:
    with pytest.raises(EngineFailed, match="terraform output -json"):
        read_outputs(printed)


def test_what_is_too_large_to_travel_is_named() -> None:
    outputs = {
        "large": Output(value="x" * LARGEST_SENT_BYTES),
        "small": Output(value="y"),
        "middle": Output(value={"list": ["z" * 1000] * 20}),
    }
    sent = as_sent(outputs, Mask.of([]))
    assert list(sent.values) == ["small", "middle"]
    assert sent.omitted == ["large"]
    assert as_sent(outputs, Mask.of([]), 100).omitted == ["large", "middle"]
    assert as_sent(outputs, Mask.of([]), 0).values == {}
    assert sent_bytes(sent) <= LARGEST_SENT_BYTES


def test_many_names_are_counted() -> None:
    hidden = {f"secret_{number:05}": Output(value="s", sensitive=True) for number in range(9999)}
    many = {f"output_{number:05}": Output(value="o" * 30) for number in range(9999)}
    sent = as_sent({**hidden, **many}, Mask.of([]))
    assert len(sent.model_dump_json()) < LARGEST_SENT_BYTES + 10_000
    assert sent.sensitive[0] == "secret_00000"
    assert sent.sensitive[-1] == f"… and {9999 - len(sent.sensitive) + 1} more"
    assert sent.omitted[-1].endswith(" more")
