"""A sensitive output is found nowhere outside the customer's side; a public value beside it is."""

import base64
import json
import stat
import subprocess
from pathlib import Path

from tests.e2e.apps_for_tests import Component
from tests.e2e.install_site import Site
from tests.e2e.plane import BIN

MAKER = Component(
    "maker",
    seconds=0,
    extra=(
        # Made by the apply: neither the vendor nor the release knows them.
        'output "secret" {\n  value = sha256("secret ${terraform_data.r1.id}")\n'
        "  sensitive = true\n}\n"
        'output "public" { value = sha256("public ${terraform_data.r1.id}") }\n'
    ),
)
# The module does not mark the variable: only we know that it is sensitive.
TAKER = Component(
    "taker",
    seconds=0,
    needs=["maker"],
    variables={
        "unmarked": "prefix-{{ .nuon.components.maker.outputs.secret }}-suffix",
        "open": "{{ .nuon.components.maker.outputs.public }}",
    },
    extra=(
        'resource "terraform_data" "kept" { input = "${var.unmarked} ${var.open}" }\n'
        'output "derived" { value = terraform_data.kept.output }\n'
    ),
)
FAILS = Component(
    "fails",
    needs=["maker"],
    seconds=0,
    variables={"leaky": "{{ .nuon.components.maker.outputs.secret }}"},
    extra=(
        'resource "terraform_data" "leak" {\n'
        '  provisioner "local-exec" { command = "echo the secret is ${var.leaky}; exit 3" }\n}\n'
    ),
)


def test_the_secret_stays(site: Site) -> None:
    release = site.build([MAKER, TAKER, FAILS])
    site.begin(release)
    run = site.deploy(release)
    site.plane.approve_one(run)
    views = []
    for _ in range(2):
        plan = site.plane.approve_one_with_view(run)
        views.append(plan)
    answer = site.result(run)
    assert answer["status"] == "FAILED"
    assert "the secret is (sensitive)" in str(answer)

    made = json.loads(site.worker.store_file("components/maker.json").read_text())["outputs"]
    secret, public = made["secret"]["value"], made["public"]["value"]
    assert made["secret"]["sensitive"] and secret != public
    log = site.plane.logs(run)
    assert "the secret is (sensitive)" in log and "-- apply (run" in log
    history = json.dumps(_decoded(site.plane.history(run)))
    details = json.dumps(site.plane.temporal("workflow", "describe", "--workflow-id", run))
    everywhere = {
        "history": history,
        "result": json.dumps(answer),
        "description": details,
        "what the tools printed": log,
        "plan views": json.dumps(views),
        "worker's log": site.worker.log.read_text(),
        "control plane's log": site.plane.log.read_text(),
    }
    for file in (site.plane.folder / "dev").rglob("*"):
        if file.is_file():
            everywhere[str(file)] = file.read_bytes().decode("latin-1")
    told = [where for where, text in everywhere.items() if secret in text]
    assert told == []
    # The same search does find what is public.
    found = [where for where, text in everywhere.items() if public in text]
    assert {"history", "plan views"} <= set(found)
    assert any("temporal.db" in where for where in found)
    # It is on the customer's side, where it must be.
    kept = [f for f in site.worker.data.rglob("*") if f.is_file() and secret in _text(f)]
    assert kept
    # What Terraform printed of plans and outputs is taken into the store, and left nowhere else.
    runs = site.worker.data / "runs"
    assert [*runs.rglob("changes.json"), *runs.rglob("outputs.json")] == []
    # Logs are nowhere but there.
    site.worker.stop()
    assert f"The install worker of {site.install}" in site.plane.logs(run, status=4)


def test_file_modes(site: Site) -> None:
    release = site.build([MAKER])
    site.begin(release)
    run = site.deploy(release)
    site.plane.approve_one(run)
    site.completed(run)
    assert oct(stat.S_IMODE(site.worker.data.stat().st_mode)) == "0o700"
    open_to_others = [
        str(path)
        for path in site.worker.data.rglob("*")
        if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    assert open_to_others == []


def _decoded(value: object) -> object:
    """A history with its payloads in plain text: the CLI prints them in base64."""
    if isinstance(value, dict):
        return {
            key: base64.b64decode(item).decode()
            if key == "data" and isinstance(item, str)
            else _decoded(item)
            for key, item in value.items()
        }
    return [_decoded(item) for item in value] if isinstance(value, list) else value


def _text(path: Path) -> str:
    return path.read_bytes().decode("latin-1")


def test_a_sensitive_input_is_set_on_the_customers_side(site: Site) -> None:
    declared = (
        '[[input]]\nname = "token"\ndisplay_name = "T"\ndescription = "T"\n'
        "required = true\nsensitive = true\n"
    )
    taker = Component("taker", seconds=0, variables={"token": "{{ .nuon.inputs.inputs.token }}"})
    release = site.build([taker], declared)
    site.begin(release)
    secret = "canary-of-an-input"
    refused = site.plane.update(
        f"install/{site.install}", "set_inputs", {"values": {"token": "wrong place"}}, ok=False
    )
    assert "sensitive" in refused
    missing = site.result(site.deploy(release))
    assert "BadInput" in str(missing) and "token" in str(missing)

    command: list[str | Path] = [BIN / "exclave", "worker", "set-input", "token"]
    flags: list[str | Path] = ["--enrolment", site.worker.enrolment, "--data", site.worker.data]
    subprocess.run([*command, *flags], input=f"{secret}\n".encode(), check=True)
    run = site.deploy(release)
    site.plane.approve_one(run)
    site.completed(run)
    variables = site.worker.data / "work" / site.install / "taker" / "exclave-vars.auto.tfvars.json"
    assert json.loads(variables.read_text())["token"] == secret
    control_plane = [f for f in (site.plane.folder / "dev").rglob("*") if f.is_file()]
    assert [f for f in control_plane if secret in _text(f)] == []
