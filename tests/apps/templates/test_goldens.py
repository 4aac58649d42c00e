"""Our template language gives what Go's text/template with sprig gives."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.templates import TemplateError, go_text, parse
from apps.templates.functions import FUNCTIONS, REFUSED
from tests.apps.templates.generated_calls import DATA, calls
from tests.apps.templates.golden_cases import (
    Case,
    Result,
    areas,
    make_goldens,
    read_cases,
    read_goldens,
    run_engine,
    sprig_functions,
)

OWN = ("refused", "lenient")
"""Where ours differs on purpose."""


def rendered(case: Case) -> str:
    # A comment makes a template also of what names no root.
    return go_text(parse(case.template + "{{/* .nuon */}}").render(case.data()).value)


def _cases(*chosen: str) -> list[object]:
    return [
        pytest.param(area, case, id=f"{area}: {case.name[:60]}")
        for area in chosen
        for case in read_cases(area)
    ]


def _check(case: Case, golden: Result) -> None:
    if "error" in golden:
        with pytest.raises(TemplateError):
            rendered(case)
    else:
        assert rendered(case) == golden["output"]


@pytest.mark.parametrize(("area", "case"), _cases(*sorted(set(areas()) - set(OWN))))
def test_a_template_gives_what_it_gives_in_go(area: str, case: Case) -> None:
    golden = read_goldens(area).get(case.name)
    assert golden is not None, "Go's result is missing; `make goldens` stores it"
    _check(case, golden)


@pytest.mark.parametrize(("area", "case"), _cases("refused"))
def test_what_is_refused_says_why(area: str, case: Case) -> None:
    with pytest.raises(TemplateError) as caught:
        rendered(case)
    assert case.reason and case.reason in caught.value.message


@pytest.mark.parametrize(("area", "case"), _cases("lenient"))
def test_what_is_lenient_renders(area: str, case: Case) -> None:
    rendered(case)


def test_every_function_has_a_case() -> None:
    words = {
        word
        for area in areas()
        for case in read_cases(area)
        for word in re.findall(r"[A-Za-z_0-9]+", case.template)
    }
    assert set(FUNCTIONS) <= words


def test_every_reason_continues_a_sentence() -> None:
    assert not set(FUNCTIONS) & set(REFUSED)
    for reason in REFUSED.values():
        assert reason[0].islower() and not reason.endswith(".")


@pytest.mark.process
def test_every_function_of_sprig_is_there_or_refused() -> None:
    assert sprig_functions() <= set(FUNCTIONS) | set(REFUSED)


@pytest.mark.process
@pytest.mark.parametrize("area", sorted(set(areas()) - {"refused"}))
def test_the_stored_results_are_what_go_gives(area: str) -> None:
    assert read_goldens(area) == make_goldens(area)


@pytest.mark.process
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(calls, min_size=50, max_size=50, unique=True))
def test_generated_calls_give_what_they_give_in_go(generated: list[str]) -> None:
    cases = [Case(call, f"{{{{ {call} }}}}", DATA) for call in generated]
    for case, golden in zip(cases, run_engine(cases), strict=True):
        _check(case, golden)
