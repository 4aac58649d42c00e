"""Every key has its line, whatever way TOML lets it be written."""

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.keys import below, parent
from apps.reading.positions import Positions

TEXT = '''# of a file
name = "x" # = y
vars = { zone = "a", deep = { er = 1 } }
list = [
  1, # one
  { a = "]" },

  [2, 3],
]
script = """
one \\"""
two"""
plain = \'\'\'first
second\'\'\'
a.b . "c.d" = 1
[table]
x = 1979-05-27 07:32:00
[table.under]
y = \'#\'
[[steps]]
name = "first"
[steps.env_vars]
URL = "u"

[[steps]]
  name = "second"
  [[steps.inner]]
  z = 1
  [[steps.inner]]
  z = 2
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("name", 2), ("vars", 3), ("vars.zone", 3), ("vars.deep.er", 3), ("list", 4),
        ("list[0]", 5), ("list[1]", 6), ("list[1].a", 6), ("list[2]", 8), ("list[2][1]", 8),
        ("script", 10), ("plain", 13), ("a", 15), ("a.b", 15), ('a.b."c.d"', 15), ("table", 16),
        ("table.x", 17), ("table.under", 18), ("table.under.y", 19), ("steps", 20),
        ("steps[0]", 20), ("steps[0].name", 21), ("steps[0].env_vars", 22),
        ("steps[0].env_vars.URL", 23), ("steps[1]", 25), ("steps[1].name", 26),
        ("steps[1].inner[0].z", 28), ("steps[1].inner[1].z", 30), ("steps[1].inner[1]", 29),
    ],
)  # fmt: skip
def test_each_key_has_its_line(path: str, line: int) -> None:
    assert Positions(TEXT).line(path) == line


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("steps[1].command", 25),
        ("steps[0].env_vars.X.y", 22),
        ("nothing", 1),
        ("vars.x", 3),
        ("", 1),
    ],
)
def test_what_is_missing_has_the_line_of_the_table_it_would_be_in(path: str, line: int) -> None:
    assert Positions(TEXT).line(path) == line


def test_lines_within_a_string_that_is_written_as_it_is() -> None:
    assert [Positions(TEXT).line_within("plain", line) for line in (1, 2)] == [13, 14]
    text = 'a = """\nx\ny"""\nb = "one\\nline"\n'
    assert [Positions(text).line_within("a", line) for line in (1, 2)] == [2, 3]
    # With escapes in it, its lines may be others; the key's line is right in any case.
    assert Positions(text).line_within("b", 2) == 4
    assert Positions(TEXT).line_within("script", 2) == 10


@pytest.mark.parametrize(
    "text",
    [
        "a = ", "[", "a = [[[", '"', "a = '''", "= 1", "a.", "[[x]\nb=1",
        "a=[}", "a=[,,]", "a=[1,}", "a={b=}", "a={b=[}}", "a=[[}", "a = # 1", "a=[=",
    ],
)  # fmt: skip
def test_a_text_that_is_no_toml_is_read_as_far_as_it_goes(text: str) -> None:
    assert Positions(text).line("z") == 1


def test_carriage_returns_count_with_their_line() -> None:
    text = 'a = 1\r\nb = """\r\nx"""\r\n[c]\r\nd = 1\r\n'
    places = Positions(text)
    assert [places.line(path) for path in ("a", "b", "c.d")] == [1, 2, 5]
    assert places.line_within("b", 1) == 3


NAMES = st.text("ab.-_ \"'\\é", max_size=4)
SCALARS = st.one_of(
    st.sampled_from(["1", "1.5", "true", "2020-01-01", "[]", "{}", "'#'", '"a\\"]"', "''", '""']),
    st.sampled_from(['"""\n["x"]\n"""', "'''\n[x]\n'''", '"""a\\"""b"""', '"""a"""""', "'''''''"]),
)
SPACE = st.sampled_from(["", " ", "\n", " # [a] = '\n", "\n\n"])


@st.composite
def values(draw: st.DrawFn, depth: int = 3) -> str:
    kind = draw(st.sampled_from(["scalar", "list", "table"])) if depth else "scalar"
    if kind == "scalar":
        return draw(SCALARS)
    if kind == "list":
        items = draw(st.lists(values(depth - 1), max_size=3))
        inner = ",".join(draw(SPACE) + item + draw(SPACE) for item in items)
        return f"[{inner}{',' if bool(items) and draw(st.booleans()) else ''}{draw(SPACE)}]"
    names = draw(st.lists(NAMES, max_size=3, unique=True))
    return "{ " + ", ".join(f"{key(name)} = {draw(values(depth - 1))}" for name in names) + " }"


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for _ in range(draw(st.integers(0, 6))):
        names = ".".join(key(name) for name in draw(st.lists(NAMES, min_size=1, max_size=3)))
        form = draw(st.sampled_from(["{} = ", "{} = ", "[{}]", "[[{}]]", "[ {} ] # x"]))
        value = draw(values()) if form.endswith("= ") else ""
        lines.append(form.format(names) + value)
    return "\n".join(lines)


def key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    if bare:
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f"'{name}'" if "'" not in name else f'"{escaped}"'


def paths(value: object, at: str = "") -> Iterator[str]:
    if at:
        yield at
    if isinstance(value, dict):
        for name, item in value.items():
            yield from paths(item, below(at, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths(item, below(at, index))


@given(documents())
def test_it_finds_exactly_the_keys_that_there_are(text: str) -> None:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        Positions(text)
        return
    assert set(Positions(text).places) == set(paths(table))


@given(st.text("ab[]{}=\"'#\\\n., \r1", max_size=60))
def test_it_ends_on_any_text(text: str) -> None:
    Positions(text)


@given(st.lists(NAMES | st.integers(0, 3), max_size=4))
def test_a_path_can_be_taken_apart_again(parts: list[str | int]) -> None:
    path = ""
    for part in parts:
        assert parent(below(path, part)) == path
        path = below(path, part)
