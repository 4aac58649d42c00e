"""Actions: steps in order, outputs, failures, and steps that are lost."""

import os
import signal

from tests.e2e.apps_for_tests import Component
from tests.e2e.install_site import Site
from tests.e2e.plane import until

ROOT = Component("root", seconds=0)
STEPS = """
[[steps]]
name = "first"
inline_contents = \"\"\"
#!/bin/sh
echo "id=$ID" >> "$NUON_ACTIONS_OUTPUT_FILEPATH"
env | cut -d= -f1 | sort | tr '\\\\n' ' ' | sed 's/^/names=/' >> "$NUON_ACTIONS_OUTPUT_FILEPATH"
\"\"\"
[steps.env_vars]
ID = "{{ .nuon.components.root.outputs.id }}"
[[steps]]
name = "second"
command = "echo '{\\"a\\": {\\"b\\": 1}}' >> $NUON_ACTIONS_OUTPUT_FILEPATH"
"""
FAILS = """
[[steps]]
name = "bad"
command = "echo about to fail; exit 7"
[[steps]]
name = "never"
command = "touch $LINES"
[steps.env_vars]
LINES = "{{ .nuon.inputs.inputs.lines }}"
"""
LONG = """
timeout = "2m"
[[steps]]
name = "long"
command = "echo began >> $LINES; sleep 40; echo ended >> $LINES"
[steps.env_vars]
LINES = "{{ .nuon.inputs.inputs.lines }}"
"""
SHORT = """
timeout = "1s"
[[steps]]
name = "slow"
command = "echo sleeping; sleep 30"
"""
ACTIONS = {"steps": STEPS, "fails": FAILS, "long": LONG, "short": SHORT}


def deployed(site: Site) -> None:
    release = site.build([ROOT], actions=ACTIONS)
    site.begin(release)
    run = site.deploy(release)
    site.approve_all(run, 1)
    site.completed(run)


def test_two_steps_read_outputs_and_leave_theirs(site: Site) -> None:
    deployed(site)
    first, second = site.completed(site.act("steps"))["steps"]
    values = first["outputs"]["values"]
    assert len(values["id"]) == 36
    # Nothing of the worker's own environment but what every tool needs. The gateway's authority
    # is a private one here, and each tool looks for it under a name of its own.
    assert set(values["names"].split()) <= {
        *("HOME", "ID", "LANG", "PATH", "PWD", "SHLVL", "_", "OLDPWD", "TZ", "TRIGGER_TYPE"),
        *("NUON_ACTIONS_OUTPUT_FILEPATH", "NUON_ACTIONS_ROOT", "NUON_APP_ID"),
        *("NUON_INSTALL_ID", "NUON_ORG_ID", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"),
        *("SSL_CERT_FILE", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS"),
    }
    assert second["outputs"]["values"] == {"a": {"b": 1}}


def test_a_failing_step_ends_the_run(site: Site) -> None:
    deployed(site)
    before = site.lines()
    answer = site.result(site.act("fails"))
    assert answer["status"] == "FAILED"
    assert "exit status 7" in str(answer) and "about to fail" in str(answer)
    assert site.lines() == before


def test_a_step_that_takes_too_long(site: Site) -> None:
    deployed(site)
    answer = site.result(site.act("short"))
    assert answer["status"] == "FAILED"
    assert "took longer than 1 s" in str(answer) and "sleeping" in str(answer)
    assert site.worker.processes("sleep 30") == []


def test_an_unknown_action_is_named(site: Site) -> None:
    deployed(site)
    answer = site.result(site.act("stesp"))
    assert "NotThere" in str(answer) and "steps" in str(answer)


def test_a_killed_worker_does_not_repeat_a_step(site: Site) -> None:
    deployed(site)
    run = site.act("long")
    site.wait_for_line("began")
    site.worker.kill()
    site.worker.start()
    site.completed(run)
    assert site.lines() == ["root.r1", "began", "ended"]


def test_a_step_lost_with_its_supervisor_is_not_repeated(site: Site) -> None:
    deployed(site)
    run = site.act("long")
    site.wait_for_line("began")
    supervisor = site.worker.supervisor()
    site.worker.kill()
    os.kill(supervisor, signal.SIGKILL)
    # The script first: its shell would go on when its sleep dies.
    for needle in ("script", "sleep 40"):
        for pid in until(lambda: site.worker.processes(needle), needle):  # noqa: B023
            os.kill(pid, signal.SIGKILL)
    site.worker.start()
    answer = site.result(run)
    assert answer["status"] == "FAILED"
    assert "OutcomeUnknown" in str(answer) and "not repeated" in str(answer)
    assert "ended" not in site.lines()
