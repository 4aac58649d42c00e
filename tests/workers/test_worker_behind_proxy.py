"""A worker whose only way out is a proxy, in a network with its own certificate authority."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stacks.enrolment import Enrolment
from tests.http_proxy import ConnectProxy, connect_proxy
from tests.tls_certificates import NAME
from tests.workers.behind_gateway import gateway_settings, running
from tests.workers.test_worker_behind_gateway import describe, org, stack

__all__ = ["org"]
pytestmark = pytest.mark.process


async def checked_up(file: Path, data: Path) -> list[dict[str, Any]]:
    """The findings of `exclave worker doctor` beside the running worker."""
    argv = ("worker", "doctor", "--enrolment", str(file), "--data", str(data), "-o", "json")
    doctor = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "exclave", *argv, stdout=subprocess.PIPE
    )
    said, _ = await doctor.communicate()
    checks: list[dict[str, Any]] = json.loads(said)["checks"]
    return checks


async def test_it_enrols_and_works(
    org: Any,
    tmp_path: Path,
    unused_tcp_port: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = gateway_settings(tmp_path, unused_tcp_port, org.address)
    file = stack(tmp_path / "stack", f"{NAME}:443", tmp_path / "ca.pem", org)
    # The authority is the customer's own, so it is not in the stack but given by `ca_bundle`.
    named = {"gateway_ca": None, "ca_bundle": str(tmp_path / "ca.pem")}
    file.write_text(Enrolment.read(file).model_copy(update=named).render())
    argv = ("workers.exclave_worker", str(file), "--data", str(tmp_path / "data"))
    knows = {f"{NAME}:443": ("127.0.0.1", unused_tcp_port)}
    with running(tmp_path / "gateway.log", "workers.gateway_main", str(settings)) as gateway:
        await gateway.says("Serving at")
        async with connect_proxy(ConnectProxy(knows, "exclave:pass-word")) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
            with running(tmp_path / "worker.log", *argv) as worker:
                await worker.says("This worker is enrolled as install/acme")
                await worker.says("Working on the queue install.acme")
                assert (await describe(org)).protocol
                checked = await checked_up(file, tmp_path / "data")
            assert set(proxy.asked) == {f"{NAME}:443 200"}
    assert all(one["ok"] for one in checked), checked
    assert "enrolled; it gets credentials, valid for 15 min" in str(checked)
    assert "pass-word" not in str(checked)
    assert "pass-word" not in (tmp_path / "worker.log").read_text()
    bundle = tmp_path / "data" / "trust" / "ca-bundle.pem"
    assert (tmp_path / "ca.pem").read_text().strip() in bundle.read_text()
    assert bundle.stat().st_mode & 0o777 == 0o644
