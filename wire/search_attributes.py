"""Checks that a namespace has the search attributes that runs set, with the right type.

A run gets stuck when it sets one that is missing or has another type.
"""

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.client import Client

from contracts.names import SEARCH_ATTRIBUTES

_KEYWORD = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD


async def missing_attributes(client: Client) -> tuple[list[str], list[str]]:
    """The names of missing attributes, and descriptions of those with a wrong type.

    Raises:
        RPCError: Temporal does not answer, or does not allow this caller to ask.
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
    """What is wrong with the namespace, and the commands that repair it."""
    names = [*missing, *(one.partition(" ")[0] for one in wrong)]
    found = [*(f"{name} does not exist" for name in missing), *wrong]
    remove = (
        f" First remove those with a wrong type: temporal operator search-attribute remove "
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
