"""Calls to the control plane: each ends in bounded time, and each refusal is a sentence."""

from collections.abc import Awaitable
from datetime import datetime
from typing import Any, TypeVar
from uuid import uuid4

from google.protobuf.message import Message
from pydantic import BaseModel
from temporalio.client import (
    ActivityFailureError,
    Client,
    RPCTimeoutOrCancelledError,
    WorkflowExecution,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowQueryRejectedError,
    WorkflowUpdateFailedError,
)
from temporalio.common import QueryRejectCondition, WorkflowIDConflictPolicy
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCError

from client.errors import Away, Refused
from client.key_proof import KeyProof, NobodyProves
from client.refusals import (
    ACTIVITIES,
    ANSWER,
    NotOffered,
    Refusals,
    last_poll,
    nobody_there,
    of_activity,
    of_message,
)
from client.standalone import answer_of
from client.updates import sent_until_taken
from contracts.activities import Activity
from contracts.names import CONTROL_QUEUE
from wire.connection import TemporalAddress, connect_once
from wire.encryption.key_files import KeyFileError
from wire.encryption.key_settings import MASTER_VARIABLE, master_keys
from wire.encryption.plain_text import plain_text

I = TypeVar("I", bound=BaseModel)  # noqa: E741 - as in the contract
O = TypeVar("O", bound=BaseModel)  # noqa: E741
T = TypeVar("T")
M = TypeVar("M", bound=Message)
Run = WorkflowHandle[Any, Any]


def quieten() -> None:
    """Turn off the SDK's own log on the terminal; must be called before the first connection.

    The commands report whatever it would warn about, as a sentence.
    """
    Runtime.set_default(
        Runtime(telemetry=TelemetryConfig(logging=None)), error_if_already_set=False
    )


class ControlPlane:
    """A connection to the control plane."""

    def __init__(self, where: TemporalAddress, client: Client) -> None:
        self.where = where
        self.client = client
        self.refusals = Refusals(where, client)
        self._proof = KeyProof(where, client)

    @staticmethod
    async def reach() -> "ControlPlane":
        """Connect to the server that `TEMPORAL_*` and `temporal.toml` name, else to `exclave dev`.

        Raises:
            Away: nothing answers there.
            Refused: the settings, or the keys, cannot be read.
        """
        quieten()
        try:
            where = TemporalAddress.from_environment()
        except (RuntimeError, ValueError) as error:
            raise Refused(f"The settings of Temporal cannot be used: {error}") from error
        try:
            keys = master_keys()
        except KeyFileError as error:
            raise Refused(f"{MASTER_VARIABLE}: {error}") from error
        try:
            return ControlPlane(where, await connect_once(where, keys))
        except (RuntimeError, RPCError) as error:
            raise Away(nobody_there(where)) from error

    async def plain_text(self, message: M) -> M:
        """A message from Temporal, with everything decrypted that this command's keys can read."""
        return await plain_text(self.client, message)

    def run(self, workflow_id: str, run_id: str | None = None) -> Run:
        """A run, by its id."""
        return self.client.get_workflow_handle(workflow_id, run_id=run_id)

    async def prove_keys(self) -> None:
        """Make sure that the control plane and this command have the same key, or both have none.

        Every call that sends something does this first, once. So nothing is sent in plain text to
        an encrypted control plane, and nothing is started whose answer cannot be read.

        Raises:
            Refused: their keys differ; nothing was sent.
            Away: no control worker answers, or Temporal does not.
        """
        try:
            await self._answered(self._proof.once(), CONTROL_QUEUE)
        except NotOffered:
            # An older server cannot be asked. Nothing speaks against the keys, so go on.
            return
        except NobodyProves as error:
            raise await self.refusals.of_silence(CONTROL_QUEUE) from error

    async def start(
        self, type: str, workflow_id: str, input: BaseModel, *, joins: bool = False, summary: str
    ) -> Run:
        """Start a workflow.

        Args:
            type: The workflow type.
            workflow_id: Its id.
            input: Its input.
            joins: If a workflow with this id is running already, use that one.
            summary: Its summary in the Temporal UI.

        Raises:
            WorkflowAlreadyStartedError: one is running already, and `joins` is not set.
            Refused: the keys are not the control plane's.
            Away: Temporal does not answer, or no control worker does.
        """
        await self.prove_keys()
        policy = WorkflowIDConflictPolicy
        call = self.client.start_workflow(
            type,
            _sent(input),
            id=workflow_id,
            task_queue=CONTROL_QUEUE,
            id_conflict_policy=policy.USE_EXISTING if joins else policy.FAIL,
            static_summary=summary,
            rpc_timeout=ANSWER,
        )
        return await self._answered(call, workflow_id, sent=True)

    async def ask(  # noqa: PLR0913 - a query has this many arguments
        self,
        workflow_id: str,
        query: str,
        result: type[T],
        run_id: str = "",
        *,
        ended: bool = True,
        argument: BaseModel | None = None,
    ) -> T:
        """The answer of a query.

        Args:
            workflow_id: The workflow to ask.
            query: The query's name.
            result: The answer's type.
            run_id: Which run; by default the newest.
            ended: Also ask a workflow that has ended; it answers with its last state.
            argument: The query's argument.

        Raises:
            NoSuchRun: there is no such workflow.
            Refused: the workflow answers with an error.
            Away: no control worker answers, or Temporal does not.
        """
        if argument is not None:
            await self.prove_keys()
        handle = self.run(workflow_id, run_id or None)
        call: Awaitable[T] = handle.query(
            query,
            args=[] if argument is None else [_sent(argument)],
            result_type=result,
            reject_condition=None if ended else QueryRejectCondition.NOT_OPEN,
            rpc_timeout=ANSWER,
        )
        return await self._answered(call, workflow_id)

    async def send_update(
        self, workflow_id: str, update: str, argument: BaseModel, result: type[T]
    ) -> T:
        """Send an update, and wait for its result.

        Raises:
            NoSuchRun: there is no such workflow, or it has ended.
            Refused: the update is refused.
            Away: no control worker took it, or what it needs does not answer.
        """
        await self.prove_keys()
        handle, update_id = self.run(workflow_id), str(uuid4())

        def send() -> Awaitable[T]:
            return handle.execute_update(
                update, _sent(argument), id=update_id, result_type=result, rpc_timeout=ANSWER
            )

        return await self._answered(sent_until_taken(send), workflow_id, sent=True)

    async def do(self, activity: Activity[I, O], input: I, *, queue: str, whose: str) -> O:
        """Run one activity on a worker directly, without a workflow.

        Args:
            activity: The activity; after its schedule-to-start timeout the worker counts as away.
            input: Its input.
            queue: The worker's task queue.
            whose: How messages refer to the worker.

        Raises:
            NotOffered: the server does not support activities without a workflow.
            Refused: the activity fails, or the answer is of another type.
            Away: the worker does not take it, or Temporal does not answer.
        """
        await self.prove_keys()
        try:
            call = answer_of(self.client, activity, input, queue)
            return await self._answered(call, activity.name)
        except ActivityFailureError as error:
            raise of_activity(error, whose) from error

    async def find(self, query: str, limit: int | None) -> list[WorkflowExecution]:
        """The first workflows that a visibility query finds, newest first; None means all."""

        async def found() -> list[WorkflowExecution]:
            return [one async for one in self.client.list_workflows(query, limit=limit)]

        return await self._answered(found(), query)

    async def count(self, query: str) -> int:
        """How many workflows a visibility query finds."""
        return (await self._answered(self.client.count_workflows(query), query)).count

    async def polled(self, queue: str) -> datetime | None:
        """When a worker last polled the queue for activities; None if none did lately."""
        return await self._answered(last_poll(self.client, queue, ACTIVITIES), queue)

    async def _answered(self, call: Awaitable[T], workflow_id: str, *, sent: bool = False) -> T:
        try:
            return await call
        except (WorkflowUpdateFailedError, WorkflowQueryFailedError) as error:
            raise of_message(error) from error
        except WorkflowQueryRejectedError as error:
            raise await self.refusals.of_ended(workflow_id) from error
        except RPCTimeoutOrCancelledError as error:
            raise await self.refusals.of_silence(workflow_id, sent=sent) from error
        except RPCError as error:
            raise await self.refusals.of_call(error, workflow_id, sent=sent) from error


def _sent(message: BaseModel) -> dict[str, Any]:
    """A message without its defaults, since an older control plane refuses unknown fields."""
    return message.model_dump(mode="json", exclude_defaults=True)
