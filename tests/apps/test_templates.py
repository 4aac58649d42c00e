import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.sensitivity import Sensitive
from apps.templates import Rendered, Template, TemplateError, parse, render_value
from apps.templates.tree import Action, Call, Chain, Field, Literal, Pipeline, Position, Text

DATA = {
    "nuon": {
        "s": "text", "empty": "", "zero": 0, "i": 1_000_000, "f": 1e6, "small": 1e-5, "t": True,
        "none": None, "list": ["a", 1, None], "map": {"b": "x", "a": [1.5]}, "no": [], "off": False,
        "secret": Sensitive("hush"),
        "outputs": {"url": "u", "password": Sensitive("hush"), "deep": [{"k": Sensitive(1)}]},
    }
}  # fmt: skip
DATA["exclave"] = DATA["nuon"]


def render(text: str) -> object:
    return parse(text).render(DATA).value


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a {{ .nuon.s }} b", "a text b"),
        ("a{{.exclave.s}}b", "atextb"),
        ("a  {{- .nuon.s -}}\n b", "atextb"),
        ("a {{ .nuon.s  -}}  b", "a textb"),
        ("a {{/* }} .nuon */}} b", "a  b"),
        ("a {{- /* .nuon */ -}} b", "ab"),
        ("-{{ .nuon.i }}", "-1000000"),
        ("-{{ .nuon.f }}", "-1e+06"),
        ("-{{ .nuon.small }}", "-1e-05"),
        ("-{{ .nuon.t }}", "-true"),
        ("-{{ .nuon.none }}", "-<no value>"),
        ("-{{ .nuon.list }}", "-[a 1 <nil>]"),
        ("-{{ .nuon.map }}", "-map[a:[1.5] b:x]"),
        ("{{ .nuon.empty | default `x` }}", "x"),
        ("{{ default 5 .nuon.zero }}", "5"),
        ("{{ default 5 .nuon.no }}{{ default 6 .nuon.off }}{{ default 7 .nuon.none }}", "567"),
        ("{{ .nuon.s | default (.nuon.list | default 1) }}", "text"),
        ("{{ (.nuon.map).b }}", "x"),
        (r'{{ "\"\t\u00e9\x41\101" }}.nuon', '"\téAA.nuon'),
        ("{{ 017 }} {{ 0x1F }} {{ 1_000 }} {{ 1.50 }}.nuon", "15 31 1000 1.5.nuon"),
    ],
)
def test_prints_as_go_does(text: str, printed: str) -> None:
    assert render(text) == printed


def test_a_string_without_a_root_is_no_template() -> None:
    text = "{{ range .x }} ${nuon} }}"
    assert render(text) == text
    assert parse(text).references() == frozenset()


@pytest.mark.parametrize("name", ["list", "map", "t", "i", "none"])
def test_a_lone_path_keeps_its_type(name: str) -> None:
    value = render(f"{{{{ .nuon.{name} }}}}")
    assert value == DATA["nuon"][name] and type(value) is type(DATA["nuon"][name])


@pytest.mark.parametrize("text", [" {{ .nuon.i }}", "{{ .nuon.i | default 1 }}"])
def test_anything_else_is_text(text: str) -> None:
    assert isinstance(render(text), str)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ .nuon.nope.x }}", "`.nuon.nope.x` leads to nothing: `.nuon` has no `nope`"),
        ("{{ .nuon.s.x }}", "`.nuon.s.x` leads to nothing: `.nuon.s` is a string, not a map"),
        ("{{ .nuon.none.x }}", "`.nuon.none` is null"),
        ("{{ .nope }} .nuon", "the data has no `nope`"),
        ('{{ .nuon.nope | default "x" }}', "`.nuon` has no `nope`"),
        ("{{ (.nuon.map).c }}", "`(.nuon.map)` has no `c`"),
    ],
)
def test_a_path_that_leads_to_nothing_says_where_it_ended(text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ upper .nuon.s }}", "function `upper` is not supported yet; supported: default"),
        ("{{ .nuon.s | upper }}", "function `upper` is not supported yet"),
        ("{{ if .nuon.s }}", "`if` is not supported yet"),
        ("{{ range .nuon.list }}", "`range` is not supported yet"),
        ("{{ with .nuon }}", "`with` is not supported yet"),
        ("{{ end }} .nuon", "`end` is not supported yet"),
        ("{{ define `x` }} .nuon", "`define` is not supported yet"),
        ("{{ $x }} .nuon", "variables"),
        ("{{ .nuon := 1 }}", "declarations"),
        ("{{ . }} .nuon", "`.` alone is not supported yet"),
        ("{{ .nuon.my-db }}", "var_name"),
        ("{{ nuon.id }} .nuon", "a path begins with a dot: `.nuon`"),
        ("{{ .nuon", "does not end"),
        ("{{/* .nuon", "comment does not end"),
        ("{{ .nuon /* x */ }}", "comment must be alone"),
        ('{{ "x .nuon }}', "string does not end"),
        ("{{ `x .nuon }}", "raw string does not end"),
        ("{{ 'x' }} .nuon", "character constants"),
        (r'{{ "\q" }} .nuon', "unknown escape"),
        (r'{{ "\xff" }} .nuon', "not UTF-8"),
        ("{{ }} .nuon", "a value is missing"),
        ("{{ .nuon | }}", "a value is missing"),
        ("{{ .nuon | 5 }}", "only a function can follow `|`"),
        ("{{ .nuon 5 }}", "only a function can take arguments"),
        ("{{ .nuon) }}", "unexpected `)`"),
        ("{{ (.nuon }}", "unexpected `}}`"),
        ('{{ default .nuon"x" }}', "separate values by spaces"),
        ("{{ default }} .nuon", "at least 1 arguments"),
        ("{{ 99999999999999999999 }} .nuon", "64 bits"),
        ("{{ 1e999 }} .nuon", "too large"),
        ("{{" + "(" * 201 + ".nuon" + ")" * 201 + "}}", "nested deeper than 200"),
        (".nuon" + "x" * 1_000_000, "larger than 1000000 bytes"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse(text)
    assert message in str(caught.value)


def test_nesting_within_the_limit_renders() -> None:
    text = "{{" + "(" * 200 + ".nuon.s" + ")" * 200 + "}}"
    assert render(text) == "text"


def test_errors_have_line_and_column() -> None:
    with pytest.raises(TemplateError) as caught:
        parse(".nuon\n  {{ upper 1 }}")
    assert (caught.value.line, caught.value.column) == (2, 6)


def test_rendering_is_bounded() -> None:
    big = {"nuon": {"x": "y" * 1_000_000}}
    with pytest.raises(TemplateError, match="longer than"):
        parse("{{ .nuon.x }}" * 20).render(big)


def test_references_are_normalised_to_one_root() -> None:
    template = parse(
        "{{ .exclave.a.b }} {{ default .nuon.c (.nuon.d).e }} {{ (default 1 .nuon.f).g }}"
    )
    assert template.references() == {
        ("nuon", "a", "b"), ("nuon", "c"), ("nuon", "d", "e"), ("nuon", "f"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value", "sensitive"),
    [
        ("{{ .nuon.secret }}", "hush", True),
        ("x {{ .nuon.secret }}", "x hush", True),
        ("{{ .nuon.secret | default `x` }}", "hush", True),
        ("{{ .nuon.outputs.url }}", "u", False),
        ("{{ .nuon.outputs.password }}", "hush", True),
        ("{{ .nuon.outputs.deep }}", [{"k": 1}], True),
        ("-{{ .nuon.outputs.deep }}", "-[map[k:1]]", True),
        ("-{{ .nuon.s }}", "-text", False),
    ],
)
def test_what_was_rendered_from_sensitive_values_is_known(
    text: str, value: object, sensitive: bool
) -> None:
    assert parse(text).render(DATA) == Rendered(value, sensitive)


def test_a_map_within_a_sensitive_value_can_be_walked() -> None:
    data = {"nuon": {"all": Sensitive({"user": {"name": "x"}})}}
    assert parse("{{ .nuon.all.user.name }}").render(data) == Rendered("x", True)


def test_sensitive_values_are_hidden_from_repr_and_errors() -> None:
    assert "hush" not in repr(DATA) + str(Sensitive("hush"))
    assert "hush" not in repr(parse("{{ .nuon.secret }}").render(DATA))
    with pytest.raises(TemplateError) as caught:
        render("{{ .nuon.secret.x }}")
    assert "hush" not in str(caught.value)


def test_values_are_rendered_at_any_depth() -> None:
    value = {"a": ["{{ .nuon.i }}", 1], "b": {"{{ .nuon.k }}": "{{ .nuon.secret }}"}, "c": None}
    assert render_value(value, DATA) == Rendered(
        {"a": [1_000_000, 1], "b": {"{{ .nuon.k }}": "hush"}, "c": None}, True
    )


HERE = Position(1, 1)
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
SCALARS = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
)
LEAVES = st.builds(Field, PATHS, st.just(HERE)) | st.builds(Literal, SCALARS, st.just(HERE))


def calls(arguments: st.SearchStrategy) -> st.SearchStrategy:  # type: ignore[type-arg]
    several = st.lists(arguments, min_size=1, max_size=2).map(tuple)
    return st.builds(Call, st.just("default"), several, st.just(HERE))


def pipelines(inner: st.SearchStrategy) -> st.SearchStrategy:  # type: ignore[type-arg]
    stages = st.lists(calls(inner), max_size=2).map(tuple)
    return st.builds(Pipeline, inner | calls(inner), stages, st.just(HERE))


EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: pipelines(inner) | st.builds(Chain, pipelines(inner), PATHS, st.just(HERE)),
    max_leaves=6,
)
TEXTS = st.text("ab{} \n-", min_size=1, max_size=6).filter(lambda text: "{{" not in text)
ACTIONS = st.builds(Action, pipelines(EXPRESSIONS))


@given(st.lists(st.tuples(TEXTS, ACTIONS), max_size=3))
def test_printing_and_parsing_again_gives_the_same_tree(pairs: list[tuple[str, Action]]) -> None:
    nodes = tuple(node for text, action in pairs for node in (Text(text), action))
    template = Template((Text(".nuon"), Action(Pipeline(Field(("a",), HERE), (), HERE)), *nodes))
    assert parse(str(template)) == template


PIECES = [*'ab.({|})"`-/*\\ \n0x', "{{", "}}", ".nuon", "default "]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
@settings(max_examples=300)
def test_parsing_and_rendering_anything_ends_well_or_in_a_template_error(text: str) -> None:
    try:
        template = parse(f"{text}.nuon{{{{{text}}}}}")
        printed = parse(str(template))
        assert printed.render(DATA).value == template.render(DATA).value
    except TemplateError:
        return


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.booleans())
def test_a_lone_path_gives_back_any_value(value: object, mark: bool) -> None:
    data = {"nuon": {"x": Sensitive(value) if mark else value}}
    rendered = parse("{{ .nuon.x }}").render(data)
    assert json.dumps(rendered.value) == json.dumps(value)
    assert rendered.sensitive is mark
    assert isinstance(parse("-{{ .nuon.x }}").render(data).value, str)
