"""The types of search attributes are checked before any work is taken."""

import asyncio
import logging

import pytest
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    RemoveSearchAttributesRequest,
)
from temporalio.client import Client

from contracts.names import ATTRIBUTE_RELEASE, ATTRIBUTE_STATUS
from exclave.dev.server import NotAsDeclared, server_answers
from tests.workflows.workflow_plane import temporal
from wire.connection import TemporalAddress
from wire.search_attributes import missing_attributes
from workers.attributes_check import has_attributes

pytestmark = pytest.mark.process
TEXT = IndexedValueType.INDEXED_VALUE_TYPE_TEXT
KEYWORD = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD


async def remove(client: Client, *names: str) -> None:
    await client.operator_service.remove_search_attributes(
        RemoveSearchAttributesRequest(namespace="dev", search_attributes=names)
    )


async def add(client: Client, kind: "IndexedValueType.ValueType", *names: str) -> None:
    await client.operator_service.add_search_attributes(
        AddSearchAttributesRequest(namespace="dev", search_attributes=dict.fromkeys(names, kind))
    )


async def logged(caplog: pytest.LogCaptureFixture, part: str) -> None:
    async with asyncio.timeout(60):
        while part not in caplog.text:
            await asyncio.sleep(0.05)


async def test_one_of_another_type_is_reported_with_what_to_do(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.attributes_check._AGAIN_SECONDS", 0.1)
    caplog.set_level(logging.INFO)
    async with temporal() as client:
        address = client.service_client.config.target_host
        await server_answers(address, "dev")
        await remove(client, ATTRIBUTE_STATUS, ATTRIBUTE_RELEASE)
        await add(client, TEXT, ATTRIBUTE_STATUS)

        async def changed() -> None:
            while await missing_attributes(client) != (
                [ATTRIBUTE_RELEASE],
                [f"{ATTRIBUTE_STATUS} is of the type Text"],
            ):
                await asyncio.sleep(0.1)

        await asyncio.wait_for(changed(), 60)
        with pytest.raises(NotAsDeclared, match=f"{ATTRIBUTE_STATUS} is of the type Text"):
            await server_answers(address, "dev")
        waiting = asyncio.create_task(has_attributes(TemporalAddress(address, "dev")))
        await logged(caplog, "No work is taken: The namespace dev lacks search attributes")
        assert f"search-attribute remove --namespace dev --name {ATTRIBUTE_STATUS}" in caplog.text
        assert f"--name {ATTRIBUTE_RELEASE} --type Keyword" in caplog.text
        assert not waiting.done()
        await remove(client, ATTRIBUTE_STATUS)
        await add(client, KEYWORD, ATTRIBUTE_STATUS, ATTRIBUTE_RELEASE)
        await asyncio.wait_for(waiting, 60)
