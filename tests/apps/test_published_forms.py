"""Ways of writing that published configs have, beyond what one complete config shows."""

import pytest

from tests.apps.app_folder import ACTION, DB, App, told

SECRET = 'name = "key"\ndescription = "d"\n'


def test_what_is_not_there_yet_is_told_once_with_a_count(app: App) -> None:
    for name in ("a", "b", "c"):
        chart = f'type = "helm_chart"\nname = "{name}"\nchart_name = "x"\n'
        app.write(
            f"components/{name}.toml",
            f'{chart}public_repo = {{ repo = ".", directory = "modules" }}',
        )
    app.write("components/d.toml", 'type = "job"\nname = "d"\nimage_url = "x"\ntag = "1"\n')
    loaded = app.load()
    assert [told(note) for note in loaded.notes] == [
        "components/a.toml: type: accepted, but deploying helm_chart is not supported yet "
        "(and in 2 more places)",
        "components/d.toml: type: accepted, but deploying job is not supported yet",
    ]
    assert loaded.unbuildable == loaded.notes


def test_an_installs_inputs_may_be_one_table(app: App) -> None:
    app.write("installs/b.toml", 'name = "Customer B"\n[inputs]\nzone = "a"\n')
    [install] = app.load().plane.installs
    assert install.name == "Customer B" and install.inputs == [{"zone": "a"}]
    app.write("installs/b.toml", 'name = "Customer B"\n[inputs]\nzon = "a"\n')
    assert app.only_error().startswith("installs/b.toml: inputs[0].zon: there is no input `zon`")


def test_an_install_follows_a_branch(app: App) -> None:
    app.write("installs/b.toml", 'name = "b"\napp_branch = "dev"\n')
    app.load()  # the branches may lie elsewhere
    app.write("branches/main.toml", 'name = "main"\n')
    assert "app_branch: there is no branch `dev`" in app.only_error()


def test_a_policys_file_may_be_for_several_kinds(app: App) -> None:
    app.write("limits.rego", "package nuon\n")
    policy = '[[policy]]\ntype = "{}"\ncontents = "./limits.rego"\n'
    kinds = ("sandbox", "helm_chart", "terraform_module")
    app.write("policies.toml", "".join(policy.format(kind) for kind in kinds))
    policies = app.load().config.policies
    assert [policy.name for policy in policies] == ["limits", "limits-2", "limits-3"]


def test_a_secret_may_be_brought_to_many_places(app: App) -> None:
    target = 'kubernetes_sync_targets = [{ namespaces = ["a"], name = "n", key = "k" }]\n'
    app.write("secrets/key.toml", f"{SECRET}kubernetes_sync = true\n{target}")
    assert app.load().config.secrets[0].kubernetes_sync_targets[0].key == "k"
    app.write("secrets/key.toml", SECRET + target.replace('["a"]', "[]"))
    assert "kubernetes_sync_targets[0].namespaces" in app.only_error()


@pytest.mark.parametrize("file", ["nuon.toml", "nuon.shop.toml"])
def test_the_old_form_is_refused_under_either_name(app: App, file: str) -> None:
    app.write(file, "[config_vars]\n")
    assert app.only_error().startswith(f"{file}: is the old single-file form")


def test_files_of_other_tools_are_no_mistake(app: App) -> None:
    for file in (".taplo.toml", "mise.toml", "pyproject.toml"):
        app.write(file, "x = 1\n")
    assert app.load().warnings == []
    app.write("componets.toml", "x = 1\n")
    [warning] = app.load().warnings
    assert told(warning) == (
        "componets.toml: is not a file of the format, and has no effect; did you mean `components`?"
    )


def test_a_step_may_set_what_is_built_in(app: App) -> None:
    env = '[steps.env_vars]\nNUON_INSTALL_ID = "{{ .nuon.install.id }}"\nHOME = "/tmp"\n'
    app.write("actions/check.toml", ACTION + env)
    app.load()
    app.write("components/db.toml", f"{DB}[env_vars]\nHOME = '/tmp'\n")
    assert "components/db.toml: env_vars.HOME: is set by the worker alone" in app.only_error()


def test_a_repository_without_a_directory_is_taken_from_its_root(app: App) -> None:
    app.write("branch.toml", 'name = "main"\nconnected_repo = { repo = "a/b", branch = "main" }\n')
    loaded = app.load()
    assert [told(warning) for warning in loaded.warnings] == [
        "branch.toml: connected_repo.directory: is required; the root of the repository is used: "
        'write directory = "."'
    ]
    source = loaded.plane.branches[0].connected_repo
    assert source is not None and source.directory == "."
    app.write("components/db.toml", DB.replace(', directory = "modules/db"', ""))
    assert app.only_error() == "components/db.toml: public_repo.directory: is required"


def test_a_stacks_template_may_be_a_file_of_the_config(app: App) -> None:
    stack = 'type = "azure-bicep"\nname = "x"\ndescription = "d"\n[[custom_nested_stacks]]\n'
    app.write("stack.toml", f'{stack}name = "net"\ntemplate_url = "./arm/stack.json"\n')
    assert app.only_error() == (
        "stack.toml: custom_nested_stacks[0].template_url: ./arm/stack.json: is not in the "
        "config's root"
    )
    app.write("arm/stack.json", "{}")
    config = app.load().config
    assert config.stack is not None
    assert config.stack.custom_nested_stacks[0].template_url == "./arm/stack.json"
