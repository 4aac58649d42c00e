"""The JSON Schema of every kind takes what the loader takes, and tells an editor of the rest."""

import json
import re
import tomllib
from typing import Any

import pytest
from jsonschema import Draft7Validator

from apps.config.shape import shape
from apps.reading.kinds import KINDS
from apps.reading.tables import PATTERNS_IN_WORDS
from apps.schema import SCHEMAS, schema
from tests.apps.app_folder import ACTION, DB
from tests.apps.reading.test_every_kind import FILES

OF_FOLDERS = {
    "components": "component", "actions": "action", "runbooks": "runbook", "installs": "install",
}  # fmt: skip


def faults(kind: str, text: str) -> list[str]:
    return [
        error.message for error in Draft7Validator(schema(kind)).iter_errors(tomllib.loads(text))
    ]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_each_is_a_schema_that_says_what_it_is_of(kind: str) -> None:
    found = schema(kind)
    Draft7Validator.check_schema(found)
    assert (found["title"], found["$schema"]) == (kind, "http://json-schema.org/draft-07/schema#")
    for table in [found, *found.get("$defs", {}).values()]:
        if "properties" in table:
            assert table["description"] and table["additionalProperties"] is False


@pytest.mark.parametrize("file", [file for file in FILES if file.endswith(".toml")])
def test_what_the_loader_takes_is_right(file: str) -> None:
    folder = file.split("/", maxsplit=1)[0]
    kind = OF_FOLDERS[folder] if "/" in file else folder.removesuffix(".toml")
    assert faults(kind, FILES[file]) == []


def test_every_kind_has_one() -> None:
    assert {name for name, kind in KINDS.items() if kind.document} <= set(SCHEMAS)


@pytest.mark.parametrize(
    ("kind", "text", "fault"),
    [
        ("action", ACTION.replace("manual", "manul"), "'manul' is not one of"),
        ("action", ACTION.replace("name", "nme", 1), "'name' is a required property"),
        ("action", "odd = 1\n" + ACTION, "'odd' was unexpected"),
        ("terraform_module", DB.replace('"1.11.4"', "1.11"), "1.11 is not of type 'string'"),
        ("metadata", 'version = "v3"', "'v3' is not one of"),
        ("component", 'type = "nothing"', "is not valid under any of the given schemas"),
    ],
)
def test_what_is_wrong_is_told(kind: str, text: str, fault: str) -> None:
    assert any(fault in one for one in faults(kind, text)), faults(kind, text)


def test_keys_say_what_they_mean() -> None:
    timeout = schema("action")["properties"]["timeout"]
    assert timeout["description"].startswith(
        "The timeout of the whole action, as Go writes durations"
    )
    assert timeout["default"] == "5m"
    repo: dict[str, Any] = schema("terraform_module")["properties"]["connected_repo"]
    assert repo == {
        "allOf": [{"$ref": "#/$defs/Source"}],
        "description": "A private repository.",
    }


def test_no_key_is_left_out() -> None:
    for name, kind in KINDS.items():
        if kind.document is not None and name != "sandbox":
            assert set(schema(name)["properties"]) == set(shape(kind.document))


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_pattern_is_told_in_words(kind: str) -> None:
    """Who writes a config need not read regular expressions."""
    patterns = set(re.findall(r'"pattern": "((?:[^"\\\\]|\\\\.)*)"', json.dumps(schema(kind))))
    assert {json.loads(f'"{pattern}"') for pattern in patterns} <= PATTERNS_IN_WORDS.keys()
