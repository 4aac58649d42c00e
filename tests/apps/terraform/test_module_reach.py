"""How far a module reaches, so how much of its repository a release holds."""

from pathlib import Path

import pytest

from apps.config.sources import Source
from apps.terraform.module_reach import Reach, lowest, reach, within
from tests.apps.app_folder import DB, MODULE, App


def write(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)


def called(source: str) -> str:
    return f'module "x" {{\n  source = "{source}"\n}}\n'


@pytest.mark.parametrize(
    ("files", "root"),
    [
        ({"m/a/main.tf": MODULE}, "m/a"),
        ({"m/a/main.tf": called("./b"), "m/a/b/main.tf": MODULE}, "m/a"),
        ({"m/a/main.tf": called("../b"), "m/b/main.tf": MODULE}, "m"),
        ({"m/a/main.tf": called("../b"), "m/b/main.tf": called("../../c"), "c/x.tf": ""}, ""),
        ({"m/a/main.tf": called("./b"), "m/a/b/x.tf": called("../../c"), "m/c/x.tf": ""}, "m"),
        ({"m/a/main.tf": called("..//b"), "m/b/main.tf": MODULE}, "m"),
        ({"m/a/main.tf": 'module "x" { source = "../b" }', "m/b/main.tf": ""}, "m"),
        ({"m/a/main.tf.json": '{"module": {"x": {"source": "../b"}}}', "m/b/x.tf": ""}, "m"),
        ({"m/a/main.tf": "# " + called("../b").replace("\n", "\n# ")}, "m/a"),
        ({"m/a/main.tf": called("git::https://x.example/a//b?ref=../c")}, "m/a"),
        ({"m/a/main.tf": 'x = file("${path.module}/../f/x.yaml")', "m/f/x.yaml": ""}, "m"),
        ({"m/a/main.tf": 'x = "${path.module}/../f/${each.key}.yaml"', "m/f/x.yaml": ""}, "m"),
        ({"m/a/main.tf": 'x = file("${path.module}/x.yaml")', "m/a/x.yaml": ""}, "m/a"),
        # What is read from the root is seen from there, in whichever module it stands.
        (
            {"m/a/main.tf": called("./b/c"), "m/a/b/c/x.tf": 'x = "${path.root}/../f/x"'},
            "m",
        ),
        ({"m/a/main.tf": called("../b"), "m/b/main.tf": called("../a")}, "m"),
    ],
)  # fmt: skip
def test_the_lowest_folder_with_all_that_is_reached(
    tmp_path: Path, files: dict[str, str], root: str
) -> None:
    write(tmp_path, files)
    found = reach(tmp_path, "m/a")
    assert found.root == root
    assert found.leads_out == []


def test_what_is_not_there_and_what_leads_out_are_told(tmp_path: Path) -> None:
    write(tmp_path, {"a/main.tf": called("../b") + called("../../c"), "d/x.tf": ""})
    found = reach(tmp_path, "a")
    assert [(one.file, one.line, one.source, one.is_outside) for one in found.leads_out] == [
        ("a/main.tf", 2, "../b", False), ("a/main.tf", 5, "../../c", True),
    ]  # fmt: skip


def test_no_link_leads_out(tmp_path: Path) -> None:
    write(tmp_path / "outside", {"x.tf": called("../b")})
    write(tmp_path / "top", {"a/main.tf": MODULE})
    (tmp_path / "top/a/more.tf").symlink_to(tmp_path / "outside/x.tf")
    assert reach(tmp_path / "top", "a").folders == {"a"}


def test_lowest_and_within() -> None:
    assert lowest(["a/b", "a/c", "a/b/d"]) == "a"
    assert lowest(["a/b"]) == "a/b"
    assert lowest(["a", ""]) == ""
    assert Reach("ab", {"ab", "a"}).root == ""
    assert within("a/b", "a") and within("a", "a") and within("a", "")
    assert not within("ab", "a")


def test_a_local_module_may_call_a_sibling(app: App) -> None:
    app.write("modules/db/main.tf", MODULE + called("../shared"))
    app.write("modules/shared/main.tf", MODULE)
    place = Source(repo=".", directory="modules/db")
    assert app.load().roots == {place: "modules"}


def test_a_module_may_be_the_whole_config(app: App) -> None:
    app.write("components/db.toml", DB.replace("modules/db", "."))
    app.write("main.tf", MODULE)
    app.load()
