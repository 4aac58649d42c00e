"""What cannot be used fails at once, with its type and what would be right; nothing hangs."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.common import RawValue
from temporalio.service import RPCError

from tests.workflows.workflow_site import (
    PATIENCE_SECONDS,
    RELEASE,
    Handle,
    Site,
    asked,
    failure,
    refusal,
    until,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

GOOD: dict[str, dict[str, Any]] = {
    "Build": {"app": "shop", "source": RELEASE},
    "Install": {"install": "acme", "app": "shop"},
    "Deploy": {"install": "acme", "release": RELEASE},
    "Action": {"install": "acme", "action": "health"},
}
IDS = {"Build": "build/shop", "Install": "install/acme", "Deploy": "deploy/acme"}
IDS |= {"Action": "action/acme/health"}
CASES = [
    "unknown key", "key missing", "wrong type", "bad name", "a list", "a string", "json null",
    "null", "bytes", "no input", "two inputs",
]  # fmt: skip


def arguments(good: dict[str, Any], case: str) -> list[Any]:  # noqa: PLR0911 - one per case
    first = next(iter(good))
    match case:
        case "unknown key":
            return [{**good, f"{first}s": "x"}]
        case "key missing":
            return [{key: value for key, value in good.items() if key != first}]
        case "wrong type":
            return [{**good, first: 7}]
        case "bad name":
            return [{**good, first: "No Such Name!"}]
        case "a list":
            return [[good]]
        case "a string":
            return ["good"]
        case "json null":
            return [RawValue(Payload(metadata={"encoding": b"json/plain"}, data=b"null"))]
        case "null":
            # Payloads have an encoding of its own for it, which every SDK sends.
            return [None]
        case "bytes":
            return [b"{}"]
        case "no input":
            return []
        case _:
            return [good, good]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("type", GOOD)
async def test_a_workflow_fails_at_once(client: Client, type: str, case: str) -> None:
    args = arguments(GOOD[type], case)
    id = f"{IDS[type]}/{case.replace(' ', '-')}"
    run = await client.start_workflow(type, args=args, id=id, task_queue="control")
    try:
        error = await failure(run)
    finally:
        with suppress(RPCError):
            await run.terminate("what hangs would fail its task for ever")
    assert (error.type, error.non_retryable) == ("BadInput", True)
    if case == "unknown key":
        first = next(iter(GOOD[type]))
        assert f"did you mean `{first}`?" in error.message
    if case.endswith(("input", "inputs")):
        assert "exactly one input" in error.message


@pytest.mark.parametrize("type", ["deploy", "No", "Install2"])
async def test_an_unknown_workflow_type_says_which_there_are(client: Client, type: str) -> None:
    several: list[list[Any]] = [[], [{}], [1, 2]]
    for args in several:
        run = await client.start_workflow(
            type, args=args, id=f"unknown/{type}/{len(args)}", task_queue="control"
        )
        error = await failure(run)
        assert error.type == "BadInput"
        assert repr(type) in error.message
        assert "Build, Install, Provision, Deploy, Deprovision, Action, Access" in error.message


@pytest.mark.parametrize(
    ("type", "right"),
    [
        ("Build", "build/shop/…"),
        ("Install", "install/acme"),
        ("Deploy", "deploy/acme/…"),
        ("Action", "action/acme/health/…"),
    ],
)
async def test_a_run_is_named_after_its_owner(client: Client, type: str, right: str) -> None:
    for wrong in (
        f"{type}-1",
        f"other/{type}/acme",
        right.replace("acme", "b").replace("shop", "b"),
    ):
        run = await client.start_workflow(type, GOOD[type], id=wrong, task_queue="control")
        error = await failure(run)
        assert error.type == "BadInput"
        assert repr(wrong) in error.message
        assert repr(right) in error.message


@pytest.mark.parametrize("rest", ["\u2028- db: applied", "a b", "\u202egnitset", "ü", "a`b`"])
async def test_an_id_that_could_not_be_shown_is_refused(client: Client, rest: str) -> None:
    run = await client.start_workflow(
        "Deploy", GOOD["Deploy"], id=f"deploy/acme/{rest}", task_queue="control"
    )
    error = await failure(run)
    assert error.type == "BadInput"
    assert "has characters that cannot be shown" in error.message
    assert rest not in error.message or rest.isascii()


@pytest.mark.parametrize("words", [{"by": "ann\u202e"}, {"reason": "no\u2028- net: applied"}])
async def test_words_that_would_not_be_shown_are_refused(site: Site, words: dict[str, str]) -> None:
    await site.begin()
    run = await site.deploy()
    plan = await asked(run, "net")
    for update in ("approve", "deny"):
        error = await refusal(run, update, {"digest": plan.digest, **words})
        assert error.type == "BadInput"
        assert f"`{next(iter(words))}` contains an invisible character" in error.message
    await asked(run, "net")
    await run.terminate("a test")


@pytest.mark.parametrize("case", CASES)
async def test_an_update_is_refused_at_once(site: Site, case: str) -> None:
    await site.begin()
    await until(site.status)
    updates: dict[str, dict[str, Any]] = {
        "deploy": {"release": RELEASE},
        "act": {"action": "health"},
        "set_inputs": {"values": {}},
    }
    await refused(site.entity, updates, case)
    assert (await site.status()).holder is None, "nothing was started"


@pytest.mark.parametrize("case", CASES)
async def test_an_update_on_a_deploy_is_refused_at_once(site: Site, case: str) -> None:
    await site.begin()
    run = await site.deploy()
    plan = await asked(run, "net")
    updates = {name: {"digest": plan.digest} for name in ("approve", "deny", "view")}
    await refused(run, updates, case)
    await asked(run, "net")
    await run.terminate("a test")


async def refused(run: Handle, updates: dict[str, dict[str, Any]], case: str) -> None:
    """What hangs stops the whole workflow, which is worse than one update."""
    try:
        for update, good in updates.items():
            error = await refusal(run, update, *arguments(good, case))
            assert error.type == "BadInput", (update, error)
    except TimeoutError:
        await run.terminate("what hangs would fail its task for ever")
        raise


async def test_an_unknown_update_is_refused(site: Site) -> None:
    await site.begin()
    await until(site.status)
    with pytest.raises(WorkflowUpdateFailedError) as caught:
        await site.entity.execute_update("deplyo", {"release": RELEASE})
    assert "deplyo" in str(caught.value.cause)


SIGNAL_CASES = ["unknown key", "wrong type", "a string", "null", "no input", "no run id"]


@pytest.mark.parametrize("case", SIGNAL_CASES)
@pytest.mark.parametrize("signal", ["request_turn", "end_turn"])
async def test_a_malformed_signal_does_not_stop_the_install(
    site: Site, signal: str, case: str
) -> None:
    await site.begin()
    await until(site.status)
    run_id = "0198c0de-0000-7000-8000-000000000000"
    good = {"workflow_id": "deploy/nobody/1", "run_id": run_id, "turn": None}
    args = [good | {"run_id": "1"}] if case == "no run id" else arguments(good, case)
    await site.entity.signal(signal, args=args)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            run = await site.deploy()
        await site.holder(run)
        await run.terminate("a test")
    finally:
        await site.entity.terminate("what hangs would fail its task for ever")
