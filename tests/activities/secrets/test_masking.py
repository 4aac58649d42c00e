"""No form in which a tool prints a secret survives."""

import base64
import json
import unicodedata
from typing import Literal
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from activities.secrets import masking
from activities.secrets.masking import MASK, Mask
from activities.secrets.words import is_common, is_word

CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cs"])
SECRETS = st.text(CHARACTERS, min_size=4, max_size=40).filter(lambda text: not is_word(text))
TEXTS = st.text(CHARACTERS, max_size=20)


def survives(secret: str, masked: str) -> bool:
    """Whether the secret is still there, other than by the letters of the mask itself."""
    return secret in masked.replace(MASK, "\0") and "\0" not in secret


@given(SECRETS, TEXTS, TEXTS)
def test_as_it_is(secret: str, before: str, after: str) -> None:
    masked = Mask.of([secret]).text(before + secret + after)
    assert not survives(secret, masked)
    assert MASK in masked


@given(SECRETS)
def test_as_json_and_hcl_escape_it(secret: str) -> None:
    mask = Mask.of([secret])
    for printed in (
        json.dumps({"a": secret}),
        json.dumps({"a": secret}, ensure_ascii=False),
        f'a = "{json.dumps(secret)[1:-1]}"',
    ):
        masked = mask.text(printed)
        assert not survives(secret, masked)
        assert not survives(json.dumps(secret)[1:-1], masked)


@given(SECRETS)
def test_as_base64(secret: str) -> None:
    printed = base64.b64encode(secret.encode()).decode()
    assert not survives(printed, Mask.of([secret]).text(f"data: {printed}\n"))


LINES = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=4)


@given(st.lists(LINES.filter(lambda line: not is_common(line)), min_size=2))
def test_line_by_line(lines: list[str]) -> None:
    mask = Mask.of(["\n".join(lines)])
    masked = mask.text("\n".join(f"  + | {line}" for line in lines))
    for line in lines:
        assert not survives(line, masked)


def test_a_key_in_lines() -> None:
    lines = ["-----BEGIN KEY-----", "MIIEvgIBADANBgkqhk", "iG9w0BAQEFAASCBKgw", "-----END KEY-----"]
    key = "\n".join(lines) + "\n"
    mask = Mask.of([key])
    for printed in (key, json.dumps(key), "\r\n".join(lines), "\n".join(f"  {x}" for x in lines)):
        assert not any(survives(line, mask.text(printed)) for line in lines)


@given(st.lists(SECRETS, max_size=4), SECRETS)
def test_a_secret_within_another_leaves_nothing_of_it(others: list[str], secret: str) -> None:
    outer = f"<{secret}>"
    mask = Mask.of([secret, outer, *others])
    assert not survives(outer, mask.text(f"x{outer}y"))
    assert not survives(secret, mask.text(f"x{outer}y{secret}"))


@given(st.text(CHARACTERS, min_size=1, max_size=3), TEXTS)
def test_short_ones_are_masked_where_they_are_the_whole_value(secret: str, text: str) -> None:
    assume(len(base64.b64encode(secret.encode())) > len(text) and not is_word(secret))
    mask = Mask.of([secret])
    assert mask.value(secret) == MASK
    assert mask.value({"a": [secret, {"b": secret}]}) == {"a": [MASK, {"b": MASK}]}


def test_short_ones_do_not_mask_half_of_every_text() -> None:
    assert Mask.of(["a", "on", "443"]).text("a zone on port 443") == "a zone on port 443"


def test_numbers_are_masked_as_numbers_and_as_text() -> None:
    mask = Mask.of([{"pin": 123456}])
    assert mask.value({"pin": 123456, "text": "pin 123456"}) == {"pin": MASK, "text": f"pin {MASK}"}
    assert mask.value([True, None, 1]) == [True, None, 1]


def test_true_false_null_and_nothing_are_no_secrets() -> None:
    mask = Mask.of([True, False, None, "", {}, []])
    value = {"a": True, "b": None, "c": "", "d": "true"}
    assert mask.value(value) == value
    assert mask.text("true None") == "true None"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_without_secrets_nothing_changes(value: object) -> None:
    assert Mask.of([]).value(value) == value


@given(JSON, SECRETS)
def test_no_depth_and_no_key_hides_a_secret(value: object, secret: str) -> None:
    mask = Mask.of([{"deep": [secret]}])
    holding = {"a": [value, secret], f"key {secret}": {"b": f"x{secret}"}, "c": (secret,)}
    masked = mask.value(holding)
    strings = list(_strings(masked))
    assert not any(survives(secret, one) for one in strings)


def _strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [s for key, item in value.items() for s in (key, *_strings(item))]
    if isinstance(value, list):
        return [s for item in value for s in _strings(item)]
    return [value] if isinstance(value, str) else []


def test_a_mask_does_not_show_its_secrets() -> None:
    assert "hunter2" not in repr(Mask.of(["hunter2hunter2"]))


@pytest.mark.parametrize(
    "secret", ["p<w>&d-12", "tab\there-1", 'quote"d-12', "back\\slash-1", "${x}-%{y}-1"]
)
def test_as_terraform_and_go_print_it(secret: str) -> None:
    """Go's JSON escapes `<`, `>` and `&`; HCL doubles the `$` and `%` of a template."""
    mask = Mask.of([secret])
    go = json.dumps(secret)
    for character in "<>&":
        go = go.replace(character, f"\\u{ord(character):04x}")
    hcl = json.dumps(secret).replace("${", "$${").replace("%{", "%%{")
    for printed in (go, hcl):
        assert printed[1:-1] not in mask.text(f"a = {printed}")


WORDS = st.lists(
    st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1), min_size=2
)


@given(WORDS, st.sampled_from(["\n", "\n│ ", "\n  │ ", "  ", " │\n╷ "]))
def test_broken_over_lines_as_terraform_wraps_it(words: list[str], between: str) -> None:
    assume(len("".join(words)) >= 4)
    printed = between.join(words)
    masked = Mask.of([" ".join(words)]).text(f"Error: {printed}")
    assert masked == f"Error: {MASK}"


def test_words_that_are_too_short_mask_nothing_else() -> None:
    assert Mask.of(["a  b"]).text("is a\nb or a   b") == "is a\nb or a   b"


@given(SECRETS)
def test_as_urls_and_other_base64_hold_it(secret: str) -> None:
    mask = Mask.of([secret])
    data = secret.encode()
    for printed in (
        quote(secret, safe=""), quote_plus(secret), base64.urlsafe_b64encode(data).decode(),
        base64.b64encode(data).decode().rstrip("="),
        base64.urlsafe_b64encode(data).decode().rstrip("="),
    ):  # fmt: skip
        assert not survives(printed, mask.text(f"https://u:{printed}@host"))


@settings(deadline=None)
@given(SECRETS, st.binary(max_size=4), st.binary(max_size=4), st.sampled_from([0, 20, 64, 76]))
def test_in_base64_with_others_and_over_lines(
    secret: str, before: bytes, after: bytes, width: int
) -> None:
    """`Authorization: Basic`, and what `base64` prints."""
    data = before + secret.encode() * (3 if width else 1) + after
    assume(len(secret.encode()) >= 6)
    printed = base64.b64encode(data).decode()
    if width:
        printed = "\n".join(printed[at : at + width] for at in range(0, len(printed), width))
    mask = Mask.of([secret * 3, secret] if width else [secret])
    masked = mask.text(f"Basic {printed}\n")
    assert MASK in masked
    for left in "".join(masked.removeprefix("Basic ").split("\n")).split(MASK):
        for shift in range(4):
            aligned = "A" * shift + left.rstrip("=")
            whole = aligned[: len(aligned) // 4 * 4]
            assert secret.encode() not in base64.b64decode(whole)
    assert mask.within(f"Basic {printed}\n", 0, len(printed) + 7).count(MASK) >= 1


def test_lines_of_base64_whose_neighbours_are_not_there_yet() -> None:
    secret = "".join(f"line {number} of a key\n" for number in range(20))
    lines = base64.encodebytes(secret.encode()).decode().splitlines()
    mask = Mask.of([secret])
    for line in lines:
        assert mask.text(f"said: {line}\n").rstrip("=\n") == f"said: {MASK}"
    assert mask.text("applied\nc29tZXRoaW5nIGVsc2UgdGhhdCBpcyBubyBzZWNyZXQ=\n").count(MASK) == 0


@pytest.mark.parametrize(
    "printed",
    [
        "+ echo 'it'\\''s <a>&\"b\"\\c'",
        "+ echo 'it'\"'\"'s <a>&\"b\"\\c'",
        "KeyError: 'it\\'s <a>&\"b\"\\\\c'",
        "<Value>it&apos;s &lt;a&gt;&amp;&quot;b&quot;\\c</Value>",
        "<p>it&#39;s &lt;a&gt;&amp;&#34;b&#34;\\c",
        "it%27s+%3ca%3e%26%22b%22%5cc",
        "it's%20%3Ca%3E%26%22b%22%5Cc",
    ],
)
def test_as_shells_python_and_markup_show_it(printed: str) -> None:
    assert Mask.of(['it\'s <a>&"b"\\c']).text(printed).count(MASK) == 1


def test_json_within_json() -> None:
    secret = 'p"w<d>-\\12'
    printed = json.dumps({"policy": json.dumps({"a": secret})})
    assert json.dumps(json.dumps(secret)[1:-1])[1:-1] in printed
    assert Mask.of([secret]).text(printed) == json.dumps({"policy": json.dumps({"a": MASK})})


def test_json_within_json_within_what_terraform_prints() -> None:
    secret = 'it\'s <a>&"b"\\c'
    printed = secret
    for _ in range(3):
        printed = json.dumps(printed)[1:-1].replace("<", "\\u003c").replace(">", "\\u003e")
        printed = printed.replace("&", "\\u0026")
        assert Mask.of([secret]).text(f"x = {printed}") == f"x = {MASK}"


def test_a_mask_learns_more() -> None:
    mask = Mask.of(["first-one"]).and_also([{"deep": "second-one"}])
    assert mask.text("first-one second-one") == f"{MASK} {MASK}"


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("say one\n", "one\n"),
        ("say x=one\n│ two\n", "one\n│ two\n"),
        ("one two three\n", None),
        ("one three\n", None),
        ("two\n", None),
        ("bone two\n", "one two\n"),
        ("one one\n", "one\n"),
        ("one twos\n", None),
        ("", None),
    ],
)
def test_what_may_begin_a_secret_of_several_words(text: str, begins: str | None) -> None:
    mask = Mask.of(["one two three", "alone"])
    found = text[mask.unfinished(text) :]
    assert found == (begins or "")


def test_in_base64_of_base64() -> None:
    """Docker's configuration, in a Secret of Kubernetes."""
    secret = "pa55-of-the-registry"
    for before in ("u:", "us:", "user:"):
        auth = base64.b64encode(f"{before}{secret}".encode()).decode()
        config = json.dumps({"auths": {"registry": {"auth": auth}}})
        printed = base64.b64encode(config.encode()).decode()
        masked = Mask.of([secret]).text(f"data: {printed}")
        assert MASK in masked
        left = masked.removeprefix("data: ").partition(MASK)[0]
        opened = base64.b64decode(left[: len(left) // 4 * 4]).decode()
        seen = opened.partition('"auth": "')[2]
        assert secret[:3] not in base64.b64decode(seen[: len(seen) // 4 * 4]).decode()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("before", ["", "x", "xy"])
def test_in_base64_of_utf_16(encoding: str, before: str) -> None:
    secret = "pa55-of-the-registry"
    printed = base64.b64encode(f"{before}{secret}".encode(encoding)).decode()
    masked = Mask.of([secret]).text(printed)
    assert MASK in masked
    assert len(masked.replace(MASK, "")) < 12


def test_long_secrets_are_masked_line_by_line_and_in_pieces() -> None:
    lines = [f'line {number} of a "long" text' for number in range(2000)]
    endless = "".join(f"{number}<" for number in range(20_000))
    mask = Mask.of(["\n".join(lines), endless])
    for printed in ("\n".join(lines), json.dumps("\n".join(lines))):
        masked = mask.text(printed)
        assert "long" not in masked
    for printed in (endless, json.dumps(endless).replace("<", "\\u003c")):
        assert mask.text(f"said {printed}.").replace('"', "") == f"said {MASK}."


def test_what_is_read_around_a_page_does_not_grow_with_the_secrets() -> None:
    assert Mask.of(["x\n" * 10**5, "y" * 10**6]).reach < 20_000


def test_what_finds_secrets_is_made_once_for_the_same_secrets() -> None:
    masking._finder.cache_clear()
    mask = Mask.of([])
    for number in range(20):
        mask = mask.and_also([f"secret number {number}"])
    for _ in range(20):
        assert Mask.of(list(mask.secrets)).text("secret number 3") == MASK
    assert masking._finder.cache_info().misses == 1


def test_halves_of_characters_hide_nothing() -> None:
    mask = Mask.of(["half \ud83d of one", "another-one"])
    assert mask.text("\ude00 another-one, half \ud83d of one") == f"\ude00 {MASK}, {MASK}"


@pytest.mark.parametrize(
    "printed",
    [
        "Schl\u00fcssel-<\u00e4&\u6f22>",
        "Schlu\u0308ssel-<a\u0308&\u6f22>",
        "Schl\\u00fcssel-<\\u00e4&\\u6f22>",
        "Schl\\u00FCssel-<\\u00E4&\\u6F22>",
        "Schlu\\u0308ssel-<a\\u0308&\\u6F22>",
        "Schl&#252;ssel-&#60;&#228;&#38;&#28450;&#62;",
        "Schl&#xfc;ssel-&#x3c;&#xe4;&#x26;&#x6f22;&#x3e;",
        "Schl&#xFC;ssel-&#x3C;&#xE4;&#x26;&#x6F22;&#x3E;",
        "Schl&uuml;ssel-&lt;&auml;&amp;&#28450;&gt;",
        "Schl%C3%BCssel-%3C%C3%A4%26%E6%BC%A2%3E",
        "Schl%25C3%25BCssel-%253C%25C3%25A4%2526%25E6%25BC%25A2%253E",
        "Schl%25c3%25bcssel-%253c%25c3%25a4%2526%25e6%25bc%25a2%253e",
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_letters_with_marks_in_every_form(printed: str, form: Literal["NFC", "NFD"]) -> None:
    secret = unicodedata.normalize(form, "Schl\u00fcssel-<\u00e4&\u6f22>")
    mask = Mask.of([secret])
    assert mask.text(f"said {printed}.") == f"said {MASK}."
    encoded = base64.b64encode(printed.encode()).decode()
    assert mask.text(encoded) == MASK


@given(SECRETS)
def test_as_urls_hold_urls(secret: str) -> None:
    printed = quote(quote(secret, safe=""), safe="")
    assert not survives(printed, Mask.of([secret]).text(f"https://host?next={printed}"))
