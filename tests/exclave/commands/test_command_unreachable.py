"""The messages of commands if something that they need does not answer."""

import socket

import pytest

from tests.exclave.commands.typing_person import Person
from tests.workflows.workflow_site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_nobody_at_the_address(person: Person) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    person.environment["TEMPORAL_ADDRESS"] = address
    typed = await person.types("status")
    assert typed.status == 4
    assert address in typed.err
    assert "exclave dev" in typed.err
    assert len(typed.err.splitlines()) == 1


async def test_a_namespace_that_is_not_there(person: Person, site: Site) -> None:
    person.environment["TEMPORAL_NAMESPACE"] = "elsewhere"
    typed = await person.types("status", site.install)
    assert typed.status == 4
    assert "no namespace 'elsewhere'" in typed.err


async def test_settings_that_cannot_be_read(person: Person) -> None:
    file = person.home / "temporal.toml"
    file.write_text("[profile")
    person.environment["TEMPORAL_CONFIG_FILE"] = str(file)
    typed = await person.types("status")
    assert typed.status == 1
    assert "settings of Temporal" in typed.err
    assert "Traceback" not in typed.err
