"""Where a problem is: the line of its key, also within strings and in files that are read in."""

from apps.reading.problems import Problem
from tests.apps.app_folder import ACTION, DB, App


def places(problems: list[Problem]) -> list[str]:
    return [f"{problem.file}:{problem.line} {problem.key}" for problem in problems]


def test_each_problem_has_the_line_of_its_key(app: App) -> None:
    app.write("components/db.toml", DB + '\n[env_vars]\nTF_LOG = "x"\nA = 1\n')
    app.write("actions/check.toml", ACTION.replace('command = "true"', ""))
    assert places(app.problems()) == [
        "actions/check.toml:3 steps[0]",
        "components/db.toml:8 env_vars.TF_LOG",
        "components/db.toml:9 env_vars.A",
    ]


def test_a_missing_key_has_the_line_of_its_table(app: App) -> None:
    app.write("inputs.toml", "\n\n[[input]]\nname = 'x'\n")
    assert places(app.problems()) == [
        "inputs.toml:3 input[0].display_name",
        "inputs.toml:3 input[0].description",
    ]


def test_a_template_in_a_long_string_has_its_own_line(app: App) -> None:
    script = "inline_contents = '''\necho 1\necho {{ .nuon.id }\n'''\n"
    app.write("actions/check.toml", ACTION.replace('command = "true"\n', script))
    [problem] = app.problems()
    assert (problem.line, problem.key) == (7, "steps[0].inline_contents")


def test_a_template_in_a_file_that_is_read_is_told_of_that_file(app: App) -> None:
    app.write("components/db.toml", DB + '[[var_file]]\ncontents = "./values/db.tfvars"\n')
    app.write("components/values/db.tfvars", "# fine\nsize = {{ .nuon.id }\n")
    [problem] = app.problems()
    assert str(problem).startswith("components/values/db.tfvars:2: error: ")
    assert problem.message.endswith("(read by components/db.toml: var_file[0].contents)")


def test_a_key_in_quotes_is_found(app: App) -> None:
    app.write("components/db.toml", DB + '\n[env_vars]\n"a b" = 1\n')
    assert places(app.problems()) == ['components/db.toml:8 env_vars."a b"']


def test_problems_come_by_severity_file_and_line(app: App) -> None:
    app.write("components/db.toml", "odd = 1\n" + DB.replace('"z"', '"{{ .nuon.x }}"') + "nr = 1\n")
    app.write("components/a.toml", "type = 'nothing'\n")
    found = [(one.severity, one.file, one.line) for one in app.problems()]
    assert found == [
        ("error", "components/a.toml", 1),
        ("error", "components/db.toml", 6),
        ("warning", "components/db.toml", 1),
        ("warning", "components/db.toml", 7),
    ]


def test_there_is_an_end_to_them(app: App) -> None:
    lines = "\n".join(f"k{number} = 1" for number in range(5000))
    app.write("metadata.toml", f'version = "v3"\n{lines}\n')
    first, *others = app.problems()
    assert first.message.startswith("has more than 1000 problems")
    assert len(others) == 1000


def test_what_is_wrong_in_a_page_for_people_is_a_warning(app: App) -> None:
    app.write("metadata.toml", 'version = "v2"\nreadme = "./README.md"\n')
    app.write("README.md", "# {{ .nuon.install.id }}\n\n{{ .nuon.components.nope.outputs.x.* }}\n")
    assert [(one.severity, one.file, one.line) for one in app.load().warnings] == [
        ("warning", "README.md", 3)
    ]
