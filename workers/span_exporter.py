"""Sends spans to the gateway's intake, with the worker's newest credential.

OpenTelemetry's own exporter has fixed headers, and reads settings from the environment. This one
runs in the SDK's thread: while it retries, spans wait in the SDK's queue, which is bounded.
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
"""Including 401, since the credential is renewed meanwhile."""
_TIMEOUT_SECONDS = 10.0
_LONGEST_RETRY_AFTER_SECONDS = 3600.0
"""The limit for the gateway's `Retry-After`."""


PATIENCE = Patience(seconds=300.0, first_wait_seconds=1.0, longest_wait_seconds=60.0)
"""How long one batch is retried."""


class GatewayExporter(SpanExporter):
    """Sends the spans of one worker."""

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
            trust: Authorities of the gateway's certificate; None without TLS.
            allowed: Whether spans may be sent; called before each request.
            patience: How long a batch is retried.
        """
        self._url = url
        self._auth = auth
        # Without TLS it is not used; but without a context httpx would read all known authorities.
        self._trust = trust or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._allowed = allowed
        self._patience = patience
        self._leaving = threading.Event()
        self._timeout = _TIMEOUT_SECONDS
        self._not_before = float("-inf")
        self._logged = ""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch, with retries for some minutes."""
        try:
            sent = self._insist(spans)
        except Exception as error:
            # Any exception: the SDK would log it with its message.
            self._log_once(f"{type(error).__name__} while traces were sent; they are dropped")
            sent = False
        return SpanExportResult.SUCCESS if sent else SpanExportResult.FAILURE

    def leave(self, seconds: float) -> None:
        """From now on, try each batch only once, for so many seconds."""
        self._timeout = seconds
        self._leaving.set()

    def shutdown(self) -> None:
        """Stop retrying."""
        self._leaving.set()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Nothing to do: this exporter holds nothing back."""
        return True

    def _insist(self, spans: Sequence[ReadableSpan]) -> bool:
        body = encode_spans(spans).SerializeToString()
        until = time.monotonic() + self._patience.seconds
        waits = self._patience.waits()
        # A new client, with the current proxy, since weeks may pass between two batches.
        with httpx.Client(
            auth=self._auth,
            timeout=self._timeout,
            trust_env=False,
            verify=self._trust,
            proxy=http_proxy_of(self._url),
            headers={"User-Agent": "exclave", "Content-Type": "application/x-protobuf"},
        ) as client:
            # If the customer turns traces off, that also holds for spans made before.
            while self._may_ask() and self._allowed():
                retry_after, reason = self._send(client, body)
                if not reason:
                    if self._logged:
                        _log.info("The gateway accepts traces again.")
                        self._logged = ""
                    return True
                if retry_after is None:
                    self._log_once(f"The gateway refuses traces, which are dropped: {reason}")
                    return False
                self._log_once(f"Traces wait, and are dropped if they are too many: {reason}")
                # Random, so that workers refused at the same time do not retry at the same time.
                pause = max(retry_after, next(waits)) * random.uniform(1.0, 1.3)  # noqa: S311
                self._not_before = time.monotonic() + pause
                if self._not_before > until:
                    return False
        return False

    def _may_ask(self) -> bool:
        """Wait for as long as the gateway last asked for; False if the worker is leaving."""
        pause = self._not_before - time.monotonic()
        return pause <= 0 or not self._leaving.wait(pause)

    def _send(self, client: httpx.Client, body: bytes) -> tuple[float | None, str]:
        """How long to wait before a retry (None: never), and why (empty: the gateway took it)."""
        try:
            # Only the answer's status matters.
            with client.stream("POST", self._url, content=body, timeout=self._timeout) as answer:
                status = answer.status_code
        except httpx.TransportError as error:
            return 0.0, f"{self._url} does not answer ({type(error).__name__})"
        if answer.is_success:
            return 0.0, ""
        why = f"{self._url} answers {status}"
        if status in _TRY_AGAIN:
            retry_after = seconds_of(answer.headers.get("Retry-After", ""))
            return min(retry_after, _LONGEST_RETRY_AFTER_SECONDS), why
        return None, why

    def _log_once(self, words: str) -> None:
        """Log a message unless it was the last one."""
        if words != self._logged:
            self._logged = words
            _log.warning("%s", words)
