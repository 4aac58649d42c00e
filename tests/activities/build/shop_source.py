"""A small app config, written into a folder, and a registry that it can be built in."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from temporalio.testing import ActivityEnvironment

from activities.build.release import BuildActivities
from apps.parts import SANDBOX
from artifacts.layout import Layout
from artifacts.registry import Registry
from artifacts.sources import push_source
from contracts.builds import AssembledRelease, AssembleRelease, CheckSource, PackComponent
from gateway.registry.app import registry_app
from tests.artifacts.serving import served

SHOP = {
    "metadata.toml": 'version = "v2"\ndisplay_name = "Shop"\n',
    "inputs.toml": """
[[group]]
name = "shop"
description = "The shop"

[[input]]
name = "region"
display_name = "Region"
description = "Where"
group = "shop"
default = "here"

[[input]]
name = "license"
display_name = "License"
description = "What for"
group = "shop"
sensitive = true
required = true
""",
    "components/network.toml": """
name = "network"
type = "terraform_module"
terraform_version = "1.11.0"

[public_repo]
repo = "."
directory = "modules/network"

[vars]
region = "{{ .nuon.inputs.inputs.region }}"
""",
    "components/api.toml": """
name = "api"
type = "terraform_module"
terraform_version = "1.11.0"

[public_repo]
repo = "."
directory = "modules/api"

[vars]
network = "{{ .nuon.components.network.outputs.id }}"
""",
    "actions/health.toml": """
name = "health"

[[triggers]]
type = "manual"

[[steps]]
name = "look"
command = "true"
""",
    "modules/network/main.tf": """
variable "region" { type = string }
output "id" { value = "net-${var.region}" }
""",
    "modules/network/files/motd": "hello\n",
    "modules/api/main.tf": """
variable "network" { type = string }
output "url" { value = "http://${var.network}" }
""",
}

SANDBOX_FILES = {
    "sandbox.toml": """
terraform_version = "1.11.0"

[public_repo]
repo = "."
directory = "modules/ground"

[vars]
region = "{{ .nuon.inputs.inputs.region }}"
""",
    "modules/ground/main.tf": """
variable "region" { type = string }
output "id" { value = "ground-${var.region}" }
""",
}
"""What gives the shop a sandbox."""


def write_shop(folder: Path, changes: dict[str, str] | None = None) -> Path:
    for name, text in (SHOP | (changes or {})).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@contextmanager
def registry_of(layout: Layout) -> Iterator[Registry]:
    with served(registry_app(layout, writable=True)) as address, Registry(address) as client:
        yield client


async def build(
    registry: Registry, folder: Path, data: Path, app: str = "shop"
) -> tuple[AssembleRelease, AssembledRelease]:
    """Upload and build as the Build workflow does."""
    source = push_source(registry, folder)
    activities, environment = BuildActivities(registry, data), ActivityEnvironment()
    checked = await environment.run(activities.check, CheckSource(app=app, source=source))
    packed = {
        name: await environment.run(
            activities.pack, PackComponent(app=app, source=source, component=name)
        )
        for name in [*checked.components, *([SANDBOX] if checked.sandbox else [])]
    }
    artifacts = {name: part.artifact for name, part in packed.items()}
    request = AssembleRelease(
        app=app,
        config=checked.config,
        sandbox=artifacts.pop(SANDBOX, None),
        components=artifacts,
    )
    return request, await environment.run(activities.assemble, request)
