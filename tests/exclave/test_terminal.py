"""Whatever text is written to a terminal is shown unambiguously, and on its own line."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.display_text import shown, shown_lines
from exclave.output import print_json
from exclave.screens.terminal import Lines, write

HOSTILE = st.text(
    st.sampled_from("\n\r\t\x0b\x85\u2028\u2029\u202e\u200b\x1b[8m\x1b[31m\x9b\x07 a-+")
)
# All examples share this capture; each one reads only its own output.
same_capture = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@same_capture
@given(HOSTILE)
def test_a_line_is_one_line(capsys: pytest.CaptureFixture[str], text: str) -> None:
    Lines()(text)
    said = capsys.readouterr().out
    assert said == shown(text) + "\n"


@same_capture
@given(HOSTILE)
def test_of_colours_only_our_own_pass(capsys: pytest.CaptureFixture[str], text: str) -> None:
    lines = Lines()
    lines.colours = True
    lines(f"{lines.paint(text, 'red', bold=True)} {text}")
    said = capsys.readouterr().out.removesuffix("\n")
    for ours in ("\x1b[31m", "\x1b[1m", "\x1b[0m"):
        said = said.replace(ours, "")
    assert said == shown(said)


@same_capture
@given(HOSTILE)
def test_no_further_line_of_a_block_begins_where_ours_do(
    capsys: pytest.CaptureFixture[str], text: str
) -> None:
    Lines(err=True).block(text, rest="      ")
    first, *rest = capsys.readouterr().err.removesuffix("\n").split("\n")
    assert all(line.startswith("      ") or not line for line in rest)
    assert shown(first) == first
    write(text, err=True)
    assert capsys.readouterr().err == shown_lines(text) + "\n"


@same_capture
@given(HOSTILE)
def test_a_document_is_one_line_and_the_same_document(
    capsys: pytest.CaptureFixture[str], text: str
) -> None:
    print_json({text: [text]})
    said = capsys.readouterr().out.removesuffix("\n")
    assert said == shown(said)
    assert json.loads(said) == {text: [text]}
