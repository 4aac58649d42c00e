"""Control structures: what they print, what they mark as sensitive, and their bounds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.sensitivity import Sensitive
from apps.templates import Rendered, TemplateError, parse

DATA: dict[str, Any] = {
    "nuon": {
        "s": "text", "zero": 0, "list": ["a", "b"], "no": [], "map": {"b": 2, "a": 1}, "none": None,
        "outputs": {"url": "u", "password": Sensitive("hush")},
        "secrets": [Sensitive("hush"), "open"],
    }
}  # fmt: skip


def render(text: str) -> Rendered:
    return parse(text).render(DATA)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("{{ if .nuon.s }}a{{ else }}b{{ end }}", "a"),
        ("{{ if .nuon.zero }}a{{ else if .nuon.no }}b{{ else }}c{{ end }}", "c"),
        ("{{ with .nuon.map }}{{ .a }}{{ $.nuon.s }}{{ end }}", "1text"),
        ("{{ with .nuon.no }}a{{ else with .nuon.map }}{{ .b }}{{ end }}", "2"),
        ("{{ range .nuon.list }}[{{ . }}]{{ end }}", "[a][b]"),
        ("{{ range $i, $e := .nuon.list }}{{ $i }}{{ $e }}{{ end }}", "0a1b"),
        ("{{ range $k, $v := .nuon.map }}{{ $k }}{{ $v }}{{ end }}", "a1b2"),
        ("{{ range .nuon.no }}a{{ else }}none{{ end }}", "none"),
        ("{{ range .nuon.none }}a{{ else }}none{{ end }}", "none"),
        ("{{ range 3 }}{{ . }}{{ end }}{{/* .nuon */}}", "012"),
        ("{{ range .nuon.list }}{{ . }}{{ break }}{{ end }}", "a"),
        ("{{ range .nuon.list }}{{ if eq . `a` }}{{ continue }}{{ end }}{{ . }}{{ end }}", "b"),
        ("{{ $x := 1 }}{{ if .nuon.s }}{{ $x = 2 }}{{ end }}{{ $x }}", "2"),
        ("{{ $x := 1 }}{{ if .nuon.s }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}", "21"),
        ("{{ $z := 3 }}{{ range $z = .nuon.list }}{{ end }}{{ $z }}", "b"),
        ('{{ define "t" }}<{{ . }}>{{ end }}{{ template "t" .nuon.s }}{{ template "t" }}',
         "<text><<no value>>"),
        ('{{ block "t" .nuon.map }}{{ .a }}{{ end }}', "1"),
        ('{{ or .nuon.zero .nuon.s .nope }}{{ and .nuon.zero .nope }}', "text0"),
    ],
)  # fmt: skip
def test_prints_as_go_does(text: str, printed: str) -> None:
    assert render(text).value == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ range .nuon.s }}{{ end }}", "cannot go through a string"),
        ("{{ range $i, $x := 3 }}{{ end }}.nuon", "takes one variable"),
        ('{{ template "t" . }}.nuon', "there is no template `t`"),
        ("{{ with .nuon.list }}{{ .x }}{{ end }}", "`.` is a list, not a map"),
        ("{{ range 1000000000 }}{{ end }}.nuon", "does not end within 500000 steps"),
        ('{{ define "t" }}{{ template "t" . }}{{ end }}{{ template "t" . }}.nuon', "50 deep"),
        ("{{ range 10000 }}" * 3 + "x" + "{{ end }}" * 3 + ".nuon", "does not end within"),
        ("{{ range 400000 }}" + "x" * 100 + "{{ end }}.nuon", "longer than"),
    ],
)
def test_what_cannot_be_rendered_ends_in_a_clear_error(text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(text)
    assert message in str(caught.value)


@pytest.mark.long
def test_a_megabyte_of_actions_is_parsed_and_its_reads_are_found() -> None:
    text = "{{ .nuon.s }}{{ if .nuon.zero }}x{{ end }}" * 20_000
    assert len(parse(text).reads()) == 2
    assert render(text).value == "text" * 20_000


@pytest.mark.parametrize("opening", ["{{ if .nuon }}", "{{ with .nuon }}", "{{ range .nuon }}"])
def test_nesting_is_bounded(opening: str) -> None:
    with pytest.raises(TemplateError, match="nested deeper than 100"):
        parse(opening * 200 + "{{ end }}" * 200)
    parse(opening * 100 + "{{ end }}" * 100).reads()
    many = "{{ if .nuon.zero }}" + "{{ else if .nuon.zero }}" * 5_000 + "{{ end }}"
    assert render(many).value == ""


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ('{{ index .nuon.outputs "url" }}', Rendered("u", False)),
        ('{{ index .nuon.outputs "password" }}', Rendered("hush", True)),
        ('{{ get .nuon.outputs "url" }}', Rendered("u", False)),
        ('{{ dig "url" "" .nuon.outputs }}', Rendered("u", False)),
        ('{{ dig "password" "" .nuon.outputs }}', Rendered("hush", True)),
        ("{{ len .nuon.outputs }}", Rendered("2", False)),
        ("{{ if .nuon.outputs.password }}yes{{ end }}", Rendered("yes", True)),
        ("{{ with .nuon.outputs }}{{ .url }}{{ end }}", Rendered("u", False)),
        ("{{ range .nuon.secrets }}{{ break }}{{ end }}", Rendered("", False)),
        ("{{ range .nuon.secrets }}{{ . }}{{ break }}{{ end }}", Rendered("hush", True)),
        ("{{ $x := .nuon.outputs }}{{ $x.password }}", Rendered("hush", True)),
    ],
)
def test_only_what_was_looked_at_makes_it_sensitive(text: str, rendered: Rendered) -> None:
    assert render(text) == rendered


def test_what_a_function_says_of_a_sensitive_value_is_not_shown() -> None:
    with pytest.raises(TemplateError) as caught:
        render("{{ fail .nuon.outputs.password }}")
    assert "hush" not in str(caught.value)


def test_a_template_cannot_change_what_it_was_given() -> None:
    text = '{{ $_ := set .nuon.map "a" 5 }}{{ .nuon.map.a }}'
    assert render(text).value == "1"
    made = '{{ $d := dict "a" 1 }}{{ $_ := set $d "b" 2 }}{{ $d }}.nuon'
    assert render(made).value == "map[a:1 b:2].nuon"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)  # fmt: skip


@given(VALUES)
def test_if_with_and_range_agree_on_what_is_empty(value: object) -> None:
    data = {"nuon": {"x": value}}
    one = parse("{{ if .nuon.x }}1{{ end }}").render(data).value
    other = parse("{{ with .nuon.x }}1{{ end }}").render(data).value
    assert one == other
    if isinstance(value, list | dict):
        found = parse("{{ range .nuon.x }}1{{ else }}0{{ end }}").render(data).value
        assert found == ("1" * len(value) or "0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{{ $s := repeat 999999 "x" }}{{ range 999 }}{{ $_ := upper $s }}{{ end }}.nuon', "steps"),
        ('{{ "/w==" | b64dec }}.nuon', "not valid UTF-8"),
        ('{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}.nuon', "contains itself"),
        ('{{ (semver "1.2.3").Nope }}.nuon', "Nope"),
    ],
)  # fmt: skip
def test_what_functions_make_is_bounded_and_is_text(text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(text)
    assert message in str(caught.value)


def test_a_version_has_parts() -> None:
    assert render('{{ (semver "1.2.3").Major }}.nuon').value == "1.nuon"
