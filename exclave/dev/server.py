"""Waits until the Temporal development server has come up with what was declared."""

import asyncio

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from wire.search_attributes import missing_attributes, what_to_do

_INTERVAL_SECONDS = 0.1


class NotAsDeclared(Exception):
    """The server has come up, and never will be as it was declared."""


async def server_answers(address: str, namespace: str) -> None:
    """Return once the server at `address` has the namespace and our search attributes.

    The server opens its port before it has made the namespace, and announces neither, so it is
    asked again and again; the caller sets the deadline.

    Args:
        address: `host:port` of the Temporal frontend.
        namespace: The declared namespace.

    Raises:
        NotAsDeclared: one of them is of another type, in a database from elsewhere.
    """
    while not await _has_everything(address, namespace):  # noqa: ASYNC110 - it tells no event
        await asyncio.sleep(_INTERVAL_SECONDS)


async def _has_everything(address: str, namespace: str) -> bool:
    try:
        client = await Client.connect(address, namespace=namespace)
        await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=namespace)
        )
        missing, wrong = await missing_attributes(client)
    except (RuntimeError, RPCError):
        # RuntimeError is what connecting to an address that does not answer raises.
        return False
    if wrong:
        raise NotAsDeclared(what_to_do(client, [], wrong))
    return not missing
