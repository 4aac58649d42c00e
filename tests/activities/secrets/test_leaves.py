"""What is secret within a secret, and what is not."""

import base64
import json

import pytest

from activities.secrets.masking import MASK, Mask

CREDENTIALS = {"user": "shop-user", "password": "pa55-of-shop", "port": 5432, "tls": True}


@pytest.mark.parametrize(
    "secret",
    [
        json.dumps(CREDENTIALS),
        json.dumps({"deep": [json.dumps(CREDENTIALS)]}),
        "user: shop-user\npassword: pa55-of-shop\nport: 5432\ntls: true\n",
        "- password: 'pa55-of-shop'\n- user: shop-user",
        base64.b64encode(b"user: shop-user\npassword: pa55-of-shop\n").decode(),
    ],
)
def test_parts_of_json_and_yaml_are_masked(secret: str) -> None:
    mask = Mask.of([secret])
    assert mask.text("connects as shop-user with pa55-of-shop") == f"connects as {MASK} with {MASK}"
    assert mask.value({"password": "pa55-of-shop"}) == {"password": MASK}
    shown = {"enabled": True, "text": "true", "port": 5432, "at": "localhost:5432", "n": 1}
    assert mask.value(shown) == shown


def test_what_a_secret_is_the_base64_of_is_masked() -> None:
    secret = base64.b64encode(b"user:pa55-of-shop").decode()
    assert Mask.of([secret]).text("has user:pa55-of-shop") == f"has {MASK}"


def test_switches_and_counts_are_not_masked_alone() -> None:
    secret = "enabled: true\nreplicas: 3\nlevel: debug\ndata:\n  mode: on\n"
    mask = Mask.of([secret, "true", "1", 1, "on", "None"])
    for text in (
        "enabled: true",
        "1 to create, 0 to update",
        "data:",
        "level: debug",
        "replicas: 3",
    ):
        assert mask.text(text) == text
    shown = {"a": "true", "b": 1, "c": "1", "d": "on", "e": "debug", "f": "None"}
    assert mask.value(shown) == shown
    assert mask.value(secret) == MASK


def test_keys_are_masked_that_are_no_names() -> None:
    mask = Mask.of([{"k3y-0f-a-s3cret": 1, "password": "pa55-of-shop", "api_key2": "x"}])
    assert mask.text("it is k3y-0f-a-s3cret") == f"it is {MASK}"
    assert mask.value({"k3y-0f-a-s3cret": "y"}) == {MASK: "y"}
    assert mask.text("the password, the api_key2") == "the password, the api_key2"


@pytest.mark.parametrize("text", ["a: [", "{", '{"a": ', "[" * 5000, "- " * 5000, "x: &a\n  y: *b"])
def test_what_is_no_document_is_a_text(text: str) -> None:
    assert text.strip() not in Mask.of([text]).text(f"said {text}!") or len(text) < 4


@pytest.mark.parametrize("deep", [900, 5000])
def test_deep_documents_are_no_obstacle(deep: int) -> None:
    for text in ("[" * deep + '"pa55-of-shop"' + "]" * deep, "- " * deep + "pa55-of-shop"):
        assert Mask.of([text]).text(f"said {text}").startswith(f"said {MASK}")
    shallow = "[" * 940 + '"pa55-of-shop"' + "]" * 940
    assert Mask.of([shallow]).text("has pa55-of-shop") == f"has {MASK}"
