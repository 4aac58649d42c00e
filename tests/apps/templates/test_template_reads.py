"""What a template may read is found in its tree, without rendering it."""

import pytest

from apps.templates import parse

REQUIRED, OPTIONAL, LOOKED_AT = "required", "optional", "looked at"


def read(text: str) -> dict[str, str]:
    found = {}
    for one in parse(text).reads():
        kind = REQUIRED if one.required else OPTIONAL
        found[".".join(one.path)] = kind if one.whole else f"{kind}, {LOOKED_AT}"
    return found


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("{{ .nuon.a.b }}", "nuon.a.b"),
        ("{{ $.exclave.a }}", "nuon.a"),
        ("{{ $x := .nuon.a }}{{ $x.b }}", "nuon.a.b"),
        ("{{ $x := .nuon.a }}", ""),
        ("{{ with .nuon.a }}{{ .b }}{{ $.nuon.c }}{{ end }}", "nuon.a nuon.a.b nuon.c"),
        ("{{ with $x := .nuon.a }}{{ $x.b }}{{ else }}{{ .nuon.c }}{{ end }}",
         "nuon.a nuon.a.b nuon.c"),
        ('{{ index .nuon.a "my-b" "c" }}', "nuon.a.my-b.c"),
        ('{{ (index .nuon.a "my-b").c }}', "nuon.a.my-b.c"),
        ("{{ (index .nuon.list 0).c }}", "nuon.list"),
        ("{{ index .nuon.a .nuon.key }}", "nuon.a nuon.key"),
        ('{{ $k := "b" }}{{ index .nuon.a $k }}', "nuon.a"),
        ("{{ range .nuon.list }}{{ .x }}{{ end }}", "nuon.list"),
        ("{{ range $k, $v := .nuon.map }}{{ $v.x }}{{ $.nuon.y }}{{ end }}", "nuon.map nuon.y"),
        ("{{ $x := .nuon.a }}{{ if .nuon.t }}{{ $x = .nuon.b }}{{ end }}{{ $x.c }}",
         "nuon.a.c nuon.b.c nuon.t"),
        ("{{ $x := 1 }}{{ range .nuon.l }}{{ print $x }}{{ $x = $.nuon.b }}{{ end }}",
         "nuon.b nuon.l"),
        ('{{ define "t" }}{{ .b }}{{ end }}{{ template "t" .nuon.a }}', "nuon.a.b"),
        ('{{ define "t" }}{{ template "t" .nuon }}{{ end }}{{ template "t" . }}.nuon', "nuon"),
        ('{{ block "t" .nuon.a }}{{ .b }}{{ end }}', "nuon.a.b"),
        ("{{ if false }}{{ .nuon.a }}{{ else if .nuon.b }}{{ end }}", "nuon.a nuon.b"),
        ("{{ (.nuon.a | default .nuon.b).c }}", "nuon.a nuon.a.c nuon.b nuon.b.c"),
        ("{{ and .nuon.a .nuon.b }}", "nuon.a nuon.b"),
        ('{{ .nuon.a | dig "b" "c" "no" }}', "nuon.a.b.c"),
    ],
)  # fmt: skip
def test_every_path_that_may_be_read_is_found(text: str, paths: str) -> None:
    assert " ".join(read(text)) == paths


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{{ if .nuon.a }}{{ end }}", {"nuon.a": f"{REQUIRED}, {LOOKED_AT}"}),
        ("{{ with .nuon.a }}{{ .b }}{{ end }}",
         {"nuon.a": f"{REQUIRED}, {LOOKED_AT}", "nuon.a.b": REQUIRED}),
        ("{{ with .nuon.a }}{{ . }}{{ end }}", {"nuon.a": REQUIRED}),
        ("{{ if eq .nuon.a 1 }}{{ end }}", {"nuon.a": REQUIRED}),
        ("{{ len .nuon.a }}", {"nuon.a": f"{REQUIRED}, {LOOKED_AT}"}),
        ('{{ dig "b" "c" "none" .nuon.a }}', {"nuon.a.b.c": OPTIONAL}),
        ('{{ get .nuon.a "b" }}', {"nuon.a.b": OPTIONAL}),
        ('{{ if hasKey .nuon.a "b" }}{{ .nuon.a.b.c }}{{ end }}',
         {"nuon.a.b": f"{OPTIONAL}, {LOOKED_AT}", "nuon.a.b.c": OPTIONAL}),
        ('{{ if hasKey .nuon.a "b" }}{{ end }}{{ .nuon.a.b.c }}',
         {"nuon.a.b": f"{OPTIONAL}, {LOOKED_AT}", "nuon.a.b.c": REQUIRED}),
    ],
)  # fmt: skip
def test_what_must_be_there_and_what_counts_of_it(text: str, found: dict[str, str]) -> None:
    assert read(text) == found


def test_where_it_is_read_first_is_known() -> None:
    [one] = parse("a\n {{ .nuon.x }}\n{{ .nuon.x }}").reads()
    assert (one.position.line, one.position.column) == (2, 5)
