"""What must hold within a table and between tables, one mistake at a time."""

import pytest

from tests.apps.app_folder import App
from tests.apps.reading.test_every_kind import FILES, REPO


@pytest.fixture
def whole(app: App) -> App:
    for file, text in FILES.items():
        app.write(file, text)
    return app


MISTAKES = [
    # file, what is replaced, by what, what is told
    ("secrets.toml", 'description = "d"\nrequired = true', 'description = "d"\nrequired = true\n'
     'default = "x"', "secret[1].default: excludes `required`; keep only one of the two"),
    ("secrets.toml", "auto_generate = true", "auto_generate = true\nrequired = true",
     "secret[0].required: excludes `auto_generate`"),
    ("secrets.toml", "auto_generate = true", "auto_generate = true\ndefault = 'x'",
     "secret[0].default: excludes `auto_generate`"),
    ("secrets.toml", 'kubernetes_secret_name = "password"\n', "",
     "secret[0].kubernetes_secret_name: is required for `kubernetes_sync`"),
    ("secrets.toml", 'format = "base64"', 'format = "hex"', "secret[0].format: 'hex' is not known"),
    ("secrets.toml", 'name = "key"', 'name = "password"', "there is already a secret `password`"),
    ("runner.toml", "aws-eks", "vmware", "runner_type: 'vmware' must be `aws`, `azure` or `gcp`"),
    ("stack.toml", "index = 1\n", 'index = 1\n[[custom_nested_stacks]]\nname = "b"\n'
     'template_url = "x"\nindex = 1\n[custom_nested_stacks.y]\n',
     "custom_nested_stacks[1].index: there is already a nested stack with the index `1`"),
    ("stack.toml", "inputs.zone", "sandbox.outputs.x",
     "`.nuon.install.sandbox.outputs.x` cannot be read by the stack, which comes before all else"),
    ("permissions.toml", "[maintenance_role]", "[maintenence_role]",
     "maintenance_role.name: is required"),
    ("permissions.toml", '= [{ name = "shared" }]', '= [{ name = "x" }]',
     "custom_roles[0].named_policies[0].name: there is no named policy `x`"),
    ("permissions.toml", '\'{"Version": "2012-10-17"}\'', '\'{"Version": \'',
     "named_policies[0].contents: must be JSON: Expecting value"),
    ("permissions.toml", 'name = "p"\n', "contents = '{}'\n",
     "custom_roles[0].policies[0].name: is required for a policy with `contents`"),
    ("permissions/boundary.json", "{}", "{\n  x\n}",
     "permissions/boundary.json: must be JSON: Expecting property name enclosed in double quotes "
     "(read by "),
    ("break_glass.toml", 'policies = [{ managed_policy_name = "Admin" }]', "",
     "role[0].policies: is required, or `named_policies`: what the role may do"),
    ("operation_roles.toml", "matrix", "list", "type: 'list' is not known; there is `matrix`"),
    ("operation_roles.toml", "component:*", "part:*", "rules[0].principal: 'nuon::part:*' must be"),
    ("operation_roles.toml", "component:*", "component:nothing",
     "rules[0].principal: there is no component `nothing`"),
    ("runbooks/update.toml", 'action_name = "check"', 'action_name = "check"\nplan_only = true',
     "steps[2].plan_only: has no meaning for `action`, which plans nothing"),
    ("policies.toml", 'engine = "opa"', 'engine = "kyverno"',
     "policy[1].engine: must be `opa` for a policy of the type `terraform_module`"),
    ("policies.toml", '["db"]', '["db", "*"]', "policy[1].components: has `*` and names"),
    ("policies.toml", '["db"]', '["dc"]', "policy[1].components[0]: there is no component `dc`"),
    ("policies.toml", 'name = "mine"', 'name = "rules"', "there is already a policy `rules`"),
    ("components/chart.toml", 'helm_repo = {', 'helm_repi = {',
     "chart.toml: needs exactly one of `public_repo`, `connected_repo` and `helm_repo`; none is s"),
    ("components/chart.toml", '{ contents = "./values/a.yaml" }', "{}",
     "values_file[0].contents: is required, or `path`: the values"),
    ("components/chart.toml", 'command = ["true"]', "",
     "health.probes[0].command: is required for `exec`"),
    ("components/chart.toml", 'stabilization_window = "1m"', 'stabilization_window = "2h"',
     "health.stabilization_window: 2h is out of range: more than 0s, at most 1h"),
    ("components/chart.toml", 'kubernetes_context = "east"', 'kubernetes_context = "est"',
     "kubernetes_context: there is no Kubernetes context `est`; did you mean `east`?"),
    ("components/chart.toml", '"0 * * * *"', '"hourly"', "drift_schedule: 'hourly' is not a cron"),
    ("components/manifest.toml", 'manifest = "./manifests/m.yaml"', "",
     "manifest.toml: needs exactly one of `manifest` and `kustomize`; none is set"),
    ("components/manifest.toml", 'drift_schedule = "@daily"', REPO,
     "public_repo: has no meaning for a `manifest`, only for `kustomize`; remove it"),
    ("components/kustomized.toml", REPO, "",
     "kustomized.toml: needs exactly one of `public_repo` and `connected_repo`; none is set"),
    ("components/kustomized.toml", '"none"', '"all"', "kustomize.load_restrictor: 'all' is not kn"),
    ("components/build.toml", 'branch = "main"', "",
     "public_repo.branch: is required: which branch of `vendor/app`"),
    ("components/image.toml", "[aws_ecr]", '[public]\nimage_url = "x"\ntag = "y"\n[aws_ecr]',
     "needs exactly one of `aws_ecr`, `gcp_gar`, `azure_acr` and `public`; `aws_ecr` and `public`"),
    ("components/image_public.toml", ', update_policy = "~1.25"', "",
     "public.tag: is required, or `update_policy`: which of the image's tags"),
    ("components/program.toml", "nodejs", "ruby", "runtime: 'ruby' is not known"),
    ("actions/check.toml", "inline_contents", "command",
     "steps[0].inline_contents: is required, since the action has an `image`"),
    ("runbooks/update.toml", 'component_name = "x_y"\n', "",
     "steps[0].component_name: is required for `component_deploy`"),
    ("runbooks/update.toml", 'component_name = "x_y"', 'component_name = "x_z"',
     "steps[0].component_name: there is no component `x_z`; did you mean `x_y`?"),
    ("runbooks/update.toml", 'action_name = "check"', 'action_name = "chek"',
     "steps[2].action_name: there is no action `chek`; did you mean `check`?"),
    ("runbooks/update.toml", 'action_name = "check"\n', "",
     "steps[2]: needs exactly one of `action_name`, `command` and `inline_contents`; none is set"),
    ("runbooks/update.toml", ".runbook_inputs.x", ".runbook_inputs.y",
     "steps[3].command: the runbook has no input `y`"),
    ("runbooks/update.toml", '"sandbox_reprovision"', '"sandbox_reprovison"', "steps[4].type: "),
    ("kubernetes_contexts.toml", '"db"', '"dc"', "there is no component `dc`"),
    ("installs/acme.toml", '{ zone = "b" }', '{ zon = "b" }',
     "inputs[0].zon: there is no input `zon`; did you mean `zone`?"),
    ("installs/acme.toml", "chart = true", "chrt = true",
     "component_toggles.chrt: there is no component `chrt`; did you mean `chart`?"),
    ("installs/acme.toml", "aws_account", 'gcp_account = {}\naws_account',
     "needs exactly one of `aws_account`, `gcp_account` and `azure_account`"),
    ("branch.toml", '["update"]', '["upgrade"]', "post_deploy_runbooks[0]: there is no runbook `u"),
    ("branch.toml", 'install_names = ["acme"]', 'install_names = ["acme"]\nlabel_selector={a="b"}',
     "install_groups[0].label_selector: excludes `install_ids` and `install_names`"),
    ("branch.toml", ', install_name = "acme"', "",
     "preview: needs exactly one of `install_id`, `install_name` and `label_selector`; none is se"),
    ("triggers.toml", 'app_branch = "main"', 'app_branch = "dev"',
     "rules[0].target.app_branch: there is no branch `dev`"),
    ("metadata.toml", "README.md", "READ.md", "readme: ./READ.md: is not in the config's root"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "message"), MISTAKES)
def test_each_mistake_is_told(whole: App, file: str, old: str, new: str, message: str) -> None:
    text = (whole.root / file).read_text()
    assert old in text
    whole.write(file, text.replace(old, new, 1))
    errors = whole.errors()
    assert any(message in error for error in errors), errors


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("components/chart.toml", "toggleable = true", "", "default_enabled: has no effect: the c"),
        ("policies.toml", 'type = "sandbox"', 'type = "sandbox"\ncomponents = ["db"]',
         "policy[2].components: has no effect for a policy of the type `sandbox`"),
        # A placeholder in published configs, where the cloud grants by other means.
        ("permissions.toml", "managed_policy_name", "name",
         "provision_role.policies[0]: grants nothing: write `managed_policy_name`"),
        ("operation_roles.toml", '"deploy"', '"provision"',
         "rules[0].operation: has no effect: `nuon::component:*` has no operation `provision`"),
        ("components/chart.toml", 'operation = "deploy"', 'operation = "provision"',
         "has no effect: a component has no operation `provision`, only `deploy`"),
        ("operation_roles.toml", 'role = "c"', 'role = "nobody"',
         "rules[2].role: there is no role `nobody` in permissions or break_glass"),
        ("actions/check.toml", 'role = "c"', 'role = "provision"',
         "role: there is no role `provision` in permissions or break_glass; did you mean "
         "`{{ .nuon.install.id }}-provision`?"),
        ("branch.toml", "^docs/", "(docs", "ignore_changes_regex: may not be a valid regular expr"),
        ("actions/check.toml", 'name = "one"', 'name = "one"\nenable_kube_config = true',
         "steps[0].enable_kube_config: unknown key, it has no effect; it belongs one level higher"),
    ],
)  # fmt: skip
def test_what_is_odd_is_a_warning(whole: App, file: str, old: str, new: str, message: str) -> None:
    text = (whole.root / file).read_text()
    assert old in text
    whole.write(file, text.replace(old, new, 1))
    warnings = [str(warning) for warning in whole.load().warnings]
    assert any(message in warning for warning in warnings), warnings


def test_roles_that_are_written_another_way_are_the_same(whole: App) -> None:
    text = (whole.root / "components/chart.toml").read_text()
    assert '"{{.nuon.install.id}}-provision"' in text  # and with spaces where it is declared
    assert whole.load().warnings == []


def test_an_app_needs_its_roles_in_a_folder_too(whole: App) -> None:
    (whole.root / "permissions.toml").unlink()
    role = 'name = "x"\ndescription = "d"\npolicies = [{ managed_policy_name = "a" }]\n'
    whole.write("permissions/a.toml", 'type = "provision"\n' + role)
    whole.write("permissions/b.toml", 'type = "provision"\n' + role.replace("x", "y"))
    whole.write("permissions/c.toml", role.replace("x", "z"))
    errors = whole.errors()
    for message in (
        "permissions/: there is no role of the type `maintenance`; an app needs one",
        "permissions/b.toml: type: there is already a role of the type `provision` in permission",
        "permissions/c.toml: type: is required: `provision`, `maintenance`, `deprovision` or `cust",
    ):
        assert any(error.startswith(message) for error in errors), errors


def test_a_cluster_that_needs_what_is_deployed_to_it_is_a_circle(whole: App) -> None:
    manifest = 'type = "kubernetes_manifest"\nname = "ns"\nmanifest = "x"\nnamespace = "y"\n'
    whole.write("components/ns.toml", manifest + 'kubernetes_context = "east"\n')
    text = (whole.root / "components/db.toml").read_text()
    whole.write("components/db.toml", 'dependencies = ["ns"]\n' + text)
    assert any("components need each other in a circle: " in error for error in whole.errors())
