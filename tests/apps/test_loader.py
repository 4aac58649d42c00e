"""What the loader takes, and what it tells of everything else."""

from pathlib import Path

import pytest

from apps.config.components import TerraformComponent
from apps.input_values import effective_inputs
from apps.loader import ConfigErrors, check, load
from tests.apps.app_folder import ACTION, DB, INPUTS, METADATA, MODULE, App, told
from tests.shipped import DEPLOYABLE

LOCK = """provider "registry.terraform.io/hashicorp/aws" {
  version = "6.0.0"
  hashes = [
    "h1:one=",
    "zh:two",
  ]
}
"""


def test_a_whole_config_is_loaded(app: App) -> None:
    loaded = app.load()
    assert loaded.warnings == []
    [db] = loaded.config.components
    assert isinstance(db, TerraformComponent)
    assert db.name == "db"
    assert db.public_repo is not None
    assert db.public_repo.directory == "modules/db"
    assert loaded.config.action("check") is not None
    assert loaded.config.component("nope") is None


def test_entities_are_in_the_order_of_their_names(app: App) -> None:
    app.write("components/a.toml", DB.replace('"db"', '"zeta"', 1))
    app.write("components/deep/er/z.toml", DB.replace('"db"', '"alpha"', 1))
    assert [c.name for c in app.load().config.components] == ["alpha", "db", "zeta"]


def test_metadata_is_all_that_is_needed(tmp_path: Path) -> None:
    (tmp_path / "metadata.toml").write_text(METADATA)
    assert load(tmp_path, DEPLOYABLE).config.components == []


def test_metadata_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match=r"metadata.toml: error: is missing or empty"):
        load(tmp_path, DEPLOYABLE)


def test_the_folder_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match="is not a folder"):
        load(tmp_path / "nope", DEPLOYABLE)


def test_empty_files_are_ignored(app: App) -> None:
    for file in ("secrets.toml", "components/empty.toml", "runbooks.toml", "policies.toml"):
        app.write(file, "# later\n\n")
    assert app.load().warnings == []


def test_content_beside_a_file_of_its_kind_is_not_a_second_form(app: App) -> None:
    app.write("policies/x.rego", "package nuon")
    app.load()
    app.write("policies.toml", "[[policy]]\ntype = 'sandbox'\ncontents = './x.rego'\n")
    [policy] = app.load().config.policies
    assert (policy.name, policy.contents) == ("x", "package nuon")
    app.write("policies/x.toml", "name = 'x'")
    assert "there is also the folder `policies/`" in "".join(app.errors())


def test_inputs_as_folders_with_groups(app: App) -> None:
    (app.root / "inputs.toml").unlink()
    app.write("input_groups/dns.toml", 'name = "dns"\ndescription = "DNS"\n')
    table = INPUTS.replace("[[input]]\n", "") + 'group = "dns"\n'
    app.write("inputs/dns/zone.toml", table)
    config = app.load().config
    assert (config.inputs[0].name, config.groups[0].name) == ("zone", "dns")


def test_referenced_files_are_read_from_the_kinds_folder_or_the_root(app: App) -> None:
    app.write("components/db.toml", DB + '[[var_file]]\ncontents = "./db.tfvars"\n')
    app.write("db.tfvars", "size = 3\n")
    step = '[[steps]]\nname = "two"\ninline_contents = "./scripts/x.sh"\n'
    app.write("actions/check.toml", ACTION + step)
    app.write("actions/scripts/x.sh", "echo {{ .nuon.id }}\n")
    app.write("scripts/x.sh", "wrong")
    config = app.load().config
    [db] = config.components
    assert isinstance(db, TerraformComponent)
    assert db.var_file[0].contents == "size = 3\n"
    assert config.actions[0].steps[1].inline_contents == "echo {{ .nuon.id }}\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("dependecies = []", "dependecies: unknown key, it has no effect; did you mean `dependen"),
        ("label = 'x'", "label: unknown key, it has no effect; did you mean `labels`?"),
        ("var_file = [{ contents = '', content = '' }]", "var_file[0].content: unknown key"),
    ],
)
def test_unknown_keys_are_warnings_with_the_nearest_name(app: App, line: str, message: str) -> None:
    app.write("components/db.toml", DB + line + "\n")
    [warning] = app.load().warnings
    assert warning.severity == "warning"
    assert told(warning).startswith("components/db.toml: ") and message in told(warning)


def test_unknown_files_are_warnings(app: App) -> None:
    app.write("metadta.toml", "x = 1")
    app.write("component/x.toml", "x = 1")
    text = " ".join(str(warning) for warning in app.load().warnings)
    assert "did you mean `metadata`?" in text and "did you mean `components/`?" in text


@pytest.mark.parametrize(
    ("trigger", "message"),
    [
        ("pre-deploy-componnt", "did you mean `pre-deploy-component`?"),
        ("manul", "did you mean `manual`?"),
    ],
)
def test_triggers_that_there_are_not(app: App, trigger: str, message: str) -> None:
    app.write("actions/check.toml", ACTION.replace("manual", trigger))
    error = app.only_error()
    assert error.startswith("actions/check.toml: triggers[0].type: ") and message in error


def changed(old: str, new: str) -> tuple[str, str, str]:
    return "components/db.toml", old, new


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed('name = "db"', 'name = "_db"'), "name: '_db' must be letters, digits"),
        (changed('name = "db"', 'name = "d b"'), "name: 'd b' must be letters, digits"),
        (changed('name = "db"\n', ""), "name: is required"),
        (changed('terraform_version = "1.11.4"\n', ""), "terraform_version: is required"),
        (changed('"1.11.4"', '"latest"'), "terraform_version: 'latest' must be a v"),
        (changed('"1.11.4"', "1.11"), "terraform_version: must be a string, not a float"),
        (changed('type = "terraform_module"\n', ""), "type: is required"),
        (changed("terraform_module", "terraform_modul"), "did you mean `terraform_module`?"),
        (changed('repo = "."', 'repo = "vendor/app"'), "public_repo.branch: is required: which br"),
        (changed('public_repo = {', 'x = {'), "needs exactly one of `public_repo` and `connected_"),
        (changed("modules/db", "modules/dv"), "is not a folder in the config; did you mean `modul"),
        (changed("modules/db", "../db"), "must be a folder inside the config's folder"),
        (changed("modules/db", "modules/../modules/db"), "must be a folder inside"),
        (changed("modules/db", "/etc"), "must be a folder inside the config's folder"),
        (changed("modules/db", "."), "has no *.tf or *.tf.json file"),
        (changed('zone = "z"', "zone = 2020-01-01"), "vars.zone: must be a string, number, bool"),
        (changed('zone = "z"', "zone = nan"), "vars.zone"),
        (changed('zone = "z"', 'zone = "z", sice = 1'), "no variable `sice`; did you mean `size`?"),
        (changed('vars = { zone = "z" }\n', ""), "vars.zone: is required: the module in `modules/"),
        (changed('"z"', '"{{ nothing .nuon.id }}"'), "vars.zone: line 1, column 4 of the template"),
        (changed('"z"', '"{{ .nuon.components.dbb.outputs.url }}"'), "did you mean `db`?"),
        (changed('"z"', '"{{ .nuon.inputs.inputs.zon }}"'), "did you mean `zone`?"),
        (changed('"z"', '"{{ .nuon.install.inputs.zon }}"'), "there is no input `zon`"),
        (changed('"z"', '"{{ .nuon.actions.workflows.chek.status }}"'), "did you mean `check`?"),
        (changed('"z"', '"{{ .nuon.actions.workflows.check.x }}"'), "there is no `.nuon.actions.w"),
        (changed('"z"', '"{{ .nuon.instal.id }}"'), "did you mean `install`?"),
        (changed('"z"', '"{{ .nuon.org.nam }}"'), "did you mean `name`?"),
        (changed('"z"', '"{{ .nuon }}"'), "`.nuon` as a whole cannot be read"),
        (changed('"z"', '"{{ .nuon.components }}"'), "name a component"),
        (changed('"z"', '"{{ .x }} .nuon"'), "there is no `.x`; paths begin with `.nuon`"),
        (changed('"z"', '"{{ .nuon.install.domian }}"'), "there is no `.nuon.install.domian`"),
        (changed("vars =", 'dependencies = ["dv"]\nvars ='), "there is no component `dv`"),
        (changed("vars =", "max_auto_retries = -1\nvars ="), "max_auto_retries: "),
        (changed("vars =", "env_vars = { A = 1 }\nvars ="), "env_vars.A: must be a string, not an"),
        (changed("vars =", 'var_file = [{ contents = "./no" }]\nvars ='), "./no: is neither in `c"),
        (changed("vars =", 'var_file = [{ contents = "./metadta.toml" }]\nvars ='),
         "did you mean `./metadata.toml`?"),
        (changed("vars =", 'var_file = [{ contents = "./../../no" }]\nvars ='), "leads out of"),
        (changed("vars =", 'var_file = [{ contents = "file:///x" }]\nvars ='), "file on one machi"),
        (changed("vars =", "build_timeout = '2h'\nvars ="), "build_timeout: 2h is out of range"),
        (changed("vars =", "drift_schedule = '* * *'\nvars ="), "drift_schedule: '* * *' is not a"),
        (changed("vars =", "health.probes = [{ type = 'tcp' }]\nvars ="), "health.probes[0].url: "),
        (("actions/check.toml", 'command = "true"', ""), "steps[0]: needs `command` or `inline_co"),
        (("actions/check.toml", "[[steps]]", 'timeout = "721m"\n[[steps]]'), "timeout: 721m is ou"),
        (("actions/check.toml", "[[steps]]", 'timeout = "0s"\n[[steps]]'), "timeout: 0s is out"),
        (("actions/check.toml", "[[steps]]", 'timeout = "5"\n[[steps]]'), "is not a duration"),
        (("actions/check.toml", "[[steps]]", 'dependencies = ["x"]\n[[steps]]'), "no component `x"),
        (("actions/check.toml", "[[steps]]", "image = 'x'\n[[steps]]"), "steps[0].inline_contents"),
        (("metadata.toml", "v2", "v3"), "version: 'v3' is not known; there is `v1`, `v2`"),
        (("metadata.toml", "version", "readme = './x'\nversion"), "readme: ./x: is not in the con"),
        (("inputs.toml", "description", "type = 'nr'\ndescription"), "type: 'nr' is not known"),
        (("inputs.toml", "description", "group = 'x'\ndescription"), "there is no group `x`"),
        (("inputs.toml", 'description = "Where"', ""), "input[0].description: is required"),
        (("inputs.toml", INPUTS, INPUTS + INPUTS), "input[1].name: there is already an input `zon"),
        (("inputs.toml", INPUTS, "[input]\nname = 'x'\n"), "must be a list of tables: [[input]]"),
    ],
)  # fmt: skip
def test_each_mistake_is_told(app: App, change: tuple[str, str, str], message: str) -> None:
    file, old, new = change
    text = (app.root / file).read_text()
    assert old in text
    app.write(file, text.replace(old, new, 1))
    error = app.only_error()
    assert error.startswith(f"{file}: ") and message in error, error


@pytest.mark.parametrize(
    ("kind", "default", "fits"),
    [
        ("number", "1.5e3", True), ("number", 4, True), ("number", "four", False),
        ("bool", True, True), ("bool", "yes", False),
        ("json", '{"a": [1]}', True), ("json", "{a}", False),
        ("list", ["a"], True), ("list", '["a"]', True), ("list", '{"a": 1}', False),
        ("string", 5, True), ("hcl", "{ a = 1 }", True),
    ],
)  # fmt: skip
def test_defaults_fit_their_type(app: App, kind: str, default: object, fits: bool) -> None:
    shown = str(default).lower() if isinstance(default, bool) else repr(default)
    app.write("inputs.toml", INPUTS + f'type = "{kind}"\ndefault = {shown}\n')
    if fits:
        app.load()
    else:
        assert "input[0].default: must be" in app.only_error()


def test_groups_must_be_used_once_declared(app: App) -> None:
    app.write("inputs.toml", INPUTS + '[[group]]\nname = "g"\ndescription = "G"\n')
    assert "input[0].group: is required" in app.only_error()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('command = "true"', 'command = "true"\ninline_contents = "x"', "has no effect beside"),
        ("[[steps]]", '[[steps]]\nname="one"\ncommand="x"\n[[steps]]', "already a step `one`"),
        ('"manual"', '"pre-component-deploy", component_name = "db"', "is an older name; write `"),
        ('"manual"', '"manual", cron_schedule = "@daily"', "has no effect for `manual`"),
        ('"manual"', '"cron", cron_schedule = "@daily", component_name = "db"', "has no effect fo"),
    ],
)  # fmt: skip
def test_what_works_where_the_format_comes_from_is_a_warning(
    app: App, old: str, new: str, message: str
) -> None:
    app.write("actions/check.toml", ACTION.replace(old, new, 1))
    [warning] = app.load().warnings
    assert message in warning.message


def test_older_names_of_triggers_are_read(app: App) -> None:
    older = 'triggers = [{ type = "post-component-deploy", component_name = "db" }]'
    app.write("actions/check.toml", ACTION.replace('triggers = [{ type = "manual" }]', older))
    [action] = app.load().config.actions
    assert [one.type for one in action.triggers] == ["post-deploy-component"]


def test_a_sandbox_and_a_runner_are_asked_for_and_hinder_nothing(app: App) -> None:
    def asked_for() -> list[str]:
        checked = check(app.root, DEPLOYABLE)
        assert checked.app is not None and not checked.app.warnings
        return [one.file for one in checked.problems if one.severity == "warning"]

    assert asked_for() == ["sandbox.toml"]
    app.write("modules/db/main.tf", MODULE + 'data "aws_region" "here" {}\n')
    app.write("modules/db/.terraform.lock.hcl", LOCK)
    assert asked_for() == ["runner.toml", "sandbox.toml"]
    app.write("runner.toml", 'runner_type = "aws"\n')
    assert asked_for() == ["sandbox.toml"]
    source = 'public_repo = { repo = ".", directory = "modules/ground" }\n'
    app.write("sandbox.toml", f'terraform_version = "1.11.4"\n{source}')
    app.write("modules/ground/main.tf", "")
    assert asked_for() == []


def test_all_problems_are_told_at_once(app: App) -> None:
    app.write(
        "components/db.toml", DB.replace('"z"', '"{{ .nuon.x }}"') + "health = 1\nlabl = {}\n"
    )
    app.write("actions/check.toml", ACTION.replace("manual", "nothing"))
    found = [f"{problem.file}:{problem.line} {problem.severity}" for problem in app.problems()]
    assert found == [
        "actions/check.toml:2 error", "components/db.toml:5 error", "components/db.toml:6 error",
        "components/db.toml:7 warning",
    ]  # fmt: skip


def test_a_syntax_error_has_its_line_and_no_followers(app: App) -> None:
    app.write("components/db.toml", "type = 1\nname = \n")
    app.write("actions/check.toml", 'dependencies = ["db"]\n' + ACTION)
    [problem] = app.problems()
    assert str(problem).startswith("components/db.toml:2: error: is not valid TOML: ")


def test_circles_are_shown_as_a_path(app: App) -> None:
    for name, other in (("a", "b"), ("b", "c"), ("c", "a")):
        reference = f'"{{{{ .nuon.components.{other}.outputs.url }}}}"'
        app.write(
            f"components/{name}.toml", DB.replace('"db"', f'"{name}"', 1).replace('"z"', reference)
        )
    assert "a → b → c → a" in app.only_error()


def test_names_are_unique(app: App) -> None:
    app.write("components/zz.toml", DB)
    assert app.only_error() == (
        "components/zz.toml: name: there is already a component `db` in components/db.toml"
    )
    app.write("components/zz.toml", DB.replace('"db"', '"other"\nvar_name = "db"', 1))
    assert "components/zz.toml: var_name: there is already a component `db`" in app.only_error()


def test_a_var_name_is_a_name(app: App) -> None:
    app.write("components/zz.toml", DB.replace('"db"', '"my-cache"\nvar_name = "cache"', 1))
    reference = '"{{ .nuon.components.cache.outputs.url }}"'
    app.write("components/db.toml", DB.replace('"z"', reference))
    app.load()


def test_outputs_that_the_module_lacks(app: App) -> None:
    step = '[steps.env_vars]\nURL = "{{ .nuon.components.db.outputs.uri }}"\n'
    app.write("actions/check.toml", ACTION + step)
    error = app.only_error()
    assert "steps[0].env_vars.URL: the module of component `db` has no output `uri`" in error
    assert "did you mean `url`?" in error


@pytest.mark.parametrize(
    "extra", ['env_vars = { TF_VAR_zone = "z" }\n', "[[var_file]]\ncontents = ''\n"]
)
def test_other_ways_to_give_a_variable(app: App, extra: str) -> None:
    app.write("components/db.toml", DB.replace('vars = { zone = "z" }\n', extra))
    app.load()


def test_modules_that_cannot_be_deployed(app: App) -> None:
    app.write("modules/db/main.tf", MODULE + "terraform {\n  cloud {}\n}\n")
    assert "modules/db/main.tf: terraform.cloud: a `cloud` block is not supp" in app.only_error()
    app.write("modules/db/main.tf", MODULE + 'module "m" {\n  source = "../m"\n}\n')
    assert "modules/db/main.tf: the module's source `../m` is not there" in app.only_error()
    app.write("modules/db/main.tf", MODULE + 'module "m" {\n  source = "../../../m"\n}\n')
    assert "`../../../m` leads out of the config's folder" in app.only_error()
    (app.root / "modules/db/main.tf").rename(app.root / "modules/db/readme")
    assert "has no *.tf or *.tf.json file" in app.only_error()


def test_what_only_terraform_can_judge_is_a_warning(app: App) -> None:
    app.write("modules/db/main.tf", MODULE + "locals {\n  a = !!true\n}\n")
    (warning,) = app.load().warnings
    assert str(warning).startswith("modules/db/main.tf:9: warning: cannot be read here")
    app.write("components/db.toml", DB.replace("zone", "zon"))
    assert "declares no variable `zon`" in "".join(app.errors())
    app.write("modules/db/main.tf", MODULE + "output = = 1 }\n")
    app.load()  # any variable may be declared where it cannot be read


def test_a_kind_as_file_and_folder(app: App) -> None:
    app.write("inputs/zone.toml", 'name = "x"')
    assert "inputs.toml: there is also the folder `inputs/`" in app.only_error()
    (app.root / "inputs/zone.toml").unlink()
    app.write("components.toml", 'name = "x"')
    assert "components belong in a folder `components/`" in "".join(app.errors())


def test_the_old_form_is_refused(app: App) -> None:
    app.write("nuon.shop.toml", "x = 1")
    assert "nuon.shop.toml: is the old single-file form" in app.only_error()


def test_variables_of_the_environment_that_are_the_workers_are_refused(app: App) -> None:
    env = '[env_vars]\nTF_WORKSPACE = "x"\nTF_VAR_size = "2"\nAWS_REGION = "r"\n'
    app.write("components/db.toml", DB + env)
    app.write(
        "actions/check.toml", ACTION + '[steps.env_vars]\nNUON_ACTIONS_ROOT = "/x"\nURL = "u"\n'
    )
    assert app.errors() == [
        "actions/check.toml: steps[0].env_vars.NUON_ACTIONS_ROOT: is set by the worker alone; "
        "remove it, or use another name",
        "components/db.toml: env_vars.TF_WORKSPACE: is set by the worker alone (of TF_*, only "
        "TF_VAR_<variable>); remove it, or use another name",
    ]


def test_retries_that_nobody_makes_yet_are_noted(app: App) -> None:
    app.write("components/db.toml", DB + "max_auto_retries = 2\n")
    [note] = app.load().notes
    assert "max_auto_retries: accepted, but retrying by itself is not supported yet" in told(note)


@pytest.mark.parametrize(
    "default", ['"false"', "false", '"true"', "true", '""']
)  # fmt: skip
def test_a_bool_input_may_have_its_default_in_quotes(app: App, default: str) -> None:
    app.write("inputs.toml", f'{INPUTS}type = "bool"\ndefault = {default}\n')
    config = app.load().config
    assert effective_inputs(config, {})["zone"] == default.strip('"')


@pytest.mark.parametrize(
    "path", ["components.db.install_component_id", "actions.workflows.other.populated"]
)
def test_fields_that_templates_can_read(app: App, path: str) -> None:
    app.write("actions/other.toml", ACTION.replace('"check"', '"other"'))
    app.write("actions/check.toml", f'{ACTION}env_vars = {{ A = "{{{{ .nuon.{path} }}}}" }}\n')
    app.load()


@pytest.mark.parametrize(
    ("file", "content", "errors"),
    [
        (
            "actions/check.toml",
            'name = "check"\ntimeout = "1 minute"\ntriggers = [{ type = "cron", cron_schedule = "x"'
            ' }]\n[[steps]]\nname = "one"\ncommand = "{{ .nuon.nope }}"\n[[steps]]\nname = "two"\n',
            ["timeout", "triggers[0].cron_schedule", "steps[1]", "steps[0].command"],
        ),
        (
            "components/db.toml",
            DB.replace('"1.11.4"', "1.11").replace("zone =", "zon ="),
            ["terraform_version", "vars.zon", "vars.zone"],
        ),
        (
            "actions/check.toml",
            ACTION.replace('"manual"', '"cron", index = "first", cron_schedule = "x"'),
            ["triggers[0].index", "triggers[0].cron_schedule"],
        ),
        ("actions/check.toml", 'name = "check"\ntriggers = [{ type = "cron" }]\n',
         ["steps", "triggers[0].cron_schedule"]),
        ("actions/check.toml", ACTION.replace('type = "manual"', 'type = "x", cron_schedule = "y"'),
         ["triggers[0].type"]),
        ("actions/check.toml", ACTION.replace('"true"', "true"), ["steps[0].command"]),
        ("components/db.toml", DB.replace('repo = "."', "repo = 1"), ["public_repo.repo"]),
        ("components/db.toml", DB + "env_vars = { TF_VAR_zone = 1 }\n", ["env_vars.TF_VAR_zone"]),
        ("components/db.toml", DB.replace('name = "db"', "dependencies = [1, 'nope']"),
         ["dependencies[0]", "name", "dependencies[1]"]),
        ("inputs.toml", INPUTS + INPUTS.replace('"zone"', "1").replace("[[input]]", '[[input]]\n'
         'type = "number"\ndefault = "x"\n'), ["input[1].name", "input[1].default"]),
    ],
)  # fmt: skip
def test_a_wrong_value_hides_nothing_beside_it(
    app: App, file: str, content: str, errors: list[str]
) -> None:
    app.write(file, content)
    assert sorted(one.key for one in app.problems()) == sorted(errors)
    assert {one.file for one in app.problems()} == {file}


@pytest.mark.parametrize(
    ("lock", "message"),
    [
        (None, "is missing: each worker takes the newest providers"),
        (LOCK, None),
        (LOCK.replace("zh:", "h1:"), None),
        (LOCK.replace('    "zh:two",\n', ""), "one platform alone for `registry.terraform.io/hash"),
        ("provider {", "cannot be read; run `terraform providers lock -platform=linux_amd64"),
    ],
)  # fmt: skip
def test_the_lock_file_of_a_module_that_uses_a_provider(
    app: App, lock: str | None, message: str | None
) -> None:
    app.write("runner.toml", 'runner_type = "aws"\n')
    app.write("modules/db/main.tf", MODULE + 'resource "aws_vpc" "it" {}\n')
    if lock is not None:
        app.write("modules/db/.terraform.lock.hcl", lock)
    found = [told(one) for one in app.load().warnings]
    assert len(found) == (message is not None)
    if message:
        assert found[0].startswith("modules/db/.terraform.lock.hcl: ") and message in found[0]
    app.write("modules/db/main.tf", MODULE + 'resource "terraform_data" "it" {}\n')
    (app.root / "modules/db/.terraform.lock.hcl").unlink(missing_ok=True)
    assert app.load().warnings == []


def test_a_default_of_a_sensitive_input_is_a_warning(app: App) -> None:
    app.write("inputs.toml", INPUTS + 'sensitive = true\ndefault = "hunter2"\n')
    [warning] = app.load().warnings
    assert told(warning).startswith("inputs.toml: input[0].default: is a default of a sensitive")
    assert "hunter2" not in warning.message
    app.write("inputs.toml", INPUTS + "sensitive = true\n")
    assert app.load().warnings == []


def test_an_action_may_take_half_a_day(app: App) -> None:
    for timeout in ("60m", "12h"):
        app.write("actions/check.toml", f'timeout = "{timeout}"\n{ACTION}')
        assert app.load().config.actions[0].timeout == timeout
    app.write("actions/check.toml", f'timeout = "12h1s"\n{ACTION}')
    assert "timeout: 12h1s is out of range: more than 0s, at most 12h" in app.only_error()
