"""A config whose repositories lie elsewhere is built as it is, and deployed without any of them."""

import shutil
from pathlib import Path

from tests.e2e.install_site import Site
from tests.git_repositories import Repositories

SOURCE = '[public_repo]\nrepo = "{repo}"\ndirectory = "{directory}"\nbranch = "main"\n'
NETWORK = """
variable "region" { type = string }
variable "install_id" { type = string }
resource "terraform_data" "network" { input = "${var.region}/${var.install_id}" }
output "vpc_id" { value = "vpc-${terraform_data.network.output}" }
"""
SANDBOX = """
variable "nuon_id" { type = string }
variable "region" { type = string }
resource "terraform_data" "ground" { input = var.nuon_id }
output "zone" { value = "${var.region}-a" }
"""
API = """
variable "vpc_id" { type = string }
variable "zone" { type = string }
resource "terraform_data" "api" {
  input = templatefile("${path.module}/templates/url.tftpl", { vpc = var.vpc_id, zone = var.zone })
}
output "url" { value = terraform_data.api.output }
"""
REGION = """
module "names" { source = "../names" }
variable "region" { type = string }
resource "terraform_data" "region" {
  input = "${module.names.prefix}${var.region}${file("${path.module}/../../files/suffix")}"
}
output "name" { value = terraform_data.region.output }
"""
NAMES = 'output "prefix" { value = "r-" }\n'
TELL = """#!/bin/sh
. ./lib.sh
echo "in=$(basename "$PWD")" >> "$NUON_ACTIONS_OUTPUT_FILEPATH"
tell "$NAME" "$1"
"""


def write_config(folder: Path, owner: str) -> Path:
    apps = f"{owner}/example-app-configs"
    files = {
        "metadata.toml": 'version = "v2"\ndisplay_name = "Simple"\nreadme = "./README.md"\n',
        "README.md": "# {{ .nuon.install.name }} at {{ .nuon.components.api.outputs.url }}\n",
        "runner.toml": 'runner_type = "aws"\n',
        "inputs.toml": (
            '[[group]]\nname = "dns"\ndescription = "Where"\ndisplay_name = "DNS"\n'
            '[[input]]\nname = "region"\ndisplay_name = "Region"\ndescription = "Region"\n'
            'group = "dns"\ndefault = "us-west-2"\n'
        ),
        "sandbox.toml": (
            'terraform_version = "1.5.0"\n'
            + SOURCE.format(repo=f"{owner}/aws-min-sandbox", directory=".")
            + '[vars]\nnuon_id = "{{ .nuon.install.id }}"\n'
            'region = "{{ .nuon.inputs.inputs.region }}"\n'
        ),
        "components/0-network.toml": (
            'name = "network"\ntype = "terraform_module"\nterraform_version = "1.5.0"\n'
            + SOURCE.format(repo=apps, directory="simple/src/components/network")
            + '[vars]\nregion = "{{ .nuon.inputs.inputs.region }}"\n'
            'install_id = "{{ .nuon.install.id }}"\n'
        ),
        "components/1-api.toml": (
            'name = "api"\ntype = "terraform_module"\nterraform_version = "1.5.0"\n'
            'dependencies = ["network"]\n'
            + SOURCE.format(repo=apps, directory="simple/src/components/api")
            + '[vars]\nvpc_id = "{{ .nuon.components.network.outputs.vpc_id }}"\n'
            'zone = "{{ .nuon.sandbox.outputs.zone }}"\n'
        ),
        "actions/look.toml": (
            'name = "look"\n[[triggers]]\ntype = "manual"\n[[steps]]\nname = "look"\n'
            "inline_contents = "
            f'"git::https://github.com/{apps}.git//simple/src/actions/look.sh?ref=main"\n'
            '[steps.env_vars]\nURL = "{{ .nuon.components.api.outputs.url }}"\n'
        ),
        "components/2-region.toml": (
            'name = "region"\ntype = "terraform_module"\nterraform_version = "1.5.0"\n'
            + SOURCE.format(repo=apps, directory="simple/modules/region")
            + '[vars]\nregion = "{{ .nuon.inputs.inputs.region }}"\n'
        ),
        "actions/tell.toml": (
            'name = "tell"\n[[triggers]]\ntype = "manual"\n[[steps]]\nname = "tell"\n'
            'command = "./tell.sh {{ .nuon.install.id }}"\n[steps.public_repo]\n'
            f'repo = "{apps}"\ndirectory = "simple/src/actions/tell"\nbranch = "main"\n'
            '[steps.env_vars]\nNAME = "{{ .nuon.components.region.outputs.name }}"\n'
        ),
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_config_like_public_ones_is_built_unedited_and_deployed(
    site: Site, tmp_path: Path
) -> None:
    owner = "nobody-in-particular"
    repositories = Repositories(
        tmp_path / "git", site.plane.git_config, f"https://github.com/{owner}/"
    )
    # The owner is part of what is replaced.
    repositories.commit("aws-min-sandbox", {"main.tf": SANDBOX, "README.md": "hello\n"})
    commit = repositories.commit(
        "example-app-configs",
        {
            "simple/src/components/network/main.tf": NETWORK,
            "simple/src/components/api/main.tf": API,
            "simple/src/components/api/templates/url.tftpl": "https://${vpc}/${zone}\n",
            "simple/src/actions/look.sh": '#!/bin/sh\necho "url=$URL" >> '
            "$NUON_ACTIONS_OUTPUT_FILEPATH\n",
            "another/main.tf": "# not ours\n",
            "simple/modules/region/main.tf": REGION,
            "simple/modules/names/main.tf": NAMES,
            "simple/files/suffix": "-x",
            "simple/src/actions/tell/tell.sh": TELL,
            "simple/src/actions/tell/lib.sh": (
                'tell() { echo "told=$1 $2" >> "$NUON_ACTIONS_OUTPUT_FILEPATH"; }\n'
            ),
        },
    )
    config = write_config(tmp_path / "simple", owner)
    release = site.plane.build(site.app, config)
    again = site.plane.build(site.app, config, number=2)
    assert again == release, "no branch moved"
    built = site.plane.result(f"build/{site.app}/1")["result"]
    assert {one["ref"] for one in built["fetched"]} == {"main"}
    assert commit in {one["commit"] for one in built["fetched"]}

    # Whatever a deploy needs is in the release.
    shutil.rmtree(repositories.served)
    shutil.rmtree(config)
    site.begin_without_inputs(release)
    provision = site.start("provision", {"release": release})
    site.approve_all(provision, 1)
    site.completed(provision)
    run = site.deploy(release)
    site.approve_all(run, 3)
    assert site.outcomes(run) == {"network": "applied", "api": "applied", "region": "applied"}
    [step] = site.completed(site.act("look"))["steps"]
    assert step["outputs"]["values"]["url"] == (
        f"https://vpc-us-west-2/{site.install}/us-west-2-a\n".strip()
    )
    [step] = site.completed(site.act("tell"))["steps"]
    assert step["outputs"]["values"] == {
        "in": "repository",
        "told": f"r-us-west-2-x {site.install}",
    }
    url = f"https://vpc-us-west-2/{site.install}/us-west-2-a"
    assert site.plane.readme(site.install).splitlines()[0] == f"# {site.install} at {url}"
