"""`[telemetry]` in `gateway.toml`: where the workers' telemetry goes."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator
from starlette.routing import BaseRoute

from gateway.audit import Audit
from gateway.http.callers import Callers, Rate
from gateway.identity import Access, Authenticator
from gateway.setting_paths import File
from gateway.telemetry.forwarding import PATIENCE, Forwarder
from gateway.telemetry.intake import Intake, IntakeLimits
from gateway.telemetry.queue import Sink, TelemetryQueue
from gateway.telemetry.store import TelemetryStore

_log = logging.getLogger(__name__)

_MIB = 1024 * 1024


class TelemetrySection(BaseModel):
    """Either a collector or a store; without the section, the gateway accepts no telemetry."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    collector: Annotated[str, Field(pattern=r"^https?://[^\s]+$")] | None = None
    """The address of an OTLP collector over HTTP, the part above `/v1/logs`."""
    ca: File | None = None
    """PEM of the authorities to trust for the collector, if not the usual ones."""
    authorization: File | None = None
    """A file with the collector's `Authorization` header, for example `Bearer …`."""
    patience_seconds: PositiveFloat = 300.0
    """How long telemetry waits for a collector that is away; then the oldest is dropped."""
    store: File | None = None
    """An SQLite file on this machine."""
    store_mib: PositiveInt = 1024
    store_days: PositiveFloat = 14.0
    queue_mib: PositiveInt = 64
    """How much may wait in memory; beyond that, workers are asked to retry later."""
    queue_mib_each: PositiveInt = 16
    """Limit of one worker."""
    requests_per_second: PositiveFloat = 10.0
    """Limit of one worker."""
    requests_at_once: PositiveFloat = 100.0
    """How many requests of one worker may come in one burst."""

    @model_validator(mode="after")
    def _one_place(self) -> "TelemetrySection":
        if (self.collector is None) == (self.store is None):
            raise ValueError("set exactly one of collector and store")
        if self.collector is None and (self.ca or self.authorization):
            raise ValueError("ca and authorization are for a collector")
        if self.authorization and not (self.collector or "").startswith("https://"):
            raise ValueError("authorization would travel in clear; use https:// for the collector")
        return self

    def sink(self) -> Sink:
        """The destination of telemetry.

        Raises:
            OSError: a file cannot be read.
            StoreUnusable: the store cannot be created.
        """
        if self.store is not None:
            return TelemetryStore(self.store, self.store_mib * _MIB, self.store_days * 86400)
        return Forwarder(
            self.collector or "",
            {"Authorization": self.authorization.read_text(encoding="utf-8").strip()}
            if self.authorization
            else {},
            ssl.create_default_context(cafile=self.ca) if self.ca else None,
            replace(PATIENCE, seconds=self.patience_seconds),
        )

    @asynccontextmanager
    async def serving(
        self,
        authenticator: Authenticator,
        access: Access,
        audit: Audit,
        drain_seconds: float = 10.0,
    ) -> AsyncIterator[list[BaseRoute]]:
        """The routes; at the end, waiting telemetry is still delivered for `drain_seconds`.

        Raises:
            OSError, StoreUnusable: as in `sink`.
        """
        rate = Rate(self.requests_per_second, self.requests_at_once)
        callers = Callers(authenticator, access, audit, rate)
        queue = TelemetryQueue(self.queue_mib * _MIB, self.queue_mib_each * _MIB)
        async with taking_in(callers, queue, self.sink(), drain_seconds) as routes:
            yield routes


@asynccontextmanager
async def taking_in(
    callers: Callers,
    queue: TelemetryQueue,
    sink: Sink,
    drain_seconds: float,
    limits: IntakeLimits | None = None,
) -> AsyncIterator[list[BaseRoute]]:
    """Routes that put telemetry into the queue, while the sink empties it."""
    intake = Intake(callers, queue, limits or IntakeLimits())
    sinking = asyncio.create_task(sink.run(queue), name="telemetry")
    try:
        yield intake.routes()
        intake.close()
        emptied = asyncio.create_task(queue.empty())
        await asyncio.wait(
            {emptied, sinking}, timeout=drain_seconds, return_when=asyncio.FIRST_COMPLETED
        )
        if not emptied.done():
            emptied.cancel()
            _log.warning("%d bytes of telemetry are lost: nobody accepted them.", queue.held_bytes)
    finally:
        intake.close()
        sinking.cancel()
        (ended,) = await asyncio.gather(sinking, return_exceptions=True)
        if isinstance(ended, Exception):
            raise ended
