"""Whatever becomes of a valid file of any kind, checking it ends, and tells of places that exist.

A longer session: `MUTATIONS=20000 pytest tests/apps/reading/test_mutated_configs.py`.
"""

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.frozen import freeze, thaw
from apps.graph import Graph
from apps.loader import CheckedApp, check
from tests.apps.app_folder import App
from tests.apps.reading.test_every_kind import FILES
from tests.shipped import DEPLOYABLE

EXAMPLES = int(os.environ.get("MUTATIONS", settings().max_examples))

KEY = re.compile(r"""(?m)^(\[*)([A-Za-z_][\w.-]*)(\]*[ \t]*=?)|([{,][ \t]*)([a-z_]+)(?=[ \t]*=)""")
VALUE = re.compile(r"""=[ \t]*("[^"\n]*"|\[[^\]\n]*\]|\{[^}\n]*\}|[\w.-]+)""")
WORDS = sorted(
    {match[2] or match[5] for text in FILES.values() for match in KEY.finditer(text)}
    | {"x", '"a b"', "''", "é", "0", "a.b.c"}
)
VALUES = (
    *("1", "-1", "1.5", "nan", "true", '""', '" "', '"x"', "[]", "{}", "[[]]", "[{}]", "[1, 'a']"),
    *("{ name = 1 }", "1979-05-27", "07:32:00", "9" * 30, '"{{ .nuon.x }}"', '"{{ if"'),
    *('"./x"', '"../x"', '"/etc/passwd"', '"\\u0000"', '"./a\\u0000"', '"*"', '"sandbox"', '"x_y"'),
    *("'''a\nb'''", '"30m"', '"* * * * *"', '"file:///etc/passwd"'),
    *('"https://example.com/x"', '"{{ .nuon.id }}"'),
    *('["x_y", "x_y"]', '{ repo = ".", directory = "/" }', '{ repo = ".", directory = "" }'),
)  # fmt: skip


@st.composite
def mutations(draw: st.DrawFn) -> tuple[str, bytes]:
    """A file of a valid config, and what became of it."""
    file = draw(st.sampled_from(sorted(FILES)))
    text = FILES[file]
    for _ in range(draw(st.integers(1, 4))):
        text = draw(st.sampled_from(CHANGES))(draw, text)
    data = text.encode()
    if draw(st.integers(0, 9)) == 0:
        place = draw(st.integers(0, len(data)))
        data = data[:place] + draw(st.binary(min_size=1, max_size=8)) + data[place:]
    return file, data


def without_a_line(draw: st.DrawFn, text: str) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        del lines[draw(st.integers(0, len(lines) - 1))]
    return "".join(lines)


def with_a_line_elsewhere(draw: st.DrawFn, text: str) -> str:
    lines = text.splitlines(keepends=True) or [""]
    line = lines[draw(st.integers(0, len(lines) - 1))]
    lines.insert(draw(st.integers(0, len(lines))), line)
    return "".join(lines)


def with_another_key(draw: st.DrawFn, text: str) -> str:
    return put(draw, KEY, 2, text, draw(st.sampled_from(WORDS)))


def with_another_value(draw: st.DrawFn, text: str) -> str:
    return put(draw, VALUE, 1, text, draw(st.sampled_from(VALUES)))


def cut(draw: st.DrawFn, text: str) -> str:
    return text[: draw(st.integers(0, len(text)))]


def with_some_text(draw: st.DrawFn, text: str) -> str:
    place = draw(st.integers(0, len(text)))
    some = draw(st.text("a=[]{}\"'\n.#1-:\\\0\té\r ", max_size=8))
    return text[:place] + some + text[place:]


CHANGES = (
    without_a_line, with_a_line_elsewhere, with_another_key, with_another_value, cut,
    with_some_text, with_another_key, with_another_value,
)  # fmt: skip


def put(draw: st.DrawFn, pattern: re.Pattern[str], group: int, text: str, new: str) -> str:
    places = list(pattern.finditer(text))
    if not places:
        return text
    found = places[draw(st.integers(0, len(places) - 1))]
    start, end = found.span(group) if found[group] is not None else found.span(found.lastindex or 0)
    return text[:start] + new + text[end:]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> App:
    app = App(tmp_path_factory.mktemp("whole"))
    for file, text in FILES.items():
        app.write(file, text)
    return app


@given(mutations())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_became_of_a_file_is_told_or_can_be_used(
    whole: App, mutation: tuple[str, bytes]
) -> None:
    file, data = mutation
    whole.write(file, data)
    try:
        checked = check(whole.root, DEPLOYABLE)
        problems_are_of_places(checked, whole.root)
        if checked.app is not None:
            config = checked.app.config
            assert thaw(freeze(config)) == config
            assert len(Graph(config).order()) == len(config.components)
        else:
            assert any(problem.severity == "error" for problem in checked.problems)
    finally:
        whole.write(file, FILES[file])


def problems_are_of_places(checked: CheckedApp, root: Path) -> None:
    for problem in checked.problems:
        assert problem.message and "\n" not in str(problem)
        if problem.line is None:
            continue
        lines = (root / problem.file).read_bytes().count(b"\n") + 1
        assert 1 <= problem.line <= lines, problem
