"""Whatever somebody else writes is shown as what it is, and begins no line of its own."""

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apps.display_text import is_hidden, shown, shown_lines, shown_markdown, shown_output

SEPARATORS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
HOSTILE = (
    "\u202e\u2066\u200b\ufeff\xad\x1b[31m\x1b]0;title\x07\x9b1A\x7f\U000e0041\ufe0f\u3164\ue000"
)
ANY_TEXT = st.text(st.characters()) | st.text(st.sampled_from(SEPARATORS + HOSTILE + "ab`*<&\\"))
"""Lone surrogates are among all characters."""


def hidden_in(text: str) -> set[str]:
    categories = {character: unicodedata.category(character) for character in text}
    return {one for one, found in categories.items() if found[0] == "C" or found in {"Zl", "Zp"}}


@given(ANY_TEXT)
@example(SEPARATORS + HOSTILE)
def test_nothing_hidden_is_left_and_no_line_is_begun(text: str) -> None:
    for line in (shown(text), shown_markdown(text)):
        assert hidden_in(line) == set()
        assert len(line.splitlines()) <= 1
        assert not any(map(is_hidden, line))
    for lines in (shown_lines(text), shown_output(text)):
        assert hidden_in(lines) <= {"\n"}
        assert lines.splitlines() == lines.removesuffix("\n").split("\n") or not lines
        assert lines.count("\n") <= text.count("\n")
    shown(text).encode()


@given(ANY_TEXT)
def test_what_was_shown_before_stays_as_it_is(text: str) -> None:
    assert shown(shown(text)) == shown(text)
    assert shown_lines(shown_lines(text)) == shown_lines(text)


@given(st.recursive(ANY_TEXT, lambda one: st.lists(one) | st.dictionaries(ANY_TEXT, one)))
def test_json_that_is_shown_is_the_same_document(document: object) -> None:
    written = json.dumps(document, ensure_ascii=False)
    assert json.loads(shown(written)) == json.loads(written)


@given(st.text(st.characters(exclude_categories=("C", "Zl", "Zp", "Mn", "Lo"))))
def test_what_shows_itself_is_left(text: str) -> None:
    assert shown(text) == text
    assert shown("Grüße, 漢字 — ✔") == "Grüße, 漢字 — ✔"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\u2028b", r"a\u2028b"),
        ("a\x85b", r"a\u0085b"),
        ("a\u202eb\u2066c\u200bd", r"a\u202eb\u2066c\u200bd"),
        ("a\nb\tc", r"a\u000ab\u0009c"),
        ("\U000e0041", r"\udb40\udc41"),
        ("\ud800", r"\ud800"),
        ("\x1b[31m", r"\u001b[31m"),
    ],
)
def test_what_is_hidden_is_shown_by_its_number(text: str, said: str) -> None:
    assert shown(text) == said


def test_what_a_tool_prints_is_shown_without_its_colours_and_moves() -> None:
    printed = "\x1b[1;31mError\x1b[0m:\tno\r\n\x1b[2K\x1b[1Anext \x1b]0;title\x07\rover"
    assert shown_output(printed) == "Error:    no\nnext \\u001b]0;title\\u0007\\u000dover"
    assert shown_lines("\x1b[0m") == r"\u001b[0m", "a value that has one has it"


@pytest.mark.parametrize(
    "markup", ["`a`", "**a**", "_a_", "[a](b)", "<b>", "&#8238;", "~~a~~", "![a](b)"]
)
def test_markdown_is_none(markup: str) -> None:
    said = shown_markdown(markup)
    assert all(said[at - 1] == "\\" for at, one in enumerate(said) if one in "`*_[]<&~!")


def test_lines_stay_within_one_line_of_markdown() -> None:
    assert shown_markdown("failed:\n- net: applied\n# heading\n") == (
        r"failed: ⏎ - net: applied ⏎ \# heading"
    )
