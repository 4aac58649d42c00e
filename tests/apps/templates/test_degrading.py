"""A page for people is shown as far as it can be, without what is sensitive."""

import pytest

from apps.sensitivity import Sensitive
from apps.templates.degrading import render_page

DATA = {
    "nuon": {
        "install": {"id": "acme"},
        "inputs": {"inputs": {"zone": "a", "key": Sensitive("s3cret")}},
        "list": ["x", "y"],
    }
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# {{ .nuon.install.id }}\n", "# acme\n"),
        ("no template {{ here }}", "no template {{ here }}"),
        (
            "{{ .nuon.install.id }} {{ .nuon.components.db.outputs.url }}!",
            "acme {{ .nuon.components.db.outputs.url }}!",
        ),
        ("{{ if .nuon.components.db }}yes{{ else }}no{{ end }}", "no"),
        ("{{ with $x := .nuon.nope }}{{ $x }}{{ else }}none{{ end }}", "none"),
        ("{{ $x := .nuon.nope }}[{{ $x }}]", "[<no value>]"),
        ("a {{ range .nuon.nope }}x{{ end }} b", "a {{ range .nuon.nope }}x{{ end }} b"),
        (
            "{{ range .nuon.list }}{{ . }}{{ .z }} {{ end }}.",
            "x{{ .z }} y{{ .z }} .",
        ),
        ("{{ .nuon.inputs.inputs.key }} {{ .nuon.install.id }}", "(sensitive) acme"),
        ("{{ $k := upper .nuon.inputs.inputs.key }}{{ $k }}", "(sensitive)"),
        ("{{ .nuon.inputs.inputs }}", "(sensitive)"),
        ("{{ .nuon.install.id | atoi | fail }}", "{{ .nuon.install.id | atoi | fail }}"),
        ("{{ .nuon.install.id ", "{{ .nuon.install.id "),
    ],
)
def test_what_cannot_be_rendered_stays_as_it_is(text: str, shown: str) -> None:
    page = render_page(text, DATA)
    assert page.text == shown
    assert all("s3cret" not in problem for problem in page.problems)


def test_each_problem_is_told_once() -> None:
    page = render_page("{{ range .nuon.list }}{{ $.nuon.nope }}{{ end }}{{ .nuon.x }}", DATA)
    assert [problem.rpartition(": ")[2] for problem in page.problems] == [
        "`$.nuon` has no `nope`",
        "`.nuon` has no `x`",
    ]


def test_it_is_bounded() -> None:
    long = "{{ range 1000000 }}{{ range 1000000 }}{{ $.nuon.nope }}{{ end }}{{ end }}.nuon"
    assert render_page(long, DATA).text == long
