"""Which calls a worker may make, and how each is bound to the identity that makes it.

Temporal authorizes by namespace: whoever may poll may poll any queue. So each request is parsed;
every namespace, queue and worker in it is replaced with the caller's own, and fields that an
activity worker does not need are removed. Fields that this gateway does not know are removed, too:
what a newer worker sends takes effect only once somebody has reviewed it here. Task tokens are
sealed on the way out and opened on the way in.

Worker commands (a cancel that does not wait for a heartbeat) travel over a queue that each worker
process names after a random key of its own. The gateway prefixes that key with the identity's name:
`temporal-sys/worker-commands/<org>/<queue>/<key>`. So nobody can name another's queue, and no
gateway needs to remember who registered which key.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from google.protobuf.message import DecodeError, Message
from temporalio.api.enums.v1 import TaskQueueKind
from temporalio.api.nexusservices.workerservice.v1 import ExecuteCommandsRequest
from temporalio.api.worker.v1 import WorkerHeartbeat
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeNamespaceResponse,
    GetSystemInfoRequest,
    PollActivityTaskQueueRequest,
    PollActivityTaskQueueResponse,
    PollNexusTaskQueueRequest,
    PollNexusTaskQueueResponse,
    RecordActivityTaskHeartbeatRequest,
    RecordWorkerHeartbeatRequest,
    RespondActivityTaskCanceledRequest,
    RespondActivityTaskCompletedRequest,
    RespondActivityTaskFailedRequest,
    RespondNexusTaskCompletedRequest,
    ShutdownWorkerRequest,
)

from gateway.bodies import MESSAGE_BYTES
from gateway.identity import Identity
from gateway.limits import Allowances
from gateway.rpc.task_tokens import NotTheirs, TaskTokens

WORKFLOW_SERVICE: Final = "/temporal.api.workflowservice.v1.WorkflowService/"
COMMANDS_PREFIX: Final = "temporal-sys/worker-commands/"
_COMMANDS: Final = (
    "temporal.api.nexusservices.workerservice.v1.WorkerService",
    "ExecuteCommands",
)
"""The service and the operation of worker commands."""

CALL_SECONDS: Final = 30.0
"""The longest that a call may take, unless it is a poll."""
POLL_SECONDS: Final = 75.0
"""The longest that a poll may take; the SDK gives up after 70 s."""

_SMALL: Final = 64 * 1024
_WORKERS_A_PROCESS: Final = 50
"""How many workers one heartbeat of a process may describe."""
_DESCRIPTION: Final = 8 * 1024
"""How large each description may be, in bytes. Temporal keeps them in memory; 1,000 bytes are
usual."""
_SHOWN: Final = 100
"""How many characters of a name that the worker chose are passed on."""
_KEY = re.compile(r"[A-Za-z0-9._-]{1,100}")
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]+")

# What a worker needs to know about its namespace; nothing about its owner, data or archives.
_CAPABILITIES: Final = (
    "worker_heartbeats",
    "worker_poll_complete_on_shutdown",
    "poller_autoscaling",
    "poller_autoscaling_auto_enroll",
    "worker_commands",
)


class Refused(Exception):
    """A call asks for what its caller may not have; the message says what."""


class Malformed(Exception):
    """A request or response is not the message that its RPC expects."""


@dataclass(frozen=True)
class Call:
    """One RPC that workers may call."""

    name: str
    bind: Callable[[bytes, Identity], bytes]
    """Makes the request that Temporal gets. Raises Refused, Malformed or TooMuch."""
    seal: Callable[[bytes, Identity], bytes] | None = None
    """Makes the response that the worker gets; None if that is Temporal's own."""
    waits: bool = False
    """Whether it is a poll: it waits for work, ends when its caller is revoked, and is held while
    its caller is paused."""
    limit: int = _SMALL
    """The largest request, in bytes."""

    @property
    def longest(self) -> float:
        """How long it may take, in seconds, whatever deadline the caller sets."""
        return POLL_SECONDS if self.waits else CALL_SECONDS


M = TypeVar("M", bound=Message)


def calls(tokens: TaskTokens, allowances: Allowances) -> Mapping[str, Call]:
    """Every allowed call, by its gRPC method."""
    by_token, by_queue = _TokenBinding(tokens), _QueueBinding(allowances)
    listed = [
        Call("GetSystemInfo", _as(GetSystemInfoRequest, _nothing)),
        Call(
            "DescribeNamespace", _as(DescribeNamespaceRequest, _own_namespace), _described_namespace
        ),
        Call(
            "PollActivityTaskQueue",
            _as(PollActivityTaskQueueRequest, by_queue.poll_activities),
            by_token.sealed_activity,
            waits=True,
        ),
        Call(
            "RecordActivityTaskHeartbeat",
            _as(RecordActivityTaskHeartbeatRequest, by_token.heartbeat),
            limit=MESSAGE_BYTES,
        ),
        Call(
            "RespondActivityTaskCompleted",
            _as(RespondActivityTaskCompletedRequest, by_token.outcome),
            limit=MESSAGE_BYTES,
        ),
        Call(
            "RespondActivityTaskFailed",
            _as(RespondActivityTaskFailedRequest, by_token.outcome),
            limit=MESSAGE_BYTES,
        ),
        Call(
            "RespondActivityTaskCanceled",
            _as(RespondActivityTaskCanceledRequest, by_token.outcome),
            limit=MESSAGE_BYTES,
        ),
        Call(
            "RecordWorkerHeartbeat", _as(RecordWorkerHeartbeatRequest, by_queue.worker_heartbeats)
        ),
        Call("ShutdownWorker", _as(ShutdownWorkerRequest, by_queue.shutdown)),
        Call(
            "PollNexusTaskQueue",
            _as(PollNexusTaskQueueRequest, by_queue.poll_commands),
            by_token.sealed_command,
            waits=True,
        ),
        Call(
            "RespondNexusTaskCompleted",
            _as(RespondNexusTaskCompletedRequest, by_token.command_done),
        ),
    ]
    return {WORKFLOW_SERVICE + call.name: call for call in listed}


def _as(kind: type[M], bind: Callable[[M, Identity], None]) -> Callable[[bytes, Identity], bytes]:
    """Bind a request as a message of this kind, without fields that the gateway does not know."""

    def bound(body: bytes, identity: Identity) -> bytes:
        message = _parsed(kind, body)
        message.DiscardUnknownFields()
        bind(message, identity)
        return message.SerializeToString()

    return bound


def _parsed(kind: type[M], body: bytes) -> M:
    try:
        return kind.FromString(body)
    except DecodeError as error:
        raise Malformed(f"the message is no {kind.DESCRIPTOR.name}") from error


def _nothing(request: GetSystemInfoRequest, identity: Identity) -> None:
    """Such a request contains nothing to bind."""


def _own_namespace(request: DescribeNamespaceRequest, identity: Identity) -> None:
    request.namespace = identity.org
    request.id = ""


def _described_namespace(body: bytes, identity: Identity) -> bytes:
    whole = _parsed(DescribeNamespaceResponse, body)
    part = DescribeNamespaceResponse()
    part.namespace_info.name = whole.namespace_info.name
    part.namespace_info.state = whole.namespace_info.state
    part.namespace_info.limits.CopyFrom(whole.namespace_info.limits)
    for capability in _CAPABILITIES:
        has = getattr(whole.namespace_info.capabilities, capability)
        setattr(part.namespace_info.capabilities, capability, has)
    part.poller_group_infos.extend(whole.poller_group_infos)
    part.poller_groups_info.CopyFrom(whole.poller_groups_info)
    return part.SerializeToString()


class _QueueBinding:
    """Binds calls in which a worker names its queue and its processes' keys."""

    def __init__(self, allowances: Allowances) -> None:
        self._allowances = allowances

    def poll_activities(self, request: PollActivityTaskQueueRequest, identity: Identity) -> None:
        request.namespace = identity.org
        request.task_queue.Clear()
        request.task_queue.name = identity.queue
        request.task_queue.kind = TaskQueueKind.TASK_QUEUE_KIND_NORMAL
        request.identity = _shown(identity, request.identity)
        request.worker_instance_key = self._below(identity, request.worker_instance_key)
        if request.worker_control_task_queue:
            request.worker_control_task_queue = self._commands_queue(
                identity, request.worker_control_task_queue
            )
        # Install workers have no versions: with one deployment each, a namespace would reach
        # Temporal's limit of a hundred.
        request.ClearField("deployment_options")
        request.ClearField("worker_version_capabilities")

    def poll_commands(self, request: PollNexusTaskQueueRequest, identity: Identity) -> None:
        request.namespace = identity.org
        queue = self._commands_queue(identity, request.task_queue.name)
        request.task_queue.Clear()
        request.task_queue.name = queue
        request.task_queue.kind = TaskQueueKind.TASK_QUEUE_KIND_WORKER_COMMANDS
        request.identity = _shown(identity, request.identity)
        request.worker_instance_key = self._below(identity, request.worker_instance_key)
        request.ClearField("deployment_options")
        request.ClearField("worker_version_capabilities")
        self._bind_heartbeats(request.worker_heartbeat, identity)

    def worker_heartbeats(self, request: RecordWorkerHeartbeatRequest, identity: Identity) -> None:
        request.namespace = identity.org
        request.identity = _shown(identity, request.identity)
        request.resource_id = ""
        self._bind_heartbeats(request.worker_heartbeat, identity)

    def shutdown(self, request: ShutdownWorkerRequest, identity: Identity) -> None:
        request.namespace = identity.org
        request.identity = _shown(identity, request.identity)
        request.sticky_task_queue = ""
        request.task_queue = self._own_queue(identity, request.task_queue)
        request.worker_instance_key = self._below(identity, request.worker_instance_key)
        if request.HasField("worker_heartbeat"):
            self._bind_heartbeats([request.worker_heartbeat], identity)

    def _bind_heartbeats(self, heartbeats: Sequence[WorkerHeartbeat], identity: Identity) -> None:
        if len(heartbeats) > _WORKERS_A_PROCESS:
            raise Refused(f"a heartbeat describes more than {_WORKERS_A_PROCESS} workers")
        for heartbeat in heartbeats:
            if heartbeat.ByteSize() > _DESCRIPTION:
                raise Refused(f"a heartbeat describes a worker in more than {_DESCRIPTION} bytes")
            heartbeat.worker_instance_key = self._below(identity, heartbeat.worker_instance_key)
            heartbeat.worker_identity = _shown(identity, heartbeat.worker_identity)
            heartbeat.task_queue = self._own_queue(identity, heartbeat.task_queue)
            heartbeat.ClearField("deployment_version")
            host = heartbeat.host_info
            host.worker_grouping_key = self._below(identity, host.worker_grouping_key)

    def _own_queue(self, identity: Identity, named: str) -> str:
        """The worker's queue, or its process's command queue if `named` is one."""
        if named.startswith(COMMANDS_PREFIX):
            return self._commands_queue(identity, named)
        return identity.queue

    def _commands_queue(self, identity: Identity, named: str) -> str:
        """The command queue of the process that names it, prefixed with the identity's queue."""
        prefix = f"{COMMANDS_PREFIX}{identity.org}/"
        if not named.startswith(prefix):
            raise Refused("a worker may poll its own commands only")
        return prefix + self._below(identity, named[len(prefix) :])

    def _below(self, identity: Identity, key: str) -> str:
        """A process's random key, prefixed with the identity's queue, so it cannot be another's."""
        if not key:
            return ""
        if not _KEY.fullmatch(key):
            raise Refused("the key of a worker has letters, digits, dots and dashes, at most 100")
        self._allowances.key(identity, key)
        return f"{identity.queue}/{key}"


class _TokenBinding:
    """Binds calls that contain a task token."""

    def __init__(self, tokens: TaskTokens) -> None:
        self._tokens = tokens

    def heartbeat(self, request: RecordActivityTaskHeartbeatRequest, identity: Identity) -> None:
        request.namespace = identity.org
        request.identity = _shown(identity, request.identity)
        request.task_token = self._opened(request.task_token, identity)

    def outcome(
        self,
        request: RespondActivityTaskCompletedRequest
        | RespondActivityTaskFailedRequest
        | RespondActivityTaskCanceledRequest,
        identity: Identity,
    ) -> None:
        request.namespace = identity.org
        request.identity = _shown(identity, request.identity)
        request.task_token = self._opened(request.task_token, identity)
        request.ClearField("worker_version")
        request.ClearField("deployment")
        request.ClearField("deployment_options")

    def command_done(self, request: RespondNexusTaskCompletedRequest, identity: Identity) -> None:
        request.namespace = identity.org
        request.identity = _shown(identity, request.identity)
        try:
            request.task_token = self._tokens.open(request.task_token, identity, "command")
        except NotTheirs as error:
            raise Refused(f"the token of the command cannot be used: {error}") from error

    def sealed_activity(self, body: bytes, identity: Identity) -> bytes:
        response = _parsed(PollActivityTaskQueueResponse, body)
        if not response.task_token:
            return body
        response.task_token = self._tokens.seal(response.task_token, identity, "activity")
        return response.SerializeToString()

    def sealed_command(self, body: bytes, identity: Identity) -> bytes:
        """A command names activities by their tokens; the worker knows only the sealed ones."""
        response = _parsed(PollNexusTaskQueueResponse, body)
        if not response.task_token:
            return body
        response.task_token = self._tokens.seal(response.task_token, identity, "command")
        asking = response.request.start_operation
        if (asking.service, asking.operation) != _COMMANDS:
            raise Malformed(f"what came over a queue for commands is {asking.service!r}")
        payload = asking.payload
        asked = _parsed(ExecuteCommandsRequest, payload.data)
        for command in asked.commands:
            if command.HasField("cancel_activity"):
                raw = command.cancel_activity.task_token
                command.cancel_activity.task_token = self._tokens.seal(raw, identity, "activity")
        payload.data = asked.SerializeToString()
        return response.SerializeToString()

    def _opened(self, sealed: bytes, identity: Identity) -> bytes:
        try:
            return self._tokens.open(sealed, identity, "activity")
        except NotTheirs as error:
            raise Refused(f"the task token cannot be used: {error}") from error


def _shown(identity: Identity, sent: str) -> str:
    """The caller for Temporal's UI: the proven identity, then the process and host it claims."""
    said = _UNPRINTABLE.sub(" ", sent)[:_SHOWN].strip()
    return f"{identity.shown} ({said})" if said else identity.shown
