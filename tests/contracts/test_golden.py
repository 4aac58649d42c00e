"""JSON of past versions still parses: the other side may be months older.

A file is never changed or removed. A model that gains fields gets a new file in a folder of the
next version; the old one stays.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from contracts.messages import Command, Message
from tests.contracts.contract_models import models

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("*/*.json"))
MODELS = models()


def model_of(path: Path) -> type[BaseModel]:
    return MODELS[path.stem]


def test_every_model_has_a_golden() -> None:
    missing = sorted(MODELS.keys() - {path.stem for path in FILES})
    assert not missing, f"write tests/contracts/golden/v<n>/<Model>.json for {missing}"


def test_no_model_of_a_golden_is_gone() -> None:
    assert {path.stem for path in FILES} <= MODELS.keys()


@pytest.mark.parametrize("name", MODELS)
def test_every_field_stands_in_a_golden(name: str) -> None:
    """Otherwise, a rename of the field would go unnoticed."""
    seen = {key for path in FILES if path.stem == name for key in json.loads(path.read_bytes())}
    assert MODELS[name].model_fields.keys() <= seen


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_it_parses_and_keeps_every_field(path: Path) -> None:
    golden = json.loads(path.read_bytes())
    parsed = model_of(path).model_validate_json(path.read_bytes())
    assert _kept(golden, parsed.model_dump(mode="json"))


def _kept(golden: Any, now: Any) -> bool:
    """Whether everything in the golden is still there; more may have been added."""
    if isinstance(golden, dict):
        return isinstance(now, dict) and all(
            key in now and _kept(value, now[key]) for key, value in golden.items()
        )
    if isinstance(golden, list):
        return (
            isinstance(now, list)
            and len(golden) == len(now)
            and all(_kept(one, other) for one, other in zip(golden, now, strict=True))
        )
    return type(golden) is type(now) and bool(golden == now)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_is_sent_refuses_unknown_keys_and_the_rest_tolerates_them(path: Path) -> None:
    kind = model_of(path)
    newer = json.loads(path.read_bytes()) | {"of_a_newer_version": {"a": 1}}
    if issubclass(kind, Command):
        with pytest.raises(ValueError, match="of_a_newer_version"):
            kind.model_validate(newer)
    else:
        assert issubclass(kind, Message)
        assert kind.model_validate(newer) == kind.model_validate_json(path.read_bytes())


@pytest.mark.parametrize("name", MODELS)
def test_messages_cannot_be_changed(name: str) -> None:
    assert MODELS[name].model_config.get("frozen")
