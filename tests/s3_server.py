"""A real S3 server for tests: moto, in a process of its own on a loopback port.

moto looks at an object and then writes it, and two requests may meet in between; in S3 they cannot.
So it answers one request at a time here.
"""

import contextlib
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = 5
"""How many keys a list request gives at most."""

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test-key-id",
    "AWS_SECRET_ACCESS_KEY": "test-secret-key",
    "AWS_EC2_METADATA_DISABLED": "true",
    # Of the person who runs the tests, nothing is used.
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}

UNSET = (
    "AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE",
    "HTTP_PROXY", "http_proxy",
)  # fmt: skip


@dataclass(frozen=True)
class S3Server:
    """A running server."""

    endpoint: str
    pid: int

    def make_bucket(self) -> str:
        """A new, empty bucket; returns its name."""
        import boto3  # noqa: PLC0415 - most tests need none of it

        name = f"bucket-{secrets.token_hex(6)}"
        client = boto3.Session(
            aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1"
        ).client("s3", endpoint_url=self.endpoint)
        with contextlib.closing(client):
            client.create_bucket(Bucket=name)
        return name


@contextlib.contextmanager
def running_s3() -> Iterator[S3Server]:
    """A server that takes requests, until the block ends (or this process does)."""
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **ENVIRONMENT, "MOTO_S3_DEFAULT_MAX_KEYS": str(PAGE)},
        cwd=Path(__file__).parent,
    )
    with process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            assert port.isdigit(), "the S3 server ended before it had a port"
            yield S3Server(f"http://127.0.0.1:{port}", process.pid)
        finally:
            process.kill()


Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def _one_at_a_time(app: Wsgi) -> Wsgi:
    lock = threading.Lock()

    def locked(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        with lock:
            return list(app(environ, start_response))

    return locked


def _serve() -> None:
    """Serves on a free port, which it prints, until standard input ends, with its starter."""
    from moto.moto_server.werkzeug_app import (  # noqa: PLC0415 - not where the server is only used
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from werkzeug.serving import make_server  # noqa: PLC0415

    class Quiet(MotoRequestHandler):
        def log(self, *_: object) -> None:
            pass

    app = _one_at_a_time(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    os.environ["MOTO_PORT"] = str(server.port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
