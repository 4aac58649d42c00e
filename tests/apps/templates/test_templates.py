import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.sensitivity import Sensitive
from apps.templates import Rendered, Template, TemplateError, parse, render_value
from apps.templates.tree import (
    Action,
    Branch,
    Call,
    Chain,
    Field,
    If,
    Invoke,
    Leave,
    Literal,
    Node,
    Pipeline,
    Position,
    Range,
    Text,
    Variable,
    With,
)

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
        ("{{ uper .nuon.s }}", "there is no function `uper`"),
        ("{{ .nuon.s | uper }}", "there is no function `uper`"),
        ("{{ if .nuon.s }}", "`if` does not end"),
        ("{{ range .nuon.list }}{{ else }}", "`range` does not end"),
        ("{{ with .nuon }}{{ else }}{{ else }}{{ end }}", "a second `else`"),
        ("{{ if .nuon }}{{ else with .nuon }}{{ end }}", "unexpected `with` after `else`"),
        ("{{ end }} .nuon", "`end` has nothing before it to belong to"),
        ("{{ else }} .nuon", "`else` has nothing before it to belong to"),
        ("{{ break }} .nuon", "`break` outside of a `range`"),
        ("{{ range .nuon.list }}{{ else }}{{ continue }}{{ end }}", "outside of a `range`"),
        ("{{ if .nuon }}{{ define `x` }}{{ end }}{{ end }}", "only at the top level of a template"),
        ("{{ define `x` }}a{{ end }}{{ define `x` }}b{{ end }} .nuon", "is defined twice"),
        ("{{ define x }}{{ end }} .nuon", "needs a name in quotes"),
        ("{{ $x }} .nuon", "there is no variable `$x` here"),
        ("{{ $x = 1 }} .nuon", "there is no variable `$x` here"),
        ("{{ $x := $x }} .nuon", "there is no variable `$x` here"),
        ("{{ if .nuon }}{{ $x := 1 }}{{ end }}{{ $x }}", "there is no variable `$x` here"),
        ("{{ $x, $y := 1 }} .nuon", "too many variables for a command"),
        ("{{ range $x, $y, $z := .nuon }}{{ end }}", "too many variables for `range`"),
        ("{{ range $x, := .nuon }}{{ end }}", "a variable is missing after `,`"),
        ("{{ .nuon := 1 }}", "only a function can take arguments"),
        ("{{ nil }} .nuon", "`nil` is not a value on its own"),
        ("{{ true.x }} .nuon", "unexpected"),
        ("{{ .nuon.x. }}", "unexpected"),
        ("{{ default 1 if }} .nuon", "`if` is allowed only at the beginning of an action"),
        ("{{ .nuon.my-db }}", "var_name"),
        ("{{ nuon.id }} .nuon", "a path begins with a dot: `.nuon`"),
        ("{{ .nuon", "does not end"),
        ("{{/* .nuon", "comment does not end"),
        ("{{ .nuon /* x */ }}", "comment must be alone"),
        ('{{ "x .nuon }}', "string does not end"),
        ("{{ `x .nuon }}", "raw string does not end"),
        ("{{ 'xy' }} .nuon", "is not one character"),
        ("{{ 'x }} .nuon", "the character does not end"),
        (r'{{ "\q" }} .nuon', "unknown escape"),
        (r'{{ "\xff" }} .nuon', "not UTF-8"),
        ("{{ }} .nuon", "a value is missing"),
        ("{{ .nuon | | }}", "a value is missing"),
        ("{{ .nuon | 5 }}", "only a function can follow `|`"),
        ("{{ .nuon 5 }}", "only a function can take arguments"),
        ("{{ .nuon) }}", "unexpected `)`"),
        ("{{ (.nuon }}", "unexpected `}}`"),
        ('{{ default .nuon"x" }}', "unexpected '\"'"),
        ('{{ default "y""x" }} .nuon', "separate values by spaces"),
        ("{{ default }} .nuon", "takes"),
        ("{{ 99999999999999999999 }} .nuon", "64 bits"),
        ("{{ 1e999 }} .nuon", "too large"),
        ("{{" + "(" * 101 + ".nuon" + ")" * 101 + "}}", "nested deeper than 100"),
        (".nuon" + "x" * 1_000_000, "larger than 1000000 bytes"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_rendered(text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse(text)
    assert message in str(caught.value)


def test_nesting_within_the_limit_renders() -> None:
    text = "{{" + "(" * 100 + ".nuon.s" + ")" * 100 + "}}"
    assert render(text) == "text"


def test_errors_have_line_and_column() -> None:
    with pytest.raises(TemplateError) as caught:
        parse(".nuon\n  {{ uper 1 }}")
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
        ("nuon", "a", "b"), ("nuon", "c"), ("nuon", "d", "e"), ("nuon", "f"), ("nuon", "f", "g"),
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
NAMES = st.sampled_from(("a", "b_1", "_c", "if_", "é"))
VARIABLES = st.sampled_from(("", "x", "y"))
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
ENDINGS = st.lists(NAMES, max_size=2).map(tuple)
SCALARS = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
)
LEAVES = (
    st.builds(Field, ENDINGS, st.just(HERE))
    | st.builds(Variable, VARIABLES, ENDINGS, st.just(HERE))
    | st.builds(Literal, SCALARS, st.just(HERE))
)


def pipelines(inner: st.SearchStrategy, names: tuple[str, ...] = ()) -> st.SearchStrategy:
    call = st.builds(
        Call, st.just("default"), st.tuples(inner) | st.tuples(inner, inner), st.just(HERE)
    )
    stages = st.lists(call, max_size=1).map(tuple)
    return st.builds(
        Pipeline,
        inner | call,
        stages,
        st.just(HERE),
        st.just(names),
        st.booleans() if names else st.just(False),
    )


INNER = LEAVES | pipelines(LEAVES) | st.builds(Chain, pipelines(LEAVES), PATHS, st.just(HERE))
PIPES = pipelines(INNER | pipelines(INNER))
TEXTS = st.text("ab{} \n-", min_size=1, max_size=6).filter(lambda text: "{{" not in text)
SIMPLE = (
    st.builds(Action, PIPES)
    | st.builds(Action, pipelines(INNER, ("x",)))
    | st.builds(Invoke, st.sampled_from(("t", 'a "b"')), st.none() | PIPES, st.just(HERE))
)


def bodies(inner: st.SearchStrategy) -> st.SearchStrategy:
    """Nodes without two texts side by side, which would be parsed as one."""
    pairs = st.lists(st.tuples(TEXTS | st.none(), inner), max_size=2)
    return pairs.map(
        lambda found: tuple(
            Text(n) if isinstance(n, str) else n for pair in found for n in pair if n is not None
        )
    )


def structures(inner: st.SearchStrategy) -> st.SearchStrategy:
    body = bodies(inner)
    otherwise = st.none() | body
    branches = st.lists(st.builds(Branch, PIPES, body), min_size=1, max_size=2).map(tuple)
    leaving = st.tuples(body, st.builds(Leave, st.booleans())).map(lambda two: (*two[0], two[1]))
    return (
        st.builds(If, branches, otherwise)
        | st.builds(With, branches, otherwise)
        | st.builds(Range, PIPES, body | leaving, otherwise)
        | st.builds(Range, pipelines(INNER, ("x", "y")), body, otherwise)
    )


NODES = bodies(SIMPLE | structures(SIMPLE | structures(SIMPLE)))
DECLARED = tuple(Action(Pipeline(Literal(1, HERE), (), HERE, (name,))) for name in ("x", "y"))


@given(NODES, st.none() | NODES)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_printing_and_parsing_again_gives_the_same_tree(
    nodes: tuple[Node, ...], defined: tuple[Node, ...] | None
) -> None:
    definitions = {} if defined is None else {"t": (*DECLARED, *defined)}
    template = Template((Text(".nuon"), *DECLARED, *nodes), definitions)
    assert parse(str(template)) == template


PIECES = [
    *'ab.({|})"`-/*\\ \n0x$', "{{", "}}", ".nuon", "default ", "{{ end }}", "{{ else }}",
    "{{ if .nuon }}", "{{ with .nuon }}", "{{ range .nuon }}", "$x := ", "$x", "{{ break }}",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
@settings(max_examples=settings().max_examples * 3)
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


CREDS = {
    "creds": Sensitive('{"user": "shop", "password": "pa55-of-shop"}'),
    "listed": Sensitive("one-of-them,pa55-of-shop"),
    "coded": Sensitive("cGE1NS1vZi1zaG9w"),
    "empty": Sensitive(""),
    "open": "of-nobody",
}


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("{{ (fromJson .nuon.creds).password }}", {"pa55-of-shop"}),
        ("x={{ (fromJson .nuon.creds).password }};{{ .nuon.open }}", {"pa55-of-shop"}),
        ('{{ index (splitList "," .nuon.listed) 1 }}', {"pa55-of-shop"}),
        ("{{ b64dec .nuon.coded }}", {"pa55-of-shop"}),
        ('{{ trimPrefix "one-of-them," .nuon.listed }}', {"pa55-of-shop"}),
        ("{{ $c := fromJson .nuon.creds }}{{ .nuon.open }}{{ $c.password }}", {"pa55-of-shop"}),
        ("{{ with fromJson .nuon.creds }}{{ .password }}{{ end }}", {"pa55-of-shop"}),
        ("{{ range $i, $k := fromJson .nuon.creds }}{{ $k }}{{ end }}", {"shop", "pa55-of-shop"}),
        (
            '{{ define "t" }}{{ .password }}{{ end }}{{ template "t" (fromJson .nuon.creds) }}',
            {"pa55-of-shop"},
        ),
        ("{{ if $c := .nuon.coded }}{{ b64dec $c }}{{ end }}", {"pa55-of-shop"}),
        ('{{ if eq .nuon.listed "x" }}a{{ else }}{{ .nuon.open }}{{ end }}', set()),
        ('{{ .nuon.empty | default "of-the-vendor" }} {{ .nuon.open }}', set()),
        ("{{ .nuon.open }}", set()),
    ],
)
def test_what_is_taken_out_of_something_sensitive_is_told(text: str, taken: set[str]) -> None:
    rendered = parse(text).render({"nuon": CREDS})
    assert rendered.taken == taken
    assert render_value({"a": [text]}, {"nuon": CREDS}).taken == taken
    assert rendered.sensitive is (text.strip("{} .").removeprefix("nuon.") != "open")
