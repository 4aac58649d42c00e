"""Every kind of file with all of its keys is loaded, as a file and as a folder."""

import pytest

from apps.config.sources import Source
from apps.loader import LoadedApp
from apps.reading.kinds import KINDS
from tests.apps.app_folder import App, told

REPO = '[public_repo]\nrepo = "vendor/app"\ndirectory = "x"\nbranch = "main"\n'
ROLE = 'name = "{{ .nuon.install.id }}-NAME"\ndescription = "d"\n'
ROLES = "".join(
    f"[{kind}_role]\n{ROLE.replace('NAME', kind)}"
    f'[[{kind}_role.policies]]\nmanaged_policy_name = "Admin"\n'
    for kind in ("provision", "maintenance", "deprovision")
)
COMMON = """
var_name = "x_y"
labels = { team = "a" }
dependencies = ["db"]
operation_roles = [{ operation = "deploy", role = "{{.nuon.install.id}}-provision" }]
toggleable = true
default_enabled = false
build_timeout = "10m"
deploy_timeout = "1h"
max_auto_retries = 2
skip_noops = true
auto_approve_on_policies_passing = true
drift_schedule = "0 * * * *"
[health]
enabled = false
stabilization_window = "1m"
block_deploy = true
required_checks = ["a"]
[[health.probes]]
type = "exec"
command = ["true"]
"""
FILES = {
    "metadata.toml": """
version = "v1"
description = "d"
display_name = "D"
slack_webhook_url = "https://hooks.example.com/x"
readme = "./README.md"
label_colors = { a = "red" }
default_labels = { app = "{{ .nuon.app.name }}" }
onboarding = { enabled = true, category = "x" }
""",
    "README.md": "# {{ .nuon.install.name }}\n",
    "sandbox.toml": """
type = "pulumi"
runtime = "go"
drift_schedule = "@daily"
skip_noops = true
auto_approve_on_policies_passing = true
pulumi_config = { "aws:region" = "{{ .nuon.install_stack.outputs.region }}" }
operation_roles = [{ operation = "provision", role = "{{.nuon.install.id}}-provision" }]
""" + REPO,
    "runner.toml": """
runner_type = "aws-eks"
helm_driver = "secret"
init_script_url = "https://example.com/init.sh"
instance_type = "t3a.xlarge"
env_vars = { HTTPS_PROXY = "http://proxy" }
""",
    "stack.toml": """
type = "aws-cloudformation"
name = "x-{{ .nuon.install.id }}"
description = "d"
vpc_nested_template_url = "https://example.com/vpc.yaml"
runner_nested_template_url = "https://example.com/runner.yaml"
deployment_scope = "subscription"
[[custom_nested_stacks]]
name = "a"
template_url = "./a.yaml"
index = 1
parameters = { Zone = "{{ .nuon.install.inputs.zone }}", Count = 3 }
""",
    "inputs.toml": """
[[group]]
name = "where"
description = "d"
display_name = "Where"
[[input]]
name = "zone"
display_name = "Zone"
description = "d"
group = "where"
default = ""
required = true
sensitive = true
type = "string"
internal = true
user_configurable = true
""",
    "a.yaml": "Resources: {}\n",
    "secrets.toml": """
[[secret]]
name = "password"
display_name = "Password"
description = "d"
auto_generate = true
format = "base64"
kubernetes_sync = true
kubernetes_secret_namespace = "{{ .nuon.install.id }}"
kubernetes_secret_name = "password"
user_configurable = true
[[secret]]
name = "key"
description = "d"
required = true
kubernetes_sync_targets = [{ namespaces = ["a", "b"], name = "n", key = "k" }]
""",
    "permissions.toml": ROLES + """
[[custom_roles]]
name = "c"
description = "d"
display_name = "C"
cloud_platform = "gcp"
permissions_boundary = "./boundary.json"
enabled_in_stack = false
named_policies = [{ name = "shared" }]
[[custom_roles.policies]]
name = "p"
gcp_permissions = ["a.b"]
gcp_predefined_role = "roles/owner"
[[custom_roles.policies]]
name = "q"
azure_actions = ["x/y"]
azure_built_in_roles = ["Owner"]
[[named_policies]]
name = "shared"
description = "d"
contents = '{"Version": "2012-10-17"}'
""",
    "permissions/boundary.json": "{}",
    "break_glass.toml": """
[[role]]
name = "all"
description = "d"
permissions_boundary = "./boundary.json"
policies = [{ managed_policy_name = "Admin" }]
""",
    "operation_roles.toml": """
type = "matrix"
[[rules]]
principal = "nuon::component:*"
operation = "deploy"
role = "all"
[[rules]]
principal = "nuon::sandbox"
operation = "reprovision"
role = "all"
[[rules]]
principal = "nuon::action:check"
operation = "trigger"
role = "c"
""",
    "policies.toml": """
[[policy]]
type = "kubernetes_cluster"
contents = "./rules.yaml"
[[policy]]
name = "mine"
type = "terraform_module"
engine = "opa"
components = ["db"]
contents = "package nuon"
[[policy]]
type = "sandbox"
contents = "package nuon"
""",
    "policies/rules.yaml": "a: '{{ request.object }}'\n",
    "components/chart.toml": """
type = "helm_chart"
name = "chart"
chart_name = "c"
namespace = "n-{{ .nuon.install.id }}"
values = { a = "{{ .nuon.inputs.inputs.zone }}" }
storage_driver = "configmap"
take_ownership = true
kubernetes_context = "east"
helm_repo = { repo_url = "https://charts.example.com", chart = "c", version = "1.2" }
values_file = [
  { contents = "./values/a.yaml" }, { path = "values/a.yaml" }, { source = "./values/a.yaml" },
]
""" + COMMON,
    "components/values/a.yaml": "a: {{ .nuon.inputs.inputs.zone }}\n",
    "components/manifest.toml": """
type = "kubernetes_manifest"
name = "manifest"
namespace = "n"
manifest = "./manifests/m.yaml"
drift_schedule = "@daily"
""",
    "components/manifests/m.yaml": "kind: {{ .nuon.components.x_y.status }}\n",
    "components/kustomized.toml": """
type = "kubernetes_manifest"
name = "kustomized"
namespace = "n"
kustomize = { path = "overlay", patches = ["p.yaml"], enable_helm = true, load_restrictor = "none" }
""" + REPO,
    "components/build.toml": """
type = "docker_build"
name = "build"
dockerfile = "Dockerfile"
target = "final"
secrets = ["token"]
platforms = ["linux/arm64"]
env_vars = { A = "b" }
build_args = { C = "d" }
""" + REPO,
    "components/image.toml": """
type = "external_image"
name = "image"
[aws_ecr]
image_url = "1.dkr.ecr.x.amazonaws.com/a"
tag = "v1"
region = "x"
iam_role_arn = "arn:x"
""",
    "components/image_public.toml": """
type = "container_image"
name = "image_public"
public = { image_url = "nginx", update_policy = "~1.25" }
""",
    "components/image_gcp.toml": """
type = "container_image"
name = "image_gcp"
gcp_gar = { image_url = "x", tag = "1", region = "r", gcp_project_id = "p" }
""",
    "components/job.toml": """
type = "job"
name = "job"
image_url = "{{ .nuon.components.image.outputs.image.repository }}"
tag = "1"
cmd = ["a"]
args = ["{{ .nuon.install.id }}"]
env_vars = { A = "b" }
""",
    "components/program.toml": """
type = "pulumi"
name = "program"
runtime = "nodejs"
pulumi_version = "3"
config = { "aws:region" = "x" }
env_vars = { A = "b" }
drift_schedule = "@daily"
""" + REPO,
    "actions/check.toml": """
name = "check"
timeout = "30m"
labels = { a = "b" }
dependencies = ["chart"]
break_glass_role = "all"
role = "c"
enable_kube_config = true
image = "alpine:3"
kubernetes_context = "sandbox"
triggers = [{ type = "manual", index = 2 }]
[[steps]]
name = "one"
inline_contents = "./check.sh"
env_vars = { A = "{{ .nuon.id }}" }
""" + REPO.replace("[public", "[steps.connected"),
    "actions/check.sh": "echo {{ .nuon.install.id }}\n",
    "runbooks/update.toml": """
name = "update"
description = "d"
readme = "./update.md"
labels = { a = "b" }
dependencies = ["chart"]
[[input]]
name = "x"
display_name = "X"
description = "d"
default = "1"
required = true
sensitive = true
type = "number"
[[steps]]
name = "Deploy it"
type = "deploy"
component_name = "x_y"
deploy_dependencies = true
plan_only = true
[[steps]]
name = "Down"
type = "component_tear_down"
component_name = "job"
tear_down_dependents = true
[[steps]]
name = "Act"
type = "action"
action_name = "check"
[[steps]]
name = "Say"
type = "action"
command = "echo {{ .runbook_inputs.x }} {{ .nuon.id }}"
timeout = "1m"
role = "c"
env_vars = { A = "b" }
[[steps]]
name = "Again"
type = "sandbox_reprovision"
skip_component_deploys = true
""",
    "runbooks/update.md": "Now {{ .nuon.install.name }}\n",
    "kubernetes_contexts.toml": '[[kubernetes_context]]\nname = "east"\ncomponent = "db"\n',
    "installs/acme.toml": """
name = "Acme Inc."
app_branch = "main"
approval_option = "approve-all"
labels = { tier = "one" }
aws_account = { region = "us-east-1" }
inputs = [{ zone = "b" }]
components = { db = { tf_vars = "a = 1" }, chart = { helm_values = "a: 1" } }
component_toggles = { chart = true }
[stack_overrides]
vpc_nested_template_url = "https://example.com/other.yaml"
""",
    "branch.toml": """
name = "main"
post_deploy_runbooks = ["update"]
ignore_changes_regex = "^docs/"
run = { mode = "on_tag_prefix", tag_prefix = "release/", github_label = "go" }
preview = { mode = "plan-only", install_name = "acme", ignore_drafts = true, react = true }
[[install_groups]]
name = "first"
order = 1
install_names = ["acme"]
default = true
auto_approve_on_policies_passing = true
max_parallel = 2
""" + REPO,
    "triggers.toml": """
[[rules]]
name = "released"
event_source = "github"
event_types = ["release"]
filters = [{ op = "eq", path = "/action", value = "published" }]
target = { type = "app_branch_run", app_branch = "main" }
""",
    "installer.toml": 'name = "Acme"\napps = ["a"]\nlogo_url = "https://example.com/logo"\n',
}  # fmt: skip


@pytest.fixture
def whole(app: App) -> App:
    for file, text in FILES.items():
        app.write(file, text)
    return app


@pytest.fixture
def loaded(whole: App) -> LoadedApp:
    return whole.load()


def test_there_is_a_file_of_every_kind() -> None:
    kinds = {file.split("/")[0].removesuffix(".toml") for file in FILES}
    assert set(KINDS) - kinds == {"input_groups", "branches"}  # other forms of what is there


def test_no_key_is_unknown(loaded: LoadedApp) -> None:
    assert [str(warning) for warning in loaded.warnings] == []


def test_what_a_release_holds(loaded: LoadedApp) -> None:
    config = loaded.config
    assert config.metadata.readme.startswith("# {{")
    assert config.sandbox is not None and config.sandbox.type == "pulumi"
    assert config.part("_sandbox") is config.sandbox
    assert config.runner is not None and config.runner.cloud_platform == "aws"
    assert config.stack is not None
    assert config.stack.custom_nested_stacks[0].parameters["Count"] == 3
    assert [secret.name for secret in config.secrets] == ["key", "password"]
    assert config.permissions is not None
    assert [role.type for role in config.permissions.roles] == [
        "custom", "deprovision", "maintenance", "provision",
    ]  # fmt: skip
    assert config.permissions.roles[0].permissions_boundary == "{}"
    assert [role.type for role in config.break_glass] == ["break_glass"]
    assert [policy.name for policy in config.policies] == ["mine", "policies", "rules"]
    assert config.operation_roles is not None and len(config.operation_roles.rules) == 3
    assert [part.type for part in config.components] == [
        "docker_build", "helm_chart", "terraform_module", "container_image", "container_image",
        "container_image", "job", "kubernetes_manifest", "kubernetes_manifest", "pulumi",
    ]  # fmt: skip
    assert [runbook.name for runbook in config.runbooks] == ["update"]
    first = config.runbooks[0].steps[0]
    assert first.type == "component_deploy" and first.deploy_dependents
    assert [context.name for context in config.kubernetes_contexts] == ["east"]


def test_every_file_of_values_is_brought_in(loaded: LoadedApp) -> None:
    chart = loaded.config.component("chart")
    assert chart is not None and chart.type == "helm_chart"
    assert [values.contents for values in chart.values_file] == [
        FILES["components/values/a.yaml"]
    ] * 3


def test_what_is_the_control_planes_alone(loaded: LoadedApp) -> None:
    plane = loaded.plane
    assert plane.slack_webhook_url == "https://hooks.example.com/x"
    assert [install.name for install in plane.installs] == ["Acme Inc."]
    assert [branch.name for branch in plane.branches] == ["main"]
    assert plane.branches[0].public_repo == Source(repo="vendor/app", directory="x", branch="main")
    assert [rule.name for rule in plane.triggers] == ["released"]
    assert plane.installer is not None and plane.installer.name == "Acme"
    frozen = loaded.config.model_dump_json()
    assert "acme" not in frozen and "hooks.example.com" not in frozen


def test_what_is_not_there_yet_is_told(loaded: LoadedApp) -> None:
    notes = {told(note) for note in loaded.notes}
    for note in (
        "components/chart.toml: type: accepted, but deploying helm_chart is not supported yet",
        "sandbox.toml: type: accepted, but making a sandbox with Pulumi is not supported yet",
        "secrets.toml: secret[0]: accepted, but secrets are not supported yet "
        "(and in 1 more place)",
        "actions/check.toml: image: accepted, but running steps in an image is not supported yet",
    ):
        assert note in notes


@pytest.mark.parametrize(
    ("file", "folder"),
    [
        ("secrets.toml", ["secrets/a.toml", "secrets/deep/b.toml"]),
        ("break_glass.toml", ["break_glass/all.toml"]),
        ("policies.toml", ["policies/one.toml", "policies/two.toml", "policies/three.toml"]),
        ("kubernetes_contexts.toml", ["kubernetes_contexts/east.toml"]),
    ],
)
def test_a_file_of_many_can_be_a_folder(whole: App, file: str, folder: list[str]) -> None:
    before = whole.load().config
    text = (whole.root / file).read_text()
    (whole.root / file).unlink()
    _, *parts = ("\n" + text).split("\n[[")
    for name, part in zip(folder, parts, strict=True):
        whole.write(name, part.partition("]]")[2])
    after = whole.load()
    assert after.warnings == []
    kind = file.removesuffix(".toml")
    if kind == "policies":
        assert {policy.type for policy in after.config.policies} == {
            policy.type for policy in before.policies
        }
    else:
        assert after.config == before


def test_permissions_as_a_folder(whole: App) -> None:
    (whole.root / "permissions.toml").unlink()
    for kind in ("provision", "maintenance", "deprovision", "custom"):
        role = ROLE.replace("{{ .nuon.install.id }}-NAME", "c") if kind == "custom" else ROLE
        text = f'type = "{kind}"\n{role.replace("NAME", kind)}'
        text += 'policies = [{ managed_policy_name = "Admin" }]\nnamed_policies = [{name = "p"}]\n'
        whole.write(f"permissions/{kind}.toml", text)
    whole.write("permissions/policies/p.toml", 'name = "p"\ncontents = "./p.json"\n')
    whole.write("permissions/policies/p.json", "{}")
    loaded = whole.load()
    assert loaded.warnings == []
    permissions = loaded.config.permissions
    assert permissions is not None and len(permissions.roles) == 4
    assert permissions.named_policies[0].contents == "{}"


def test_branches_as_a_folder(whole: App) -> None:
    (whole.root / "branch.toml").rename(whole.root / "moved")
    (whole.root / "branches").mkdir()
    (whole.root / "moved").rename(whole.root / "branches/main.toml")
    assert [branch.name for branch in whole.load().plane.branches] == ["main"]


def test_installs_of_elsewhere(whole: App) -> None:
    (whole.root / "installs/acme.toml").unlink()
    whole.write("branch.toml", "")
    whole.write("triggers.toml", "")
    whole.write("installs.toml", REPO)
    location = whole.load().plane.installs_location
    assert location is not None and location.public_repo is not None


@pytest.mark.parametrize(
    ("kind", "entity"),
    [(name, kind.entity) for name, kind in KINDS.items() if kind.document and kind.entity],
)
def test_a_kind_is_a_file_or_a_folder(app: App, kind: str, entity: object) -> None:
    app.write(f"{kind}.toml", "x = 1")
    app.write(f"{kind}/x.toml", "x = 1")
    assert f"{kind}.toml: there is also the folder `{kind}/`; keep only one of the two" in (
        app.errors()
    )
    app.write(f"{kind}.toml", "# nothing\n")
    assert "there is also" not in "".join(app.errors())
