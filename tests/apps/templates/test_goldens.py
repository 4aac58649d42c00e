"""Our template language gives what Go's text/template with sprig gives."""

import pytest
from golden_cases import Case, areas, make_goldens, read_cases, read_goldens

from apps.templates import TemplateError, go_text, parse

REFUSED = "refused"


def rendered(case: Case) -> str:
    # A comment makes a template also of what names no root.
    return go_text(parse(case.template + "{{/* .nuon */}}").render(case.data()).value)


def _cases() -> list[object]:
    return [
        pytest.param(area, case, id=f"{area}: {case.name}")
        for area in areas()
        if area != REFUSED
        for case in read_cases(area)
    ]


@pytest.mark.parametrize(("area", "case"), _cases())
def test_a_template_gives_what_it_gives_in_go(area: str, case: Case) -> None:
    golden = read_goldens(area).get(case.name)
    assert golden is not None, "Go's result is missing; `make goldens` stores it"
    if "error" in golden:
        with pytest.raises(TemplateError):
            rendered(case)
    else:
        assert rendered(case) == golden["output"]


@pytest.mark.process
@pytest.mark.parametrize("area", areas())
def test_the_stored_results_are_what_go_gives(area: str) -> None:
    assert read_goldens(area) == make_goldens(area)
