"""Whatever a folder holds, the loader ends, reads nothing outside, and says what is wrong."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.loader import ConfigErrors
from apps.reading import files
from tests.apps.app_folder import ACTION, DB, App


@pytest.mark.parametrize("target", ["/etc/passwd", "main.tf", "nowhere"])
def test_links_are_refused(app: App, target: str) -> None:
    (app.root / "modules/db/link.tf").symlink_to(target)
    assert "modules/db/link.tf: is a symbolic link" in app.only_error()


def test_a_linked_folder_is_refused(app: App, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "main.tf").write_text("secret of the machine")
    (app.root / "modules/out").symlink_to(outside)
    app.write("components/db.toml", DB.replace("modules/db", "modules/out"))
    errors = "\n".join(app.errors())
    assert "modules/out: is a symbolic link" in errors
    assert "is not a folder in the config" in errors and "secret" not in errors


def test_devices_are_refused(app: App) -> None:
    os.mkfifo(app.root / "components/pipe.toml")
    assert "components/pipe.toml: is neither a file nor a folder" in app.only_error()


def test_tools_folders_are_left_out(app: App) -> None:
    (app.root / ".git").mkdir()
    (app.root / ".git/link").symlink_to("/etc/passwd")
    app.load()


def test_files_have_limits(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    app.write("components/db.toml", DB + "#" * files.MAX_TOML_BYTES)
    assert "components/db.toml: is larger than 1024 KiB" in app.only_error()
    app.write("components/db.toml", DB + '[[var_file]]\ncontents = "./big"\n')
    app.write("big", " " * (files.MAX_CONTENT_BYTES + 1))
    assert "var_file[0].contents: big: is larger than 4096 KiB" in app.only_error()
    monkeypatch.setattr(files, "MAX_FILES", 3)
    assert "has more than 3 files" in app.only_error()


def test_files_are_utf8(app: App) -> None:
    app.write("components/db.toml", b"# fine\nname = '\xff'")
    assert "components/db.toml: is not UTF-8 (line 2)" in app.only_error()


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 5000 + "]" * 5000, "x = " + "{a=" * 5000, "x = " + "9" * 5000]
)
def test_hostile_toml_is_a_problem(app: App, text: str) -> None:
    app.write("inputs.toml", text)
    assert "inputs.toml" in app.only_error()


WEIRD = st.binary(max_size=60) | st.text("a=[]{}\"'\n.#1-: \\\0é", max_size=60).map(str.encode)
FILES = ["metadata.toml", "inputs.toml", "components/db.toml", "actions/check.toml",
         "modules/db/main.tf", "modules/db/x.tf.json", "secrets.toml", "sandbox.toml"]  # fmt: skip


@given(st.sampled_from(FILES), WEIRD, st.booleans())
@settings(
    max_examples=settings().max_examples * 3 // 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_weird_bytes_end_in_a_config_or_in_problems(
    app: App, file: str, content: bytes, append: bool
) -> None:
    App(app.root)
    kept = app.root / file
    before = kept.read_bytes() if kept.exists() and append else b""
    app.write(file, before + content)
    try:
        app.load()
    except ConfigErrors as errors:
        assert errors.problems and str(errors)
    finally:
        kept.unlink()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab{}. nuo/", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["name", "type", "contents", "repo", "x"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@given(
    st.sampled_from(["type", "name", "var_name", "public_repo", "vars", "var_file", "dependencies",
                     "labels", "triggers", "steps", "timeout", "input", "group", "health"]),
    VALUES,
    st.sampled_from(["inputs.toml", "components/db.toml", "actions/check.toml", "sandbox.toml"]),
)  # fmt: skip
@settings(
    max_examples=settings().max_examples * 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_values_of_any_shape_end_in_a_config_or_in_problems(
    app: App, key: str, value: object, file: str
) -> None:
    originals = {"components/db.toml": DB, "actions/check.toml": ACTION, "sandbox.toml": DB}
    original = originals.get(file, "")
    kept = "\n".join(line for line in original.splitlines() if not line.startswith(key))
    app = App(app.root)
    app.write(file, f"{key} = {toml(value)}\n{kept}\n")
    try:
        app.load()
    except ConfigErrors as errors:
        assert errors.problems and str(errors)
    finally:
        (app.root / file).unlink()


def toml(value: object) -> str:
    match value:
        case None:
            return "1979-05-27"
        case bool():
            return str(value).lower()
        case dict():
            return "{" + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case str():
            return f"'{value}'"
        case _:
            return str(value)
