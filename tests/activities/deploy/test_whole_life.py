"""A sandbox and components with a real Terraform: provisioned, deployed, torn down, and again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.testing import ActivityEnvironment

from activities.deploy.activities import DeployActivities
from activities.releases.reader import ReleaseReader
from activities.secrets.masking import MASK
from apps.parts import SANDBOX
from artifacts.layout import Layout
from artifacts.registry import Registry
from contracts.deploys import Applied, Decision, Plan, Scope, ViewInput
from contracts.errors import EngineFailed
from tests.activities.build.shop_source import SANDBOX_FILES, build, registry_of, write_shop
from tests.activities.deploy.deploy_site import DeploySite

pytestmark = pytest.mark.e2e

SECRET = "hunter2hunter2"
GROUND_FILE = "modules/ground/main.tf"
GROUND = """
variable "region" { type = string }
resource "terraform_data" "ground" {
  input = "ground-${var.region}"
}
output "id" { value = terraform_data.ground.output }
output "key" {
  value     = sha256(terraform_data.ground.id)
  sensitive = true
}
"""
NETWORK = """
variable "region" { type = string }
variable "ground" { type = string }
variable "key" { type = string }
resource "terraform_data" "net" {
  input = "net-${var.region} on ${var.ground} by ${var.key}"
}
output "id" { value = "net-${var.region}" }
output "all" { value = terraform_data.net.output }
"""
API = """
variable "network" { type = string }
resource "terraform_data" "api" {
  input = var.network
}
output "url" { value = "http://${terraform_data.api.output}" }
"""
READS_SANDBOX = """
ground = "{{ .nuon.sandbox.outputs.id }}"
key = "{{ .nuon.install.sandbox.outputs.key }}"
"""


def app(root: Path, changes: dict[str, str]) -> Path:
    """The shop with a sandbox that its network reads, and resources in each part."""
    folder = write_shop(root / "app", SANDBOX_FILES | {GROUND_FILE: GROUND})
    network = folder / "components/network.toml"
    if "ground" not in network.read_text():
        network.write_text(network.read_text() + READS_SANDBOX)
    (folder / "modules/network/main.tf").write_text(NETWORK)
    (folder / "modules/api/main.tf").write_text(API)
    for name, text in changes.items():
        (folder / name).write_text(text)
    return folder


class Life:
    """The install, and a builder of its releases."""

    def __init__(self, root: Path, registry: Registry) -> None:
        self.root = root
        self.registry = registry
        reader = ReleaseReader(registry, root / "data" / "releases")
        self.site = DeploySite(root, reader)
        self.site.state.set_sensitive_input("license", SECRET)

    async def release(self, changes: dict[str, str] | None = None) -> str:
        folder = app(self.root, changes or {})
        _, built = await build(self.registry, folder, self.root / "build")
        return built.release

    async def provision(self, release: str, **inputs: str) -> dict[str, Applied | Plan]:
        found = await self.settle(await self.site.provision_scope(release, **inputs))
        await self.site.provision_finish(release)
        return found

    async def deploy(self, release: str, **inputs: str) -> dict[str, Applied | Plan]:
        found = await self.settle(await self.site.deploy_scope(release, **inputs))
        await self.site.deploy_finish(release)
        return found

    async def deprovision(self) -> list[str]:
        scope = await self.site.deprovision_scope()
        await self.settle(scope)
        await self.site.deprovision_finish()
        return [one.component for one in scope.decisions]

    async def settle(self, scope: Scope) -> dict[str, Applied | Plan]:
        """Settle the parts one after the other, as a run does, except those to be skipped."""
        return {
            one.component: await self.site.settle(one)
            for one in scope.decisions
            if one.verb != "skip"
        }


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    with registry_of(Layout(tmp_path / "registry")) as registry:
        yield Life(tmp_path, registry)


async def view(life: Life, decision: Decision) -> str:
    key, _ = await life.site.plan(decision)
    activity = DeployActivities(life.site.workplace).view
    input = ViewInput(install="acme", component=decision.component, plan_key=key)
    return (await ActivityEnvironment().run(activity, input)).text


async def test_a_whole_life_and_another_one(life: Life) -> None:
    release = await life.release()
    provisioned = await life.provision(release)
    assert provisioned.keys() == {SANDBOX}
    outputs = provisioned[SANDBOX].outputs
    assert (outputs.values, outputs.sensitive) == ({"id": "ground-here"}, ["key"])
    assert (await life.provision(release)) == {}, "nothing changed"
    deployed = await life.deploy(release)
    assert list(deployed) == ["network", "api"]
    seen = deployed["network"].outputs.values["all"]
    assert seen == f"net-here on ground-here by {MASK}"
    assert (await life.deploy(release)) == {}
    assert await life.deprovision() == ["api", "network", SANDBOX]
    assert life.site.left() == []
    life.site.state.set_sensitive_input("license", SECRET)
    assert (await life.provision(release)).keys() == {SANDBOX}
    assert list(await life.deploy(release)) == ["network", "api"]


async def test_a_sandbox_applied_again_plans_what_reads_it(life: Life) -> None:
    first = await life.release()
    await life.provision(first)
    await life.deploy(first)
    more = GROUND + 'resource "terraform_data" "more" {}\n'
    second = await life.release({GROUND_FILE: more})
    scope = await life.site.deploy_scope(second)
    assert {one.verb for one in scope.decisions} == {"skip"}, "the sandbox is not provisioned again"
    await life.provision(second)
    scope = await life.site.deploy_scope(second)
    found = {one.component: (one.verb, one.reason) for one in scope.decisions}
    assert found["network"] == ("plan", "sandbox changed since")
    assert found["api"][0] == "skip"
    assert (await life.deploy(second)).keys() == {"network"}
    assert (await life.deploy(second)) == {}, "it is built on the sandbox as it is now"


async def test_an_input_plans_the_sandbox_that_reads_it(life: Life) -> None:
    release = await life.release()
    await life.provision(release)
    scope = await life.site.provision_scope(release, region="there")
    assert [one.reason for one in scope.decisions] == ["the input region changed"]
    applied = await life.settle(scope)
    assert applied[SANDBOX].outputs.values == {"id": "ground-there"}


async def test_people_read_of_the_sandbox(life: Life) -> None:
    fails = GROUND + (
        'resource "terraform_data" "fails" {\n  provisioner "local-exec" {\n'
        '    command = "exit 3"\n  }\n}\n'
    )
    release = await life.release({GROUND_FILE: fails})
    scope = await life.site.provision_scope(release)
    assert (await view(life, scope.decisions[0])).startswith("apply sandbox: 2 to create")
    with pytest.raises(EngineFailed, match=r"EngineFailed: sandbox: terraform apply failed"):
        await life.settle(scope)
    again = await life.site.provision_scope(release)
    assert [one.reason for one in again.decisions] == ["its last apply did not end well"]
    assert await life.deprovision() == [SANDBOX]
    assert life.site.left() == []
