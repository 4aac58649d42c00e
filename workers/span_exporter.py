"""Sends spans to the gateway's intake, with the worker's newest credential.

OpenTelemetry's own exporter has fixed headers, and takes settings from the environment. This one
runs in the SDK's thread: while it tries again, spans wait in the SDK's queue, which is bounded.
"""

import logging
import random
import ssl
import threading
import time
from collections.abc import Callable, Sequence

import httpx
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from wire.backoff import Patience
from wire.network.httpx_parts import http_proxy_of
from wire.network.retry_after import seconds_of

_log = logging.getLogger(__name__)

_TRY_AGAIN = frozenset({401, 429, 502, 503, 504})
"""401, too: the credential is renewed meanwhile."""
_TIMEOUT_SECONDS = 10.0
_LONGEST_TOLD_SECONDS = 3600.0
"""Whatever the gateway says."""


PATIENCE = Patience(seconds=300.0, first_wait_seconds=1.0, longest_wait_seconds=60.0)
"""With a batch."""


class GatewayExporter(SpanExporter):
    """One worker's way for spans."""

    def __init__(
        self,
        url: str,
        auth: httpx.Auth,
        trust: ssl.SSLContext | None,
        allowed: Callable[[], bool],
        patience: Patience,
    ) -> None:
        """Nothing is connected yet.

        Args:
            url: The intake's address.
            auth: Gives each request the newest credential.
            trust: Authorities of the gateway's certificate; None where it is spoken to in clear.
            allowed: Whether spans may be sent, asked before each request.
            patience: How long a batch is tried.
        """
        self._url = url
        self._auth = auth
        # In clear none is used; httpx would read all well-known authorities for it.
        self._trust = trust or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._allowed = allowed
        self._patience = patience
        self._leaving = threading.Event()
        self._timeout = _TIMEOUT_SECONDS
        self._not_before = float("-inf")
        self._told = ""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch, however often that has to be tried for some minutes."""
        try:
            sent = self._insist(spans)
        except Exception as error:
            # Whatever it is: the SDK would log it with its words.
            self._tell(f"{type(error).__name__} while traces were sent; they are dropped")
            sent = False
        return SpanExportResult.SUCCESS if sent else SpanExportResult.FAILURE

    def leave(self, seconds: float) -> None:
        """From now on try each batch once, for so many seconds."""
        self._timeout = seconds
        self._leaving.set()

    def shutdown(self) -> None:
        """Try nothing again."""
        self._leaving.set()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Nothing is held back here."""
        return True

    def _insist(self, spans: Sequence[ReadableSpan]) -> bool:
        body = encode_spans(spans).SerializeToString()
        until = time.monotonic() + self._patience.seconds
        waits = self._patience.waits()
        # The way is asked for anew: between two batches may lie weeks.
        with httpx.Client(
            auth=self._auth,
            timeout=self._timeout,
            trust_env=False,
            verify=self._trust,
            proxy=http_proxy_of(self._url),
            headers={"User-Agent": "exclave", "Content-Type": "application/x-protobuf"},
        ) as client:
            # The customer's word counts for what was made before it, too.
            while self._may_ask() and self._allowed():
                told_to_wait, reason = self._send(client, body)
                if not reason:
                    if self._told:
                        _log.info("The gateway takes traces again.")
                        self._told = ""
                    return True
                if told_to_wait is None:
                    self._tell(f"The gateway takes no traces, which are dropped: {reason}")
                    return False
                self._tell(f"Traces wait, and are dropped if they are too many: {reason}")
                # Workers that were refused together do not come again together.
                pause = max(told_to_wait, next(waits)) * random.uniform(1.0, 1.3)  # noqa: S311
                self._not_before = time.monotonic() + pause
                if self._not_before > until:
                    return False
        return False

    def _may_ask(self) -> bool:
        """Wait as the gateway wants it, whichever batch it told so; False if the worker leaves."""
        pause = self._not_before - time.monotonic()
        return pause <= 0 or not self._leaving.wait(pause)

    def _send(self, client: httpx.Client, body: bytes) -> tuple[float | None, str]:
        """How long the gateway wants to be left alone, None for ever; and why, empty if taken."""
        try:
            # Of the answer, its status says all.
            with client.stream("POST", self._url, content=body, timeout=self._timeout) as answer:
                status = answer.status_code
        except httpx.TransportError as error:
            return 0.0, f"{self._url} does not answer ({type(error).__name__})"
        if answer.is_success:
            return 0.0, ""
        why = f"{self._url} answers {status}"
        if status in _TRY_AGAIN:
            told = seconds_of(answer.headers.get("Retry-After", ""))
            return min(told, _LONGEST_TOLD_SECONDS), why
        return None, why

    def _tell(self, words: str) -> None:
        """Say it once, and again only when it changes."""
        if words != self._told:
            self._told = words
            _log.warning("%s", words)
