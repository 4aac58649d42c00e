"""Plans are understood as Terraform prints them."""

import json
from typing import Any

import pytest

from activities.plans.changes import Changes
from activities.terraform.plan_json import read_changes
from contracts.deploys import ChangeCounts
from contracts.errors import EngineFailed
from tests.activities.terraform.terraform_plans import NAMES, changes, plan


def digest(found: Changes) -> str:
    return found.digest(b"k" * 32, install="acme", component="net", verb="apply")


@pytest.mark.parametrize(
    ("name", "verbs", "counts"),
    [
        ("create", {"db": "create", "net": "create"}, ChangeCounts(create=2, outputs=3)),
        ("update", {"db": "update", "net": "update"}, ChangeCounts(update=2, outputs=2)),
        ("replace", {"db": "replace", "net": "update"},
         ChangeCounts(update=1, replace=1, outputs=2)),
        ("replace_before_destroy", {"app": "replace"}, ChangeCounts(replace=1)),
        ("tainted", {"db": "replace"}, ChangeCounts(replace=1, outputs=1)),
        ("delete", {"db": "delete", "net": "delete"}, ChangeCounts(delete=2, outputs=3)),
        ("deposed", {"app": "delete"}, ChangeCounts(delete=1)),
        ("moved", {"network": "move"}, ChangeCounts(update=1)),
        ("import", {"network": "move", "old": "import"}, ChangeCounts(create=1, update=1)),
        ("forget", {'each["a"]': "delete", 'each["b"]': "delete", "gone": "forget"},
         ChangeCounts(delete=3)),
        ("output_only", {}, ChangeCounts(outputs=1)),
        ("no_changes", {}, ChangeCounts()),
    ],
)  # fmt: skip
def test_what_terraform_prints_is_understood(
    name: str, verbs: dict[str, str], counts: ChangeCounts
) -> None:
    found = changes(name)
    assert {one.address.partition(".")[2]: one.verb for one in found.objects} == verbs
    assert found.counts() == counts
    assert found.empty == (name == "no_changes")


def test_the_particulars_are_read() -> None:
    [deposed] = changes("deposed").objects
    assert (deposed.deposed, deposed.after) == ("1149ce61", None)
    [moved] = changes("moved").objects
    assert moved.previous_address == "terraform_data.net"
    imported = changes("import").objects[1]
    assert imported.importing == '{"id": "5d0c0e3a-1111-2222-3333-444444444444"}'
    [tainted] = changes("tainted").objects
    assert tainted.reason == "replace_because_tainted"
    nested = changes("nested").objects[0]
    assert nested.unknown == {"id": True, "input": {"deep": [{"id": True}]}, "output": True}
    assert nested.after_sensitive == {"input": {"deep": [{"secret": True}]}, "output": {}}
    [_, password, _] = changes("create").outputs
    assert (password.address, password.after_sensitive) == ("password", True)


def test_reading_data_again_changes_nothing() -> None:
    entry = {"address": "data.x.y", "change": {"actions": ["read"], "after_unknown": {"a": True}}}
    assert read_changes(json.dumps({"resource_changes": [entry]}).encode()).empty


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"[]", b'"x"', b'{"resource_changes": [{}]}', b'{"resource_changes": 1}',
        b'{"resource_changes": [{"address": "a", "change": {}}]}', b'{"output_changes": {"a": 1}}',
        b"\xff",
    ],
)  # fmt: skip
def test_what_is_no_plan_is_an_engine_failure(text: bytes) -> None:
    with pytest.raises(EngineFailed, match="terraform show -json"):
        read_changes(text)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_json_does_not_matter(name: str) -> None:
    document = json.loads(plan(name))
    document["timestamp"] = "2030-01-01T00:00:00Z"
    document["resource_changes"].reverse()
    turned = json.dumps(_reversed_keys(document)).encode()
    assert digest(read_changes(turned)) == digest(changes(name))


def _reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed_keys(value[key]) for key in reversed(value)}
    return [_reversed_keys(one) for one in value] if isinstance(value, list) else value


def test_every_plan_has_its_own_digest() -> None:
    assert len({digest(changes(name)) for name in NAMES}) == len(NAMES)


def test_a_plan_that_invokes_actions_is_not_understood() -> None:
    document = json.loads(plan("update"))
    without = read_changes(json.dumps({**document, "action_invocations": []}).encode())
    assert without == read_changes(json.dumps(document).encode())
    with pytest.raises(EngineFailed, match="action_trigger"):
        read_changes(json.dumps({**document, "action_invocations": [{"address": "a"}]}).encode())


def test_what_is_marked_is_no_part_of_a_repr() -> None:
    found = read_changes(plan("update"))
    assert found.secrets
    assert "secrets" not in repr(found)
