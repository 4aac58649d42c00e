"""`worker.describe`: what an install worker says of itself."""

import asyncio
import logging
import platform
from functools import lru_cache
from importlib.metadata import version

from temporalio import activity

from activities.customer.rules import Rules
from activities.heartbeats import heartbeating
from activities.terraform.tool import find_terraform
from contracts import installs
from contracts.actions import FEATURE_ACTION
from contracts.deploys import FEATURE_DEPLOY, FEATURE_TERRAFORM
from contracts.errors import ExclaveError
from contracts.installs import DescribeInput
from contracts.logs import FEATURE_LOGS
from contracts.messages import WorkerDescription
from contracts.operations import FEATURE_STOP
from contracts.provisions import FEATURE_PROVISION
from contracts.readmes import FEATURE_README

PROTOCOL = 1
"""Raised when an old control plane could no longer speak with this worker."""

FEATURES = frozenset(
    {
        FEATURE_DEPLOY,
        FEATURE_TERRAFORM,
        FEATURE_ACTION,
        FEATURE_STOP,
        FEATURE_PROVISION,
        FEATURE_LOGS,
        FEATURE_README,
    }
)
"""What inputs may require of this worker."""

_log = logging.getLogger(__name__)


class DescribeActivities:
    """Runs on the install worker."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    @activity.defn(name=installs.DESCRIBE.name)
    async def describe(self, input: DescribeInput) -> WorkerDescription:
        """Its completion means that the worker is connected."""
        async with heartbeating():
            return await asyncio.to_thread(describe, self._rules)


def describe(rules: Rules) -> WorkerDescription:
    """What the worker is, and what the customer's policy is about now; blocks."""
    return rules.shown_in(_describe_program())


@lru_cache(maxsize=1)
def _describe_program() -> WorkerDescription:
    """Protocol, features and tool versions; asked once a process, since tools come with it."""
    return WorkerDescription(
        protocol=PROTOCOL,
        features=sorted(FEATURES),
        tools=_tools(),
        version=version("exclave"),
        host=platform.node(),
    )


def _tools() -> dict[str, str]:
    try:
        terraform = find_terraform()
    except ExclaveError as error:
        _log.warning("%s", error.message)
        return {}
    return {terraform.name: terraform.version}
