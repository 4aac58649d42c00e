"""Scripts that `/bin/sh` runs, and what only bash understands in them."""

import shutil
import subprocess

import pytest

from apps.checks.scripts import only_bash_problem
from apps.config.actions import Action
from tests.apps.app_folder import ACTION, App, told

ONLY_BASH = [
    "set -o pipefail",
    "set -euo pipefail",
    "true && [[ -n $x ]]",
    'if [[ "$a" == b* ]]; then :; fi',
    '[ "$a" == "b" ]',
    "test x == y",
    "x=(a b)",
    "cat <<< hi",
    "diff <(echo a) <(echo b)",
    "echo x &> /dev/null",
    "echo $'a'",
    "for i in {1..3}; do :; done",
    "(( x = 1 ))",
    'x=a; echo "${x^^}"',
    'x=a; echo "${x/a/b}"',
    "function f { :; }",
    "declare -A x",
]

FOR_ANY_SHELL = [
    '[ "$a" = "b" ] && echo "a == b"',
    "set -eu\n# set -o pipefail",
    "bash -c 'set -o pipefail; [[ a == b ]]'",
    'bash -c "set -o pipefail"',
    "awk '{ if ($1 == 2) print }' x\njq '.[] | select(.a == 1)' y",
    "cat > f <<EOF\n[[ x ]]\nset -o pipefail\nEOF\necho done",
    "cat <<'EOF'\ndon't\nEOF\n",
    "x=$((1 + 2)); y=$(( x ))",
    'echo "${x:-y}" "${x#a}" "${x%%b}" "${#x}" 2>&1 >&2',
    "case $x in [[:space:]]) :;; esac",
    "grep '[[:digit:]]' f | sed s/[[:space:]]//",
    '{{ if eq .nuon.id "a" }}x{{ end }}',
    "#!/bin/bash\nset -o pipefail",
    "a=1 && b=2 & wait",
]


@pytest.mark.parametrize("script", ONLY_BASH)
def test_what_only_bash_understands(script: str) -> None:
    found = only_bash_problem(f"#\n{script}\n")
    assert found is not None and found[1] == 2, found


@pytest.mark.parametrize("script", FOR_ANY_SHELL)
def test_what_any_shell_understands(script: str) -> None:
    assert only_bash_problem(script) is None


@pytest.mark.parametrize("script", ["[[ a == a ]]", "[ a == a ]", "x=(a b)", "cat <<< hi"])
def test_dash_does_not(script: str) -> None:
    assert shutil.which("dash"), "install dash (Debian: apt-get install dash)"
    assert subprocess.run(["dash", "-c", script], capture_output=True, check=False).returncode


@pytest.mark.parametrize("text", ["'" * 200_000, '"\\\\' * 60_000, "<<A\n" * 60_000, "{{" * 100_000,
                                  "[ " * 100_000, "set " * 60_000])  # fmt: skip
def test_a_hostile_script_takes_no_time(text: str) -> None:
    only_bash_problem(text)


def test_a_step_is_warned_of_at_its_line(app: App) -> None:
    app.write("actions/check.toml", ACTION.replace('"true"', "'''\nset -e\n[[ -n $x ]]\n'''"))
    [warning] = app.load().warnings
    assert (warning.line, warning.key) == (7, "steps[0].command")
    assert "uses `[[ … ]]`, which only bash knows, and is run by `/bin/sh`" in told(warning)
    app.write(
        "actions/check.toml", ACTION.replace('command = "true"', 'inline_contents = "./x.sh"')
    )
    app.write("x.sh", "set -o pipefail\n")
    [warning] = app.load().warnings
    assert (warning.file, warning.line) == ("x.sh", 1)


def test_a_file_that_a_command_begins_with(app: App) -> None:
    source = 'public_repo = { repo = ".", directory = "scripts" }\n'
    app.write("actions/check.toml", ACTION.replace('"true"', '"./x.sh a"') + source)
    app.write("scripts/x.sh", "echo\r\nset -o pipefail\r\n")
    only_bash, crlf = (told(one) for one in app.load().warnings)
    assert "steps[0].command: `x.sh`, line 2: uses `pipefail`" in only_bash
    assert "`x.sh` has lines that end in CRLF" in crlf
    app.write("scripts/x.sh", "#!/bin/bash\nset -o pipefail\n")
    assert app.load().warnings == []


def test_lines_of_scripts_end_in_lf(app: App) -> None:
    app.write(
        "actions/check.toml", ACTION.replace('command = "true"', 'inline_contents = "./x.sh"')
    )
    app.write("x.sh", b'echo a=1 >> "$NUON_ACTIONS_OUTPUT_FILEPATH"\r\necho b\r\n')
    action = app.load().config.action("check")
    assert isinstance(action, Action)
    assert action.steps[0].inline_contents == (
        'echo a=1 >> "$NUON_ACTIONS_OUTPUT_FILEPATH"\necho b\n'
    )
