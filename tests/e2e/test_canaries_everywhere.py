"""Canaries, one for each way in which a secret can go, are found nowhere but where they belong.

The processes are the real ones: a Temporal server with its database in a file, the gateway, the
control and build workers, and an `exclave-worker` that enrolled with a token. Payloads are
encrypted.
"""

import base64
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.apps_for_tests import Component
from tests.e2e.install_site import Site
from tests.e2e.plane import BIN, PATIENCE_SECONDS, EnrolledWorker, Plane, until
from tests.e2e.proc_samples import sampling
from tests.e2e.searching import Canaries, Found, files, hidden_copies, search, snippets
from tests.terraform import the_terraform
from wire.encryption.keys import MasterKeys

INSTALL = "canaries"
TYPED = frozenset({"typed by the vendor", "the reason of a denial"})
"""What people type to the control plane: whoever may read payloads reads it there."""
OPEN = frozenset({"an input that is not sensitive", "the vendor's module"})

SENSITIVE = """
[[input]]
name = "{name}"
display_name = "A secret"
description = "A secret"
required = true
sensitive = true
"""
SECRET_INPUTS = ("given", "changed", "pem", "leaf")
INPUTS = "".join(SENSITIVE.format(name=name) for name in SECRET_INPUTS) + (
    '[[input]]\nname = "folder"\ndisplay_name = "F"\ndescription = "F"\nrequired = true\n'
    '[[input]]\nname = "open"\ndisplay_name = "O"\ndescription = "O"\nrequired = true\n'
)

SAY = """
say() {
  printf '%s\\n' "$1"
  printf '%s' "$1" | base64
  printf 'user:%s' "$1" | base64 -w 0; echo
  printf 'me:%s' "$1" | base64 -w 0; echo
  printf '{"a":"%s"}\\n' "$1" >&2
  printf '%s\\n' "$1" | sed 's/^/Error:   /' >&2
}
"""
"""A tool that prints what it was given, in the ways in which tools do."""


def in_shell(*names: str) -> str:
    return SAY + "".join(f'say "${name}"\n' for name in names)


INPUT = "{{{{ .nuon.inputs.inputs.{} }}}}".format
MADE = "{{ .nuon.components.maker.outputs.secret }}"
MAKER = Component(
    "maker",
    seconds=0,
    variables={"folder": INPUT("folder")},
    extra="""
output "secret" {
  value     = trimspace(file("${var.folder}/output"))
  sensitive = true
}
resource "terraform_data" "attribute" {
  input = sensitive(trimspace(file("${var.folder}/attribute")))
  provisioner "local-exec" { command = "cat '${var.folder}/attribute'" }
}
""",
)
TAKER = Component(
    "taker",
    seconds=0,
    needs=["maker"],
    variables={
        "unmarked": f"prefix-{INPUT('given')}-suffix",
        "leaf": "https://u:{{ .nuon.inputs.inputs.leaf | urlquery }}@host",
        "pem": INPUT("pem"),
        "made": MADE,
        "open": INPUT("open"),
    },
    marked={"marked": INPUT("changed")},
    extra="""
resource "terraform_data" "kept" { input = "${var.unmarked} ${var.pem} ${var.open}" }
resource "terraform_data" "marked" { input = var.marked }
output "url" { value = "https://u:${urlencode(var.unmarked)}@host/${urlencode(var.made)}" }
output "basic" { value = base64encode("user:${var.made}") }
output "json" { value = jsonencode({ a = jsonencode({ b = var.unmarked }), pem = var.pem }) }
output "open" { value = var.open }
""",
)
FAILS = Component(
    "fails",
    seconds=0,
    needs=["maker"],
    variables={"given": INPUT("given"), "pem": INPUT("pem"), "made": MADE},
    marked={"changed": INPUT("changed")},
    extra="""
resource "terraform_data" "says" {
  provisioner "local-exec" {
    environment = { GIVEN = var.given, PEM = var.pem, MADE = var.made }
    command     = <<-SCRIPT
"""
    + in_shell("GIVEN", "PEM", "MADE").replace("%{", "%%{")
    + """
      sleep 1  # so that whoever looks at processes now and then sees this one
      echo "it failed with ${var.given}" >&2; exit 3
    SCRIPT
  }
}
""",
)
REFUSES = Component(
    "refuses",
    seconds=0,
    variables={"given": INPUT("given"), "pem": INPUT("pem")},
    extra="""
resource "terraform_data" "refuses" {
  lifecycle {
    precondition {
      condition     = var.given == ""
      error_message = "It may not be ${jsonencode(var.given)} nor ${var.pem}."
    }
  }
}
""",
)

VARIABLES = f"""
[steps.env_vars]
GIVEN = "{INPUT("given")}"
CHANGED = "{INPUT("changed")}"
PEM = "{INPUT("pem")}"
LEAF = "token={{{{ .nuon.inputs.inputs.leaf | b64enc }}}}"
MADE = "{MADE}"
"""
ALL = in_shell("GIVEN", "CHANGED", "PEM", "LEAF", "MADE")
HEALTH = f"""
[[triggers]]
type = "manual"
[[steps]]
name = "looks"
inline_contents = '''
#!/bin/sh
{ALL}
made=$(printf '%s' "$MADE" | base64 -w 0)
printf '{{"health": {{"status": "up with %s"}}}}\\n' "$made" >> "$NUON_ACTIONS_OUTPUT_FILEPATH"
echo "left=$LEAF" >> "$NUON_ACTIONS_OUTPUT_FILEPATH"
'''
{VARIABLES}
[[steps]]
name = "raises"
inline_contents = '''
#!{sys.executable}
import os, json, urllib.parse
for given in (os.environ["GIVEN"], os.environ["PEM"]):
    print(json.dumps(given), urllib.parse.quote(given), urllib.parse.quote_plus(given), flush=True)
raise ValueError(os.environ["GIVEN"])
'''
{VARIABLES}
"""
CANNOT_BE_RENDERED = """
[[steps]]
name = "never"
command = "true"
[steps.env_vars]
X = "{{ fail .nuon.inputs.inputs.given }}"
"""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    the_terraform()
    one = Plane(tmp_path_factory.mktemp("guarded"), guarded=True)
    one.start()
    yield one
    one.stop()


def exclave(plane: Plane, *arguments: object, status: int = 0, given: str | None = None) -> str:
    """Everything that the command says."""
    done = subprocess.run(
        [BIN / "exclave", *map(str, arguments)],
        env=plane.environment,
        input=given,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_no_canary_is_where_it_may_not_be(guarded: Plane, tmp_path: Path) -> None:
    canary = Canaries()
    worker = EnrolledWorker(guarded, INSTALL, tmp_path)
    site = Site(guarded, INSTALL, f"{INSTALL}-app", worker, tmp_path / "lines", tmp_path)
    secrets = {
        name: canary.lines(name) if name == "pem" else canary.phrase(f"input {name}")
        for name in SECRET_INPUTS
    }
    for name in ("output", "attribute"):
        (tmp_path / name).write_text(canary.phrase(f"terraform {name}"))
    open_input = canary.core("an input that is not sensitive")
    vendors = canary.core("the vendor's module")
    commented = f"# {vendors}\n"
    maker = Component(**{**vars(MAKER), "extra": commented + MAKER.extra})
    canary.phrase("changed input"), canary.phrase("typed by the vendor")
    canary.core("the reason of a denial")

    with sampling(canary.needles(but=OPEN | TYPED)) as sampled:
        told = the_story(site, canary, secrets, maker, open_input)
        worker.stop()

    everywhere = {**told, **files(guarded.folder), "the worker's log": worker.log.read_bytes()}
    master = keys_file(guarded).read_bytes()
    assert master in everywhere.values()
    secret = canary.needles(but=OPEN | TYPED)
    assert search(everywhere, secret) == {}, snippets(everywhere, secret)
    assert sampled.outside == set()
    assert "New payload keys received" in worker.log.read_text()
    # What people type is encrypted in Temporal, though its reader reads it.
    typed = {name: forms for name, forms in canary.needles().items() if name in TYPED}
    assert search(files(guarded.folder), typed) == {}

    the_search_finds_what_is_there(canary, everywhere, tmp_path)
    the_story_is_traced(guarded.folder / "dev/gateway/telemetry.db")
    # They were where they belong, or nothing was tried.
    kept = search(files(worker.data), secret)
    assert kept.keys() == secret.keys()
    assert {"input given", "terraform output"} <= sampled.in_tools


def the_story(
    site: Site, canary: Canaries, secrets: dict[str, str], maker: Component, open_input: str
) -> dict[str, bytes]:
    """Every way that a secret takes; returns what anybody was told of it."""
    plane, worker = site.plane, site.worker
    told: dict[str, str] = {}

    def say(what: str, *arguments: object, **kinds: Any) -> str:
        told[what] = exclave(plane, *arguments, **kinds)
        return told[what]

    actions = {"health": HEALTH, "renders": CANNOT_BE_RENDERED}
    release = site.build([maker, TAKER, FAILS, REFUSES], INPUTS, actions)
    stack = worker.enrolment.parent
    flags = ("--app", site.app, "--release", release, "--stack", stack)
    say("install", "install", INSTALL, *flags)
    worker.start()

    def set_secret(name: str, value: str) -> None:
        where = ("--enrolment", worker.enrolment, "--data", worker.data)
        say(f"set-input {name}", "worker", "set-input", name, *where, given=f"{value}\n")

    for name, value in secrets.items():
        set_secret(name, value)
    install = f"install/{INSTALL}"
    folder = worker.enrolment.parent.parent.parent
    site.set_inputs(lines=str(site.lines_file), folder=str(folder), open=open_input)
    wrong = {"values": {"given": canary.phrase("typed by the vendor")}}
    told["refused"] = plane.update(install, "set_inputs", wrong, ok=False)
    assert "sensitive" in told["refused"]

    run = site.deploy(release)
    for component in ("maker", "taker", "fails"):
        look_and_approve(site, told, run, component)
    first = site.result(run)
    set_secret("changed", canary.phrase("changed input"))
    use_another_key(plane)
    again = site.deploy(release)
    look_and_approve(site, told, again, "taker")
    waits_for_approval(site, again, "fails")
    reason = canary.core("the reason of a denial")
    exclave(plane, "deny", again, "--component", "fails", "--reason", reason)
    second = site.result(again)
    runs = [run, again]
    for action, why in {"health": "exit status 1", "renders": "`fail`"}.items():
        runs.append(site.start("act", {"action": action, "release": release}))
        told[action] = json.dumps(site.result(runs[-1]))
        assert why in told[action], told[action]
    told["results"] = json.dumps([first, second])
    look_at_everything(site, told, runs)
    assert "it failed with (sensitive)" in told[f"logs {run}"]
    return {what: text.encode() for what, text in told.items()}


def the_story_is_traced(telemetry: Path) -> None:
    """So that canaries were looked for in traces, too: each run is one, with its tools."""
    with closing(sqlite3.connect(telemetry)) as database:
        rows = list(
            database.execute("SELECT trace, install, name, text, attributes FROM telemetry")
        )
    traces: dict[str, set[str]] = {}
    runs: dict[str, set[str]] = {}
    for trace, install, name, text, attributes in rows:
        assert install in (INSTALL, "")
        traces.setdefault(trace, set()).add(f"{name}: {text.partition(',')[0]}")
        run = json.loads(attributes).get("temporalRunID")
        if run:
            runs.setdefault(run, set()).add(trace)
    assert all(len(found) == 1 for found in runs.values())
    [deploy] = [found for found in traces.values() if "terraform.apply: error" in found]
    assert deploy >= {"deploy.scope: unset", "terraform.plan: unset", "plan: unset", "apply: error"}


def keys_file(plane: Plane) -> Path:
    return plane.folder / "dev/keys.json"


def use_another_key(plane: Plane) -> None:
    """The worker, which runs, has never heard of it."""
    before = MasterKeys.read(keys_file(plane))
    added = before.with_new_key()
    added.write(keys_file(plane), replaces=True)
    exclave(
        plane, "keys", "gateway", keys_file(plane), plane.folder / "dev/gateway/access-keys.json"
    )
    [key] = added.keys.keys() - before.keys.keys()
    exclave(plane, "keys", "use", keys_file(plane), key)


def waits_for_approval(site: Site, run: str, component: str) -> None:
    def waits() -> bool:
        return component in {one["component"] for one in site.plane.waiting_plans(run)}

    until(waits, f"a plan of {component} in {run}; {site.worker.log}")


def look_and_approve(site: Site, told: dict[str, str], run: str, component: str) -> None:
    waits_for_approval(site, run, component)
    shown = exclave(site.plane, "plan", run, "--component", component, "--output", "json")
    told[f"plan {run} {component}"] = shown
    exclave(site.plane, "approve", run, "--component", component)


def look_at_everything(site: Site, told: dict[str, str], runs: list[str]) -> None:
    """What every command says, and every history as who may read it sees it."""
    plane, worker = site.plane, site.worker
    for output in ("text", "json"):
        told[f"status {output}"] = exclave(plane, "status", INSTALL, "--output", output)
    told["overview"] = exclave(plane, "status", "--output", "json")
    for run in runs:
        told[f"logs {run}"] = exclave(plane, "logs", run, "--output", "json")
    where = ("--enrolment", worker.enrolment, "--data", worker.data)
    told["journal"] = exclave(plane, "worker", "journal", *where, "-o", "json")
    told["access"] = exclave(plane, "access", "list")
    for run in [*runs, f"install/{INSTALL}", f"access/{plane.namespace}"]:
        told[f"history of {run}"] = plain_text(plane.history(run))
        told[f"description of {run}"] = plain_text(
            plane.temporal("workflow", "describe", "--workflow-id", run)
        )


def plain_text(value: object) -> str:
    return json.dumps(_decoded(value), ensure_ascii=False)


def _decoded(value: object) -> object:
    if isinstance(value, dict):
        return {
            key: base64.b64decode(item).decode("latin-1")
            if key == "data" and isinstance(item, str)
            else _decoded(item)
            for key, item in value.items()
        }
    return [_decoded(item) for item in value] if isinstance(value, list) else value


def the_search_finds_what_is_there(
    canary: Canaries, everywhere: Mapping[str, bytes], folder: Path
) -> None:
    """The same search, for what nobody hid."""
    open_ones = {name: forms for name, forms in canary.needles().items() if name in OPEN}
    found: Found = search(everywhere, open_ones)
    read = " ".join(found["an input that is not sensitive"])
    for place in ("plan deploy/", "history of deploy/", f"history of install/{INSTALL}", "status"):
        assert place in read, place
    assert "temporal.db" not in read, "payloads are encrypted"
    packed = [place for place in found["the vendor's module"] if "> " in place]
    assert any("dev/registry" in place for place in packed), found["the vendor's module"]
    # A name is no secret: it is in the database, in the logs and in what the gateway tells.
    names = search(everywhere, {"name": frozenset([INSTALL.encode()])})["name"]
    for place in ("temporal.db", "temporal.db, its rows", "dev.log", "the worker's log"):
        assert any(one.endswith(place) for one in names), place
    copies = hidden_copies(canary.core("copied"), folder / "copies")
    copied = search(copies, {"copied": canary.needles()["copied"]})["copied"]
    assert {one.partition(" > ")[0] for one in copied} >= {
        one for one in copies if not one.endswith(".db")
    }
