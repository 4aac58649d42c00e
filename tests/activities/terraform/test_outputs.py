"""A module's outputs: complete in the store, without sensitive values in results."""

import json

import pytest

from activities.plans.outputs import as_sent
from activities.secrets.masking import MASK, Mask
from activities.terraform.outputs import read_outputs
from contracts.errors import EngineFailed
from store.install_records import Output

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
