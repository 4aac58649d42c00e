"""What tests of enrolment and credentials share."""

from typing import Any

import pytest

from tests.gateway.enrolment_site import (
    soon,
)
from wire.enrolment.client import GatewayRefused

NOW = 4_000_000_000.0


def keys_of(subject: str) -> bytes:
    return f"payload keys of {subject}".encode()


async def refusal(waiting: Any) -> GatewayRefused:
    with pytest.raises(GatewayRefused) as caught:
        await soon(waiting)
    return caught.value
