"""`worker.describe`: what an install worker reports about itself."""

import asyncio
import logging
import platform
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import version

from temporalio import activity

from activities.customer.rules import Rules
from activities.engines import Engine
from activities.heartbeats import heartbeating
from contracts import installs
from contracts.actions import FEATURE_ACTION, FEATURE_LONG_ACTIONS
from contracts.deploys import FEATURE_DEPLOY
from contracts.errors import ExclaveError
from contracts.installs import DescribeInput
from contracts.logs import FEATURE_LOGS
from contracts.messages import WorkerDescription
from contracts.operations import FEATURE_STOP
from contracts.provisions import FEATURE_PROVISION
from contracts.readmes import FEATURE_README

PROTOCOL = 1
"""To be increased when an old control plane could no longer work with this worker."""

_FEATURES = frozenset(
    {
        FEATURE_DEPLOY,
        FEATURE_ACTION,
        FEATURE_LONG_ACTIONS,
        FEATURE_STOP,
        FEATURE_PROVISION,
        FEATURE_LOGS,
        FEATURE_README,
    }
)
"""Features that inputs may require of every worker of this version."""

_log = logging.getLogger(__name__)


class DescribeActivities:
    """Runs on the install worker."""

    def __init__(self, rules: Rules, engines: tuple[Engine, ...]) -> None:
        self._rules = rules
        self._engines = engines

    @activity.defn(name=installs.DESCRIBE.name)
    async def describe(self, input: DescribeInput) -> WorkerDescription:
        """Describe the worker; that the activity completes means that the worker is connected."""
        async with heartbeating():
            return await asyncio.to_thread(describe, self._rules, self._engines)


def features(engines: Iterable[Engine]) -> frozenset[str]:
    """Features that inputs may require of a worker with these engines."""
    return _FEATURES | {engine.spec.feature for engine in engines}


def describe(rules: Rules, engines: tuple[Engine, ...]) -> WorkerDescription:
    """The worker's description, with what the customer's policy sets now; blocks."""
    return rules.shown_in(_describe_program(engines))


@lru_cache(maxsize=1)
def _describe_program(engines: tuple[Engine, ...]) -> WorkerDescription:
    """Protocol, features and tool versions; found once per process, since tools come with it."""
    return WorkerDescription(
        protocol=PROTOCOL,
        features=sorted(features(engines)),
        tools=_tools(engines),
        version=version("exclave"),
        host=platform.node(),
    )


def _tools(engines: Iterable[Engine]) -> dict[str, str]:
    found: dict[str, str] = {}
    for engine in engines:
        if engine.find_tool is None:
            continue
        try:
            tool = engine.find_tool()
        except ExclaveError as error:
            _log.warning("%s", error.message)
        else:
            found[tool.name] = tool.version
    return found
