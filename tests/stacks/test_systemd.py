"""The stack for a machine of the customer's own: its unit and its page."""

import configparser
import tomllib
from dataclasses import asdict

import pytest
from temporalio.testing import ActivityEnvironment

from activities.access.authority import EnrolmentKey
from activities.installs.stack import StackActivities, WorkerAddresses
from contracts.errors import BadInput
from contracts.stacks import RenderStack, StorePlace
from stacks import systemd
from stacks.enrolment import Enrolment
from wire.network.gateway_address import GatewayAddress

ADDRESSES = WorkerAddresses("gateway.example.com:7233", "https://gateway.example.com/v2")


def enrolment(**more: str) -> Enrolment:
    return Enrolment.of(
        install="acme",
        namespace="vendor",
        temporal=ADDRESSES.temporal,
        releases=ADDRESSES.releases,
        **more,
    )


def unit(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=True, comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def test_a_worker_may_die_and_its_tools_may_not() -> None:
    service = unit(systemd.render(enrolment(), "shop")[systemd.UNIT])
    assert service.sections() == ["Unit", "Service", "Install"]
    assert service["Service"]["KillMode"] == "process"
    assert service["Service"]["OOMPolicy"] == "continue"
    assert service["Service"]["Restart"] == "always"
    assert service["Service"]["UMask"] == "0077"
    assert service["Service"]["NoNewPrivileges"] == "yes"
    # Longer than the longest tool: a drain lets it finish.
    assert int(service["Service"]["TimeoutStopSec"]) > 3600
    assert "/opt/exclave/bin" in service["Service"]["Environment"]


def test_the_policy_is_there_to_be_read_and_changes_nothing() -> None:
    files = systemd.render(enrolment(), "shop")
    assert set(files) == {systemd.UNIT, systemd.ENROLMENT, "policy.toml", systemd.PAGE}
    assert tomllib.loads(files["policy.toml"]) == {}
    assert "`policy.toml`" in files[systemd.PAGE]
    assert "/etc/exclave/policy.toml" in files[systemd.PAGE]


def test_the_enrolment_reads_back() -> None:
    made = enrolment(store="s3://bucket/acme", store_region="eu-central-1")
    rendered = tomllib.loads(systemd.render(made, "shop")[systemd.ENROLMENT])
    assert Enrolment.model_validate(rendered) == made


def test_the_page_names_what_is_dialled_and_where_state_lies() -> None:
    page = systemd.render(enrolment(), "shop")[systemd.PAGE]
    for word in (ADDRESSES.temporal, ADDRESSES.releases, "install.acme", "shop", "outward"):
        assert word in page
    assert "/var/lib/exclave/store" in page
    in_s3 = systemd.render(enrolment(store="s3://bucket/acme"), "shop")[systemd.PAGE]
    assert "s3://bucket/acme" in in_s3
    assert "/var/lib/exclave/store" not in in_s3


def test_behind_a_gateway_the_page_names_only_its_address() -> None:
    gateway = GatewayAddress.parse("https://gateway.example.com")
    behind = WorkerAddresses.behind(gateway, EnrolmentKey(bytes(range(32))).public)
    made = Enrolment.of(install="acme", namespace="vendor", **asdict(behind))
    page = systemd.render(made, "shop")[systemd.PAGE]
    assert "one\n  address of the vendor's, the gateway `https://gateway.example.com`" in page
    assert "install.acme" in page
    assert behind.temporal not in page


async def test_an_install_gets_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    render = StackActivities(ADDRESSES, "vendor").render
    store = StorePlace(url="s3://bucket/acme", endpoint="https://minio.example.com")
    input = RenderStack(install="acme", app="shop", store=store)
    made = await ActivityEnvironment().run(render, input)
    assert made.kind == "systemd"
    rendered = tomllib.loads(made.files["enrolment.toml"])
    assert rendered["install"] == "acme"
    assert rendered["store_endpoint"] == "https://minio.example.com"
    for wrong in ("s3:/bucket", "gs://bucket", "s3://B"):
        input = RenderStack(install="acme", app="shop", store=StorePlace(url=wrong))
        with pytest.raises(BadInput):
            await ActivityEnvironment().run(render, input)


def test_the_page_mentions_traces_only_where_they_are_sent() -> None:
    behind = enrolment(gateway="https://gateway.example.com", control_key="A" * 86)
    page = systemd.render(behind, "shop")[systemd.PAGE]
    assert "also receives traces" in page and "`traces = false` in `policy.toml`" in page
    assert "traces" not in systemd.render(enrolment(), "shop")[systemd.PAGE]
