"""Reading a step's outputs file."""

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.action.outputs_file import LARGEST_BYTES, parse_outputs, read_outputs_file
from contracts.actions import StepResult
from contracts.deploys import Outputs
from contracts.errors import EngineFailed


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", {}),
        ("\n \n\t\n", {}),
        ("a=1", {"a": "1"}),
        ("a=1\nb=2\n", {"a": "1", "b": "2"}),
        ("a=1\r\nb=2\r\n", {"a": "1", "b": "2"}),
        ("a=", {"a": ""}),
        ("a=b=c==", {"a": "b=c=="}),
        (" a = 1 ", {"a": " 1 "}),
        ("a=1\na=2", {"a": "2"}),
        ('{"a": 1, "b": [true, null]}', {"a": 1, "b": [True, None]}),
        ('{"a": 1}\n{"b": 2}\n', {"a": 1, "b": 2}),
        ('{"a": 1}{"b": 2}', {"a": 1, "b": 2}),
        ('{\n  "a": {\n    "b": "}"\n  }\n}\n', {"a": {"b": "}"}}),
        ('a=1\n{\n "b": 2,\n "a": 3\n}\nc=4\n', {"a": 3, "b": 2, "c": "4"}),
        ('a={"b": 1}', {"a": '{"b": 1}'}),
        ("é=ü", {"é": "ü"}),
        (f"digest={'0f' * 32}\nempty=", {"digest": "0f" * 32, "empty": ""}),
        ("image-tag=1\n_a.b=2", {"image-tag": "1", "_a.b": "2"}),
    ],
)
def test_both_forms_in_any_mixture(content: str, expected: dict[str, object]) -> None:
    assert parse_outputs(content.encode()) == expected


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a=1\n\nno equals\nb=2", "line 3 "),
        ("=1", "line 1 "),
        (" = 1", "line 1 "),
        ("[1, 2]", "line 1 "),
        ('a=1\n{"b": \n', "broken JSON object at line 2"),
        ('{"a": 1} b=2 {', "broken JSON object"),
        ("{", "broken JSON object at line 1"),
    ],
)
def test_what_is_neither_is_reported_with_its_line(content: str, told: str) -> None:
    if content == '{"a": 1} b=2 {':
        # After an object, the rest of the same line is read as key=value.
        assert parse_outputs(content.encode()) == {"a": 1, "b": "2 {"}
        return
    with pytest.raises(EngineFailed) as caught:
        parse_outputs(content.encode())
    assert told in caught.value.message


def test_an_error_does_not_show_what_was_written() -> None:
    for content in (b"hunter2", b'{"p": hunter2}', b'{"p": "hunter2'):
        with pytest.raises(EngineFailed) as caught:
            parse_outputs(content)
        assert "hunter2" not in caught.value.message


@pytest.mark.parametrize("size", [58, 70, 100, 114])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_base64_that_is_wrapped_leaves_no_name(size: int, end: str) -> None:
    """The rest of a secret would be one, which is no secret to anybody."""
    data = bytes(range(256))[:size]
    lines = base64.encodebytes(data).decode().splitlines()
    with pytest.raises(EngineFailed) as caught:
        parse_outputs(end.join([f"token={lines[0]}", *lines[1:], "after=1"]).encode())
    assert "line 2 of the outputs file" in caught.value.message
    assert not any(line[:8] in caught.value.message for line in lines)


@pytest.mark.parametrize("name", ["two words", "a/b", "a+b", "hunter2!", "x" * 129, "-"])
def test_names_have_a_grammar(name: str) -> None:
    with pytest.raises(EngineFailed, match="line 2 ") as caught:
        parse_outputs(f"a=1\n{name}=hunter2\n".encode())
    assert name.removesuffix("-") not in caught.value.message or name == "-"
    assert "hunter2" not in caught.value.message


def test_too_large_and_not_text() -> None:
    assert parse_outputs(b"a=" + b"x" * (LARGEST_BYTES - 2))["a"]
    with pytest.raises(EngineFailed, match=str(LARGEST_BYTES)):
        parse_outputs(b"a=" + b"x" * (LARGEST_BYTES - 1))
    with pytest.raises(EngineFailed, match="UTF-8"):
        parse_outputs(b"a=\xff")


@pytest.mark.parametrize("content", [b'{"a": NaN}', b'{"a": [Infinity]}', b'{"a": -Infinity}'])
def test_what_json_does_not_know_is_refused(content: bytes) -> None:
    """It could be stored, but never read or sent again."""
    with pytest.raises(EngineFailed, match="line 1"):
        parse_outputs(content)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"a": 1e999}', "too large a number"),
        ('{"a": [-1e999]}', "too large a number"),
        (r'{"a": "\ud800"}', "half of a character"),
        (r'{"\udfff": 1}', "half of a character"),
        ('{"a": ' + "[" * 64 + "]" * 64 + "}", "nested too deeply"),
        ('{"a": ' + '{"b":' * 200 + "1" + "}" * 201, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "limit"),
    ],
)
def test_what_no_result_can_hold_is_refused(content: str, why: str) -> None:
    with pytest.raises(EngineFailed, match=why):
        parse_outputs(content.encode())


@pytest.mark.parametrize(
    "content", [r'{"a": "\ud83d\ude00"}', '{"a": 1e308}', '{"a": ' + "[" * 62 + "]" * 62 + "}"]
)
def test_what_is_taken_arrives(content: str) -> None:
    values = parse_outputs(content.encode())
    result = StepResult(step="x", outputs=Outputs(values=values))
    assert StepResult.model_validate_json(result.model_dump_json()) == result


def test_what_lies_where_the_folder_was_is_reported(tmp_path: Path) -> None:
    (tmp_path / "folder").touch()
    with pytest.raises(EngineFailed, match="cannot be read: Not a directory"):
        read_outputs_file(tmp_path / "folder" / "outputs")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(EngineFailed, match="cannot be read: Too many levels"):
        read_outputs_file(tmp_path / "loop" / "outputs")


def test_too_deep_is_reported() -> None:
    with pytest.raises(EngineFailed, match="line 1"):
        parse_outputs(b'{"a":' * 100_000)


NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
PARTS = st.lists(
    st.tuples(st.just("line"), NAMES, VALUES)
    | st.tuples(st.sampled_from(["json", "indented"]), st.dictionaries(NAMES, JSON), st.just("")),
    max_size=6,
)


@given(PARTS)
def test_everything_that_is_written_is_read(parts: list[tuple[str, object, str]]) -> None:
    text, expected = "", {}
    for kind, what, value in parts:
        if kind == "line":
            text += f"{what}={value}\n"
            expected[what] = value
        else:
            text += json.dumps(what, indent=2 if kind == "indented" else None) + "\n"
            expected.update(what)  # type: ignore[call-overload]
    assert parse_outputs(text.encode()) == expected
