"""Registers the activities of runs on an install worker, without importing them yet.

Most workers of a fleet are idle, and engines, templates and their imports take 3 MB and a part of
each start. They are all imported together, with the first task.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel
from temporalio import activity

from activities.engines import AnyActivity
from activities.workplace import Workplace
from contracts import actions, deploys, logs, provisions, readmes
from contracts.activities import Activity

if TYPE_CHECKING:
    from workers.run_activities import RunActivities

I = TypeVar("I", bound=BaseModel)  # noqa: E741 - as in the declaration
O = TypeVar("O", bound=BaseModel)  # noqa: E741


def _imported() -> "type[RunActivities]":
    from workers.run_activities import RunActivities  # noqa: PLC0415 - see above

    return RunActivities


def activities_of_runs(workplace: Workplace) -> list[AnyActivity]:
    """The activities of runs; their code is imported when the first one is called."""

    @cache
    def imported() -> "RunActivities":
        return _imported()(workplace)

    def late(
        declared: Activity[I, O], of: "Callable[[RunActivities], Callable[[I], Awaitable[O]]]"
    ) -> AnyActivity:
        async def begun(input: I) -> O:
            # In a thread, so that other tasks go on meanwhile.
            await asyncio.to_thread(_imported)
            return await of(imported())(input)

        # The SDK reads the type of a task's input from these.
        begun.__annotations__ = {"input": declared.input, "return": declared.result}
        return activity.defn(name=declared.name)(begun)

    return [
        late(logs.READ_LOG, lambda of: of.logs.read),
        late(readmes.READ_README, lambda of: of.readme.read),
        late(deploys.SCOPE, lambda of: of.deploy.scope),
        late(deploys.VIEW, lambda of: of.deploy.view),
        late(deploys.FINISH, lambda of: of.deploy.finish),
        late(provisions.PROVISION_SCOPE, lambda of: of.provision.scope),
        late(provisions.PROVISION_FINISH, lambda of: of.provision.finish),
        late(provisions.DEPROVISION_SCOPE, lambda of: of.deprovision.scope),
        late(provisions.DEPROVISION_FINISH, lambda of: of.deprovision.finish),
        late(actions.SCOPE, lambda of: of.action.scope),
        late(actions.STEP, lambda of: of.action.step),
        *(
            late(declared, partial(_of_engine, declared.name))
            for engine in workplace.engines
            for declared in engine.spec.work.activities
        ),
    ]


def _of_engine(name: str, of: "RunActivities") -> AnyActivity:
    return of.of_engines[name]
