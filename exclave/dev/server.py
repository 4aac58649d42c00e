"""Waits until the Temporal development server has come up with what was declared."""

import asyncio

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from wire.search_attributes import missing_attributes, what_to_do

_INTERVAL_SECONDS = 0.1


class NotAsDeclared(Exception):
    """The server has come up, but its database does not fit the declaration."""


async def server_answers(address: str, namespace: str) -> None:
    """Return once the server at `address` has the namespace and our search attributes.

    The server opens its port before it creates the namespace, and announces neither, so it is
    polled; the caller sets the deadline.

    Args:
        address: `host:port` of the Temporal frontend.
        namespace: The declared namespace.

    Raises:
        NotAsDeclared: a search attribute has another type, in a database from elsewhere.
    """
    while not await _has_everything(address, namespace):  # noqa: ASYNC110 - there is no event
        await asyncio.sleep(_INTERVAL_SECONDS)


async def _has_everything(address: str, namespace: str) -> bool:
    try:
        client = await Client.connect(address, namespace=namespace)
        await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=namespace)
        )
        missing, wrong = await missing_attributes(client)
    except (RuntimeError, RPCError):
        # Connecting to an address that does not answer raises RuntimeError.
        return False
    if wrong:
        raise NotAsDeclared(what_to_do(client, [], wrong))
    return not missing
