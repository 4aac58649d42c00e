"""`set_inputs`: what the release declares, and nothing that is sensitive."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from apps.config.app import AppConfig
from apps.config.inputs import Input
from apps.config.metadata import Metadata
from apps.input_values import InputErrors, effective_inputs
from contracts.deploys import INPUTS_LIMIT_BYTES, Inputs, ScopeInput
from contracts.errors import BadInput
from contracts.releases import DeclaredInput
from tests.workflows.workflow_site import (
    NO_CHANGES,
    OTHER_RELEASE,
    RELEASE,
    FakeControl,
    Site,
    outcomes,
    refusal,
    until,
)
from workflows.installs.inputs import merged, refuse_size, refuse_values

loop = pytest.mark.asyncio(loop_scope="session")

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DECLARED = [
    DeclaredInput(name="zone"),
    DeclaredInput(name="count", type="number"),
    DeclaredInput(name="public", type="bool"),
    DeclaredInput(name="tags", type="json"),
    DeclaredInput(name="names", type="list"),
    DeclaredInput(name="license", sensitive=True),
]


@loop
async def test_inputs_are_unknown_until_a_release_was_read(site: Site) -> None:
    await site.begin()

    async def look() -> bool:
        error = await refusal(site.entity, "set_inputs", {"values": {"zone": "b"}})
        assert error.type == "BadInput"
        return "has not read a release yet" in error.message

    await until(look)


@loop
async def test_what_is_set_reaches_the_next_deploy(site: Site, releases: FakeControl) -> None:
    releases.inputs[site.app] = DECLARED
    site.worker.answers["plan net"] = [NO_CHANGES]
    await site.begin(release=RELEASE)
    await site.knows_its_inputs()
    first = await site.entity.execute_update(
        "set_inputs", {"values": {"zone": "b", "count": "3"}}, result_type=Inputs
    )
    second = await site.entity.execute_update(
        "set_inputs", {"values": {"count": None}}, result_type=Inputs
    )
    assert first.values == {"zone": "b", "count": "3"}
    assert second.values == {"zone": "b"}
    assert second.revision > first.revision > 0
    await refusal(site.entity, "set_inputs", {"values": {"zone": "c", "license": "secret"}})
    assert (await site.status()).inputs == second
    await outcomes(await site.deploy())
    [scope] = site.worker.told(ScopeInput)
    assert scope.inputs == second


@loop
async def test_a_deploy_teaches_the_inputs(site: Site, releases: FakeControl) -> None:
    releases.inputs[site.app] = DECLARED
    site.worker.answers["plan net"] = [NO_CHANGES]
    await site.begin()
    await outcomes(await site.deploy())
    await site.holder(None)
    await site.entity.execute_update("set_inputs", {"values": {"zone": "b"}})


@loop
async def test_a_release_that_cannot_be_read_fails_its_deploy_and_not_the_install(
    site: Site, releases: FakeControl
) -> None:
    releases.inputs[site.app] = DECLARED
    await site.begin(release=RELEASE)
    await site.knows_its_inputs()
    await site.entity.execute_update("set_inputs", {"values": {"zone": "b"}})
    releases.unknown.add((site.app, OTHER_RELEASE))
    run = await site.deploy(OTHER_RELEASE)
    with pytest.raises(WorkflowFailureError) as caught:
        await run.result()
    assert isinstance(caught.value.cause, ApplicationError)
    assert caught.value.cause.type == "NotThere"
    await site.holder(None)
    status = await site.status()
    assert status.inputs.values == {"zone": "b"}
    assert (await site.entity.describe()).status is WorkflowExecutionStatus.RUNNING
    await site.entity.execute_update("set_inputs", {"values": {"zone": "c"}})


def refused(values: dict[str, str | None]) -> str:
    with pytest.raises(BadInput) as caught:
        refuse_values(values, DECLARED)
    return caught.value.message


def test_each_type_is_checked() -> None:
    good = {"zone": "any", "count": "1.5e3", "public": "false", "tags": '{"a": 1}', "names": "[]"}
    refuse_values(good, DECLARED)
    refuse_values(dict.fromkeys(good), DECLARED)
    assert "count: must be" in refused({"count": "many"})
    assert "public: must be" in refused({"public": "yes"})
    assert "tags: must be" in refused({"tags": "{"})
    assert "names: must be" in refused({"names": '{"a": 1}'})


def test_all_problems_are_told_at_once_and_no_value() -> None:
    message = refused({"zon": "b", "count": "hunter2", "license": "hunter3", "zone": "b"})
    assert "zon: the app has no such input; it has: zone, count, public" in message
    assert "count: must be" in message
    assert "license: is sensitive" in message
    assert "exclave worker set-input" in message
    assert "hunter" not in message


def test_a_sensitive_input_cannot_be_taken_back_here_either() -> None:
    assert "license: is sensitive" in refused({"license": None})


TEXTS = st.text() | st.from_regex(r"[-+]?[0-9_]{1,3}([.e][0-9]+)?", fullmatch=True)
ODD = ["", "nan", "inf", "1_000", "\uff10", " 1 ", "1e999", "[" * 100_000, "[1]", "null", "true"]


@pytest.mark.parametrize("kind", ["number", "bool", "json", "list", "string"])
@given(text=TEXTS | st.sampled_from(ODD))
def test_what_is_taken_here_is_taken_on_the_worker(kind: str, text: str) -> None:
    """A value that only one of the two sides refuses would fail the deploy, or never get there."""
    given = {"display_name": "", "description": "", "name": "one", "type": kind}
    config = AppConfig(metadata=Metadata(version="v2"), inputs=[Input.model_validate(given)])
    assert _is_taken(
        lambda: refuse_values({"one": text}, [DeclaredInput(name="one", type=kind)])
    ) == _is_taken(lambda: effective_inputs(config, {"one": text}))


def _is_taken(check: Callable[[], object]) -> bool:
    try:
        check()
    except (BadInput, InputErrors):
        return False
    return True


NAMES = st.sampled_from(["a", "b", "c"])


@given(
    st.dictionaries(NAMES, st.text()),
    st.dictionaries(NAMES, st.none() | st.text()),
    st.integers(0, 2**60),
)
def test_merging_keeps_the_rest_and_only_grows(
    before: dict[str, str], change: dict[str, str | None], revision: int
) -> None:
    now = merged(Inputs(revision=revision, values=before), change, NOW)
    assert now.revision > revision
    for name in ("a", "b", "c"):
        assert now.values.get(name) == change.get(name, before.get(name))


def test_a_later_install_has_later_revisions_than_an_ended_one() -> None:
    ended = merged(Inputs(), {"a": "1"}, NOW)
    for _ in range(5):
        ended = merged(ended, {"a": "1"}, NOW)
    assert merged(Inputs(), {"a": "2"}, NOW + timedelta(seconds=1)).revision > ended.revision


@given(
    st.dictionaries(NAMES, st.text()),
    st.lists(st.dictionaries(NAMES, st.none() | st.text()), max_size=5),
)
def test_what_was_taken_back_is_known_and_nothing_else(
    before: dict[str, str], changes: list[dict[str, str | None]]
) -> None:
    now = Inputs(revision=1, values=before, base=1)
    for change in changes:
        now = merged(now, change, NOW)
    last = {name: value for change in changes for name, value in change.items()}
    assert now.removed == sorted(name for name, value in last.items() if value is None)
    assert now.base == 1


def test_values_may_be_as_large_as_a_deploy_can_carry() -> None:
    frame = len('{"zone": ""}')
    refuse_size(Inputs(values={"zone": "x" * (INPUTS_LIMIT_BYTES - frame)}))
    with pytest.raises(BadInput, match=f"{INPUTS_LIMIT_BYTES}; the largest is zone") as caught:
        refuse_size(Inputs(values={"a": "", "zone": "x" * (INPUTS_LIMIT_BYTES - frame)}))
    assert "xx" not in caught.value.message


@loop
async def test_values_that_are_too_large_together_are_refused_and_the_install_goes_on(
    site: Site, releases: FakeControl
) -> None:
    releases.inputs[site.app] = DECLARED
    await site.begin(release=RELEASE)
    await site.knows_its_inputs()
    large = "x" * (INPUTS_LIMIT_BYTES // 2)
    before = await site.entity.execute_update(
        "set_inputs", {"values": {"zone": large}}, result_type=Inputs
    )
    error = await refusal(site.entity, "set_inputs", {"values": {"tags": f'"{large}"'}})
    assert error.type == "BadInput"
    assert str(INPUTS_LIMIT_BYTES) in error.message
    assert (await site.status()).inputs == before
