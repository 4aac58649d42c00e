"""Folders that nobody would write: links, pipes, races, bombs. All end; nothing else is read."""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from apps.loader import check
from apps.reading import files
from apps.reading.files import FileRefused, Folder
from tests.apps.app_folder import DB, App
from tests.shipped import DEPLOYABLE


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outside")


OUTSIDE = ["../../etc/passwd", "./../../../../../../etc/passwd", "./modules/../../secret"]


@pytest.mark.parametrize("reference", OUTSIDE)
def test_no_reference_leads_out(app: App, reference: str) -> None:
    app.write("components/db.toml", f'{DB}[[var_file]]\ncontents = "{reference}"\n')
    assert "leads out of the config's folder" in app.only_error()


@pytest.mark.parametrize("directory", ["/etc", "../..", "modules/../../..", "modules/db/../db"])
def test_no_module_lies_outside(app: App, directory: str) -> None:
    app.write("components/db.toml", DB.replace("modules/db", directory))
    assert "must be a folder inside the config's folder" in app.only_error()


def test_a_path_with_a_nul_is_no_path(app: App) -> None:
    app.write("components/db.toml", f'{DB}[[var_file]]\ncontents = "./a\\u0000"\n')
    assert "leads out of the config's folder" in app.only_error()
    app.write("components/db.toml", DB.replace("modules/db", "a\\u0000"))
    assert "must be a folder inside the config's folder" in app.only_error()


def test_links_in_a_circle_end(app: App) -> None:
    (app.root / "modules/again").symlink_to(app.root)
    (app.root / "modules/self").symlink_to("self")
    errors = app.errors()
    assert len(errors) == 2 and all("is a symbolic link" in error for error in errors)


def test_a_link_to_a_device_is_refused(app: App) -> None:
    (app.root / "components/zero.toml").symlink_to("/dev/zero")
    assert "components/zero.toml: is a symbolic link" in app.only_error()


def test_sockets_are_refused(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(app.root)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("components/s.toml")
    assert "components/s.toml: is neither a file nor a folder" in app.only_error()


def test_names_are_utf8(app: App) -> None:
    (app.root / os.fsdecode(b"components/\xff.toml")).write_text(DB)
    assert "has a name that is not UTF-8" in app.only_error()


def test_names_that_differ_in_case_alone_are_refused(app: App) -> None:
    app.write("components/DB.toml", DB.replace('"db"', '"other"', 1))
    assert "components/db.toml: differs from `components/DB.toml` only in case" in app.only_error()


def test_folders_have_a_depth(app: App) -> None:
    app.write(f"src/{'/'.join(['d'] * 60)}/x.toml", "")
    assert "lies more than 50 folders deep" in app.only_error()


def test_a_folder_that_cannot_be_listed_is_told(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_below = files.opened_below

    @contextmanager
    def refusing(root: Path, path: str, flags: int) -> Iterator[int]:
        if path == "actions":
            raise PermissionError(errno.EACCES, "Permission denied")
        with opened_below(root, path, flags) as descriptor:
            yield descriptor

    monkeypatch.setattr(files, "opened_below", refusing)
    assert app.only_error() == "actions: cannot be listed: Permission denied"


def test_a_file_that_became_a_link_is_not_read(app: App, outside: Path) -> None:
    folder = Folder(app.root)
    (app.root / "inputs.toml").rename(outside / "inputs.toml")
    (app.root / "inputs.toml").symlink_to(outside / "inputs.toml")
    with pytest.raises(FileRefused, match=r"inputs\.toml: cannot be read"):
        folder.toml("inputs.toml")


def test_a_folder_that_became_a_link_is_not_read(app: App, outside: Path) -> None:
    folder = Folder(app.root)
    (app.root / "components").rename(outside / "components")
    (app.root / "components").symlink_to(outside / "components")
    with pytest.raises(FileRefused, match=r"components/db\.toml: cannot be read"):
        folder.toml("components/db.toml")


def test_a_file_that_became_a_pipe_is_not_waited_for(app: App) -> None:
    folder = Folder(app.root)
    (app.root / "inputs.toml").unlink()
    os.mkfifo(app.root / "inputs.toml")
    with pytest.raises(FileRefused, match="longer a regular file"):
        folder.toml("inputs.toml")


def test_a_huge_file_is_not_read_as_a_whole(app: App) -> None:
    for file in ("inputs.toml", "modules/db/data.bin"):
        with (app.root / file).open("wb") as opened:
            opened.truncate(1 << 30)
    # Nothing reads what nothing refers to.
    assert app.only_error() == "inputs.toml: is larger than 1024 KiB"


@pytest.mark.parametrize("text", [f"\ufeff{DB}", DB.replace("\n", "\r\n")])
def test_what_editors_of_elsewhere_write_is_read(app: App, text: str) -> None:
    app.write("components/db.toml", text)
    app.load()
    app.write("components/db.toml", text + "verson = 1\n")
    [problem] = [one for one in check(app.root, DEPLOYABLE).problems if one.key == "verson"]
    assert problem.line == DB.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\0" * 1000, "is not valid TOML"),
        ("a." * 200_000 + "a = 1", "has a key of more than 16 parts"),
        ("x = 1\n[" + "'a' . " * 100_000 + "a]", "has a key of more than 16 parts"),
        ('"a\\".b".' * 50_000 + "a = 1", "has a key of more than 16 parts"),
        ("x = [" + "1," * 160_000 + "]", "has more than 50000 values"),
        ("x = [" + "[" * 100 + "]" * 100 + "]", "is nested more than 64 levels deep"),
        ("[[input]]\n" * 60_000, "has more than 50000 values"),
    ],
)
def test_what_nobody_writes_ends_at_once(app: App, text: str, message: str) -> None:
    app.write("inputs.toml", text)
    assert message in app.only_error()


def test_text_with_many_dots_is_text(app: App) -> None:
    text = ", ".join(f"{n}.{n}.{n}.{n}" for n in range(100)) + "." * 100 + " a.b.c.d.e.f"
    app.write("components/db.toml", f"{DB}labels = {{ a = '{text}' }}\n")
    app.load()


def test_a_key_may_be_long(app: App) -> None:
    app.write("secrets.toml", "a" * 500_000 + " = 1")
    [warning] = app.load().warnings
    assert warning.line == 1
