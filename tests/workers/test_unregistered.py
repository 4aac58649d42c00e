"""A task that an install worker does not know is recorded in the audit log, and refused."""

import asyncio
import json
import logging
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import ActivityFailureError, Client
from temporalio.exceptions import ApplicationError

from activities.customer.audit_chain import HEAD_MESSAGE, Head
from activities.customer.audit_log import FOLDER, AuditLog
from activities.customer.rules import rules_of
from artifacts.registry import Registry
from client.refusals import UNKNOWN_ACTIVITY
from contracts.names import install_queue
from stacks.enrolment import Enrolment
from tests.workflows.workflow_plane import temporal
from workers.install import make, open_workplace
from workers.process import nothing

pytestmark = pytest.mark.process

FORGED = HEAD_MESSAGE % f"9:sha256:{'b' * 64}"


async def fails(client: Client, activity: str, id: str) -> ApplicationError:
    """The error of a standalone activity on the install's worker."""
    with pytest.raises(ActivityFailureError) as caught:
        await client.execute_activity(
            activity,
            {"install": "acme"},
            id=id,
            task_queue=install_queue("acme"),
            start_to_close_timeout=timedelta(seconds=30),
        )
    cause = caught.value.cause
    assert isinstance(cause, ApplicationError)
    return cause


async def test_an_activity_that_is_not_registered_leaves_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    enrolment = Enrolment.of(
        install="acme", namespace="dev", temporal="127.0.0.1:1", releases="http://127.0.0.1:1"
    )
    file = tmp_path / "enrolment.toml"
    file.write_text(enrolment.render())
    rules = rules_of(file, None)
    place = open_workplace(enrolment, tmp_path, lambda: Registry(enrolment.releases), rules)
    async with temporal() as client, make(client, place, nothing), asyncio.timeout(60):
        unknown = await fails(client, "shell.run", "one")
        assert (unknown.type, unknown.non_retryable) == (UNKNOWN_ACTIVITY, True)
        forged = await fails(client, "worker.describe", FORGED)
        assert (forged.type, forged.non_retryable) == ("BadInput", True)
    audit_log = AuditLog(tmp_path / FOLDER)
    assert audit_log.verified().problems == []
    asked, ended, described, refused = (json.loads(one) for one in audit_log.lines())
    assert (asked["kind"], asked["activity"], asked["verdict"]) == ("told", "shell.run", "refused")
    assert (ended["told"], ended["outcome"]) == (asked["number"], UNKNOWN_ACTIVITY)
    assert described["activity"] == "worker.describe"
    assert refused["outcome"] == "BadInput"
    assert FORGED not in json.dumps([asked, ended, described, refused])
    assert Head.all_in("\n".join(caplog.messages)) == []
