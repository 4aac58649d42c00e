"""Whether a namespace has the search attributes that runs set, each of its type.

A run that sets one that is not there, or is of another type, does not go on.
"""

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.client import Client

from contracts.names import SEARCH_ATTRIBUTES

_KEYWORD = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD


async def missing_attributes(client: Client) -> tuple[list[str], list[str]]:
    """What is not there yet, and what is there of a type that is of no use, in words.

    Raises:
        RPCError: Temporal does not answer, or does not tell everybody.
    """
    found = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    types = dict(found.custom_attributes)
    missing = [name for name in SEARCH_ATTRIBUTES if name not in types]
    wrong = [
        f"{name} is of the type {_name(types[name])}"
        for name in SEARCH_ATTRIBUTES
        if name in types and types[name] != _KEYWORD
    ]
    return missing, wrong


def what_to_do(client: Client, missing: list[str], wrong: list[str]) -> str:
    """What is wrong with the namespace, and which commands mend it."""
    names = [*missing, *(one.partition(" ")[0] for one in wrong)]
    found = [*(f"{name} is not there" for name in missing), *wrong]
    remove = (
        f" Remove first what is of another type: temporal operator search-attribute remove "
        f"--namespace {client.namespace}"
        + "".join(f" --name {one.partition(' ')[0]}" for one in wrong)
        if wrong
        else ""
    )
    create = "".join(f" --name {name} --type Keyword" for name in names)
    return (
        f"The namespace {client.namespace} lacks search attributes of the type Keyword that runs "
        f"set: {'; '.join(found)}.{remove} Create them: temporal operator search-attribute create "
        f"--namespace {client.namespace}{create}"
    )


def _name(kind: "IndexedValueType.ValueType") -> str:
    return IndexedValueType.Name(kind).removeprefix("INDEXED_VALUE_TYPE_").title()
