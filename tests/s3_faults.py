"""A way to an S3 server on which requests go wrong, as a test wants it.

    with way_to(server.endpoint) as way:
        way.faults = [LOST_ANSWER, None, refused(403, "AccessDenied")]   # of the next requests

What a fault says of one request: whether it is passed on, and what the client gets.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Request:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str] = field(repr=False)
    """By lower-case name."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request."""

    passed_on: bool = False
    """Whether the server got it all the same."""
    status: int | None = None
    """The status of the answer; without one, the connection breaks."""
    code: str = ""
    half: bool = False
    """The server's own answer, of which the connection breaks in the middle."""


LOST_REQUEST = Fault()
LOST_ANSWER = Fault(passed_on=True)
HALF_ANSWER = Fault(passed_on=True, half=True)
BROKEN = Fault(status=500, code="InternalError")
OVERLOADED = Fault(status=503, code="SlowDown")
BROKEN_ANSWER = Fault(passed_on=True, status=500, code="InternalError")


def refused(status: int, code: str) -> Fault:
    return Fault(status=status, code=code)


class Way:
    """The way; `faults` and `look` may be set at any time."""

    def __init__(self) -> None:
        self.endpoint = ""
        self.requests: list[Request] = []
        self.faults: list[Fault | None] = []
        """Of the next requests, in their order; None lets one through."""
        self.look: Callable[[Request], Fault | None] = lambda request: None
        """Asked about every other request."""
        self.stripped: set[str] = set()
        """Headers, in lower case, that never arrive."""
        self._lock = threading.Lock()

    def fault_of(self, request: Request) -> Fault | None:
        with self._lock:
            self.requests.append(request)
            if self.faults:
                return self.faults.pop(0)
        return self.look(request)


@contextlib.contextmanager
def way_to(endpoint: str) -> Iterator[Way]:
    """A way to the server, on a port of its own, for as long as the block runs."""
    way = Way()
    target = urlsplit(endpoint)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            fault = way.fault_of(Request(self.command, self.path, headers))
            status, data = 0, b""
            answered: dict[str, str] = {}
            if fault is None or fault.passed_on:
                status, answered, data = self._pass_on(headers, body)
            if fault is None:
                self._answer(status, answered, data)
            elif fault.status is not None:
                words = f"<Error><Code>{fault.code}</Code><Message>a fault</Message></Error>"
                self._answer(fault.status, {"content-type": "text/xml"}, words.encode())
            else:
                if fault.half:
                    self._answer(status, answered, data, len(data) // 2)
                self.close_connection = True

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_one  # noqa: N815 - their names

        def _pass_on(
            self, headers: dict[str, str], body: bytes
        ) -> tuple[int, dict[str, str], bytes]:
            dropped = way.stripped | {"expect", "connection"}
            connection = HTTPConnection(str(target.hostname), target.port, timeout=60)
            with contextlib.closing(connection):
                kept = {name: value for name, value in headers.items() if name not in dropped}
                connection.request(self.command, self.path, body, kept)
                answer = connection.getresponse()
                return answer.status, dict(answer.getheaders()), answer.read()

        def _answer(
            self, status: int, headers: dict[str, str], data: bytes, sent: int | None = None
        ) -> None:
            self.send_response(status)
            own = {"content-length", "connection", "transfer-encoding", "date", "server"}
            for name, value in headers.items():
                if name.lower() not in own:
                    self.send_header(name, value)
            length = next((v for n, v in headers.items() if n.lower() == "content-length"), None)
            without_body = self.command == "HEAD"
            self.send_header(
                "Content-Length", length if without_body and length else str(len(data))
            )
            self.end_headers()
            if not without_body:
                self.wfile.write(data if sent is None else data[:sent])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    way.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield way
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
