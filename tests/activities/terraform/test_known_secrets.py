"""Secrets are found in plans, outputs and the state, wherever Terraform marks them."""

import json
from pathlib import Path
from typing import Any

from activities.secrets.masking import MASK, Mask
from activities.terraform.plan_json import read_changes
from activities.terraform.secrets import KnownSecrets
from activities.terraform.state_file import StateFile
from activities.terraform.state_keys import state_key
from store.folder import FolderStore
from store.install_records import Output
from store.interface import ANY

PLAN = {
    "variables": {"v": {"value": "from-variable"}, "w": {"value": "open-variable"}},
    "configuration": {"root_module": {"variables": {"v": {"sensitive": True}, "w": {}}}},
    "resource_changes": [
        {
            "address": "x.made",
            "change": {
                "actions": ["create"], "before": None, "after": {"name": "open-name"},
                "after_unknown": {"result": True}, "before_sensitive": False,
                "after_sensitive": {"result": True},
            },
        },
        {
            "address": "x.same",
            "change": {
                "actions": ["no-op"], "before": {"l": [{"p": "from-list"}]}, "after": {"l": []},
                "before_sensitive": {"l": [{"p": True}]}, "after_sensitive": {},
            },
        },
    ],
    "output_changes": {
        "o": {
            "actions": ["create"], "before": None, "after": {"deep": "from-output"},
            "before_sensitive": False, "after_sensitive": True,
        }
    },
    "prior_state": {
        "values": {
            "root_module": {
                "child_modules": [
                    {
                        "resources": [
                            {"values": {"s": "from-data"}, "sensitive_values": {"s": True}}
                        ]
                    }
                ]
            }
        }
    },
}  # fmt: skip


def known(tmp_path: Path, state: dict[str, Any] | None = None) -> KnownSecrets:
    store = FolderStore(tmp_path / "store")
    content = json.dumps(state) if state else ""
    store.put(state_key("net"), content.encode(), if_match=ANY)
    return KnownSecrets(Mask.of(["rendered-secret"]), StateFile(store, "net"))


def test_whatever_a_plan_marks(tmp_path: Path) -> None:
    secrets = known(tmp_path)
    secrets.learn_plan(read_changes(json.dumps(PLAN).encode()))
    mask = secrets.mask()
    for one in ("from-variable", "from-list", "from-output", "from-data", "rendered-secret"):
        assert mask.text(f"<{one}>") == f"<{MASK}>"
    assert mask.text("open-variable open-name") == "open-variable open-name"


def test_sensitive_outputs(tmp_path: Path) -> None:
    secrets = known(tmp_path)
    secrets.learn_outputs(
        {"a": Output(value={"k": ["made-now"]}, sensitive=True), "b": Output(value="open-one")}
    )
    assert secrets.mask().text("made-now open-one") == f"{MASK} open-one"


def test_what_the_state_marks_and_what_the_plan_marked_of_it(tmp_path: Path) -> None:
    def path(*names: str) -> list[dict[str, str]]:
        return [{"type": "get_attr", "value": name} for name in names]

    dynamic = {"value": {"p": "in-dynamic", "q": "open-q"}, "type": ["object", {"p": "string"}]}
    secrets = known(
        tmp_path,
        {
            "outputs": {"o": {"value": "state-output", "sensitive": True}},
            "resources": [
                {
                    "mode": "managed", "type": "x", "name": "made",
                    "instances": [
                        {
                            "attributes": {
                                "result": "by-provider", "input": dynamic, "name": "open-name",
                                "whole": {"value": "in-whole", "type": "string"},
                                "items": [{"k": "in-items"}],
                            },
                            "sensitive_attributes": [
                                path("input", "p"), path("whole"), path("gone", "p"),
                                [
                                    *path("items"),
                                    {"type": "index", "value": {"value": 0, "type": "number"}},
                                    *path("k"),
                                ],
                            ],
                        }
                    ],
                }
            ],
        },
    )  # fmt: skip
    mask = secrets.mask()
    for one in ("state-output", "in-dynamic", "in-whole", "in-items"):
        assert mask.text(one) == MASK
    said = "by-provider open-q string open-name"
    assert mask.text(said) == said
    secrets.learn_plan(read_changes(json.dumps(PLAN).encode()))
    assert secrets.mask().text(said) == f"{MASK} open-q string open-name"


def test_a_torn_state_is_not_asked(tmp_path: Path) -> None:
    secrets = known(tmp_path)
    (tmp_path / "store" / state_key("net")).write_text('{"outputs": {')
    assert secrets.mask().text("rendered-secret") == MASK
