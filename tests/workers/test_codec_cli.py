"""The codec server's process, asked by the real `temporal` CLI."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from wire.connection import TemporalAddress, connect_once
from wire.encryption.key_ring import KeyRing
from wire.encryption.keys import MasterKeys
from workers.readiness import READY_LINE, READY_VARIABLE

pytestmark = pytest.mark.process

ORG = "dev"
RUN = "deploy/acme/1"
TOKEN = "a-long-random-token"
TEMPORAL = Path(sys.executable).with_name("temporal")


@dataclass
class Cli:
    """`temporal`, as a person types it."""

    address: str
    codec: str
    log: Path
    """The codec server's address."""

    def ask(self, *words: str, auth: str | None = None, codec: bool = True) -> tuple[int, str]:
        """Run it; returns its exit status and all its output."""
        flags = ["--address", self.address, "--namespace", ORG, "-o", "json"]
        if codec:
            flags += ["--codec-endpoint", self.codec]
        if auth is not None:
            flags += ["--codec-auth", auth]
        done = subprocess.run(
            [TEMPORAL, *words, *flags], capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout + done.stderr

    def history(self, *words: str, **how: Any) -> tuple[int, str]:
        return self.ask("workflow", "show", "--workflow-id", RUN, *words, **how)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of the control side, and one run that no worker takes."""
    keys = MasterKeys.new()
    keys.write(tmp_path / "keys.json")
    async with await WorkflowEnvironment.start_local(
        namespace=ORG, dev_server_existing_path=str(TEMPORAL), dev_server_log_level="error"
    ) as environment:
        where = TemporalAddress(environment.client.service_client.config.target_host, ORG)
        found = await connect_once(where, KeyRing(keys))
        await found.start_workflow("Deploy", {"what": "plain words"}, id=RUN, task_queue="nobody")
        yield found


@pytest.fixture
async def cli(client: Client, tmp_path: Path, unused_tcp_port: int) -> AsyncIterator[Cli]:
    token = tmp_path / "codec-token"
    token.touch(mode=0o600)
    token.write_text(f"{TOKEN}\n")
    log = tmp_path / "codec.log"
    reads, writes = os.pipe()
    flags = ("--listen", f"127.0.0.1:{unused_tcp_port}", "--namespace", ORG)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "workers.codec", *flags),
                *("--token-file", token, "--keys", tmp_path / "keys.json"),
            ],
            cwd=Path(__file__).resolve().parents[2],
            env=os.environ | {READY_VARIABLE: str(writes)},
            pass_fds=[writes],
            stderr=output,
        )
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        assert pipe.readline() == READY_LINE
    address = client.service_client.config.target_host
    yield Cli(address, f"http://127.0.0.1:{unused_tcp_port}", log)
    process.terminate()
    assert process.wait(30) == 0


def encoding(said: str, event: str) -> str:
    """The encoding of the input in that event, as shown by the CLI."""
    [attributes] = [one[event] for one in json.loads(said)["events"] if event in one]
    return base64.b64decode(attributes["input"]["payloads"][0]["metadata"]["encoding"]).decode()


STARTED = "workflowExecutionStartedEventAttributes"
SIGNALED = "workflowExecutionSignaledEventAttributes"


async def test_the_cli_reads_and_writes_plain_text_with_the_token(cli: Cli) -> None:
    status, said = cli.history(codec=False)
    assert (status, encoding(said, STARTED)) == (0, "binary/encrypted")
    status, said = cli.history(auth=f"Bearer {TOKEN}")
    assert (status, encoding(said, STARTED)) == (0, "json/plain")
    for auth in (None, "Bearer another"):
        # The CLI retries and finally does not show the reason; the codec server's log does.
        status, said = cli.history("--command-timeout", "2s", auth=auth)
        assert status != 0 and "data" not in said, said
    assert "Refused 127.0.0.1: Show the codec server's token" in cli.log.read_text()
    assert TOKEN not in cli.log.read_text()
    what_the_cli_sends_is_encrypted(cli)


def what_the_cli_sends_is_encrypted(cli: Cli) -> None:
    words = ("workflow", "signal", "--workflow-id", RUN, "--name", "hear", "--input", '"a word"')
    for auth in (None, "Bearer another"):
        status, said = cli.ask(*words, auth=auth)
        assert status != 0 and "Show the codec server's token" in said, said
    status, said = cli.ask(*words, auth=f"Bearer {TOKEN}")
    assert status == 0, said
    assert encoding(cli.history(codec=False)[1], SIGNALED) == "binary/encrypted"
    assert encoding(cli.history(auth=f"Bearer {TOKEN}")[1], SIGNALED) == "json/plain"
