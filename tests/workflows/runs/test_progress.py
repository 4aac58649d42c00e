"""What the Temporal UI shows of a run: Markdown, in which nobody's words are markup or a line."""

from datetime import UTC, datetime
from typing import Any, cast

from hypothesis import example, given
from hypothesis import strategies as st

from apps.display_text import shown_lines
from contracts.deploys import ComponentOutcome, Decision, Grant
from contracts.messages import Turn
from workflows.runs.approvals import Approvals
from workflows.runs.part import RunState
from workflows.runs.progress import run_details

RELEASE = "sha256:" + "1" * 64


def details(reason: str) -> str:
    grant = Grant(turn=Turn(number=1, workflow_id="deploy/acme/1"), app="shop")
    state = RunState(
        install="acme",
        grant=grant,
        approvals=Approvals(lambda: None),
        changed=lambda: None,
        state_revision=0,
        seen=datetime(2026, 1, 5, tzinfo=UTC),
        actions=cast(Any, None),
        engines={},
    )
    state.outcomes["net"] = ComponentOutcome(component="net", outcome="failed", reason=reason)
    decision = Decision(
        component="net", type="terraform_module", verb="plan", reason="r", release=RELEASE
    )
    return run_details("**Deploying** shop on acme: working", state, [decision], False)


@given(st.text(st.sampled_from("\n\x85\u2028\u2029\u202e\u200b`*_[]()<>&#-~|!\\ a1."), max_size=40))
@example("x\n- db: applied\n\n# All is well\n```")
@example("x\u2028- db: applied\x85&#8238;<b>")
def test_no_reason_is_markup_or_a_line_of_its_own(reason: str) -> None:
    text = details(reason)
    title, empty, line = text.split("\n")
    assert title and not empty and line.startswith("- net: failed")
    assert shown_lines(text) == text
    assert text.splitlines() == [title, empty, line]
    said = line.removeprefix("- net: failed")
    for at, one in enumerate(said):
        if one in "`*_[]<>&#~|!":
            backslashes = len(said[:at]) - len(said[:at].rstrip("\\"))
            assert backslashes % 2 == 1, said


def test_a_plain_reason_reads_as_it_was_written() -> None:
    assert details("EngineFailed: terraform apply failed.").endswith(
        "- net: failed (EngineFailed: terraform apply failed.)"
    )
