"""A sensitive output is found nowhere outside the customer's side; a public value beside it is."""

import json
import os
import stat
from pathlib import Path

from apps_for_tests import Component
from conftest import Site

SECRET = "canary-7f3a9c-do-not-tell"
PUBLIC = "public-41b8e2-tell-everybody"

MAKER = Component(
    "maker",
    seconds=0,
    extra=(
        f'output "secret" {{\n  value = "{SECRET}"\n  sensitive = true\n}}\n'
        f'output "public" {{ value = "{PUBLIC}" }}\n'
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

    history = json.dumps(site.plane.history(run))
    details = json.dumps(site.plane.temporal("workflow", "describe", "--workflow-id", run))
    everywhere = {
        "history": history,
        "result": json.dumps(answer),
        "description": details,
        "plan views": json.dumps(views),
        "worker's log": site.worker.log.read_text(),
        "control plane's log": site.plane.log.read_text(),
    }
    for file in (site.plane.folder / "dev").rglob("*"):
        if file.is_file():
            everywhere[str(file)] = file.read_bytes().decode("latin-1")
    told = [where for where, text in everywhere.items() if SECRET in text]
    assert told == []
    # The same search does find what is public.
    public = [where for where, text in everywhere.items() if PUBLIC in text]
    assert {"history", "plan views"} <= set(public)
    assert any("temporal.db" in where for where in public)
    # It is on the customer's side, where it must be.
    kept = [f for f in site.worker.data.rglob("*") if f.is_file() and SECRET in _text(f)]
    assert kept


def test_file_modes(site: Site) -> None:
    release = site.build([MAKER])
    site.begin(release)
    run = site.deploy(release)
    site.plane.approve_one(run)
    site.completed(run)
    assert oct(stat.S_IMODE(os.stat(site.worker.data).st_mode)) == "0o700"
    open_to_others = [
        str(path)
        for path in site.worker.data.rglob("*")
        if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    assert open_to_others == []


def _text(path: Path) -> str:
    return path.read_bytes().decode("latin-1")
