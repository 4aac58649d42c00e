"""Packing is deterministic; unpacking writes below its destination only, and only plain files."""

import hashlib
import io
import os
import socket
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from artifacts.archive import ArchiveRefused, pack, pack_from, unpack


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


FILES = {"main.tf": "# main", "b/ä.txt": "umlaut", "b/a.txt": "a", "Z": "", "run.sh": "#!/bin/sh"}


def entry(name: str, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    return info


def zipped(*entries: zipfile.ZipInfo, content: bytes = b"x") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for info in entries:
            archive.writestr(info, b"" if info.filename.endswith("/") else content)
    return buffer.getvalue()


def test_equal_content_gives_equal_bytes_whatever_else_differs(tmp_path: Path) -> None:
    one = write(tmp_path / "one", FILES)
    two = write(tmp_path / "elsewhere/two", dict(reversed(FILES.items())))
    (one / "run.sh").chmod(0o744)
    (two / "run.sh").chmod(0o700)
    (two / "main.tf").chmod(0o600)
    (two / "empty").mkdir()
    for path in two.rglob("*"):
        os.utime(path, (1, 1_000_000_000))

    assert pack(one) == pack(two)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "main.tf").write_text("# other"),
        lambda folder: (folder / "main.tf").chmod(0o755),
        lambda folder: (folder / "main.tf").rename(folder / "main2.tf"),
        lambda folder: (folder / "more").write_text(""),
    ],
)
def test_other_content_gives_other_bytes(tmp_path: Path, change: Callable[[Path], object]) -> None:
    folder = write(tmp_path / "app", FILES)
    before = pack(folder)
    change(folder)
    assert pack(folder) != before


def test_the_bytes_are_the_same_in_every_version(tmp_path: Path) -> None:
    """A digest identifies a release for ever: another Python or zlib must not change it."""
    digest = hashlib.sha256(pack(write(tmp_path / "app", {"a/b.tf": "x", "c": "y"}))).hexdigest()
    assert digest == "c7b70727eed3624acc46fffd0cd5df13d311293ea3cbbebbc46bb583aff25110"


def test_leaves_out_what_tools_leave_behind(tmp_path: Path) -> None:
    kept = {".terraform.lock.hcl": "lock", "m/main.tf": "x", ".gitignore": "y"}
    left_out = {
        ".git/HEAD": "ref",
        "m/.git": "gitdir: elsewhere",
        "m/.terraform/providers/p": "binary",
        "__pycache__/a.pyc": "x",
        "terraform.tfstate": "secret",
        "m/terraform.tfstate.backup": "secret",
        "terraform.tfstate.d/env/terraform.tfstate": "secret",
    }
    folder = write(tmp_path / "app", kept | left_out)
    # A link among what is left out is no reason to refuse the folder.
    (folder / "m/.terraform/link").symlink_to("/etc/passwd")

    with zipfile.ZipFile(io.BytesIO(pack(folder))) as archive:
        assert archive.namelist() == sorted(kept)


def test_refuses_links_sockets_and_fifos_by_name(tmp_path: Path) -> None:
    for kind in ("link", "FIFO", "socket"):
        folder = write(tmp_path / kind, {"sub/main.tf": "x"})
        odd = folder / "sub" / "odd"
        with socket.socket(socket.AF_UNIX) as unix:
            if kind == "link":
                odd.symlink_to("main.tf")
            elif kind == "FIFO":
                os.mkfifo(odd)
            else:
                unix.bind(str(odd))
            with pytest.raises(ArchiveRefused, match=f"sub/odd is a {kind}"):
                pack(folder)


def test_refuses_names_that_not_every_system_holds(tmp_path: Path) -> None:
    write(tmp_path, {"a\\b": "x"})
    with pytest.raises(ArchiveRefused, match="backslash"):
        pack(tmp_path)


def test_refuses_what_is_not_a_folder_or_too_big(tmp_path: Path) -> None:
    folder = write(tmp_path / "app", {"a": "12345", "b": "12345"})
    with pytest.raises(ArchiveRefused, match="is not a folder"):
        pack(folder / "a")
    with pytest.raises(ArchiveRefused, match="more than 9 bytes"):
        pack(folder, max_bytes=9)
    with pytest.raises(ArchiveRefused, match="2 files, more than 1"):
        pack(folder, max_files=1)
    assert pack(folder, max_bytes=10, max_files=2)


@pytest.mark.parametrize("directory", [".", "modules", "modules/b"])
def test_packs_a_folder_of_an_archive_as_if_it_lay_there(tmp_path: Path, directory: str) -> None:
    files = FILES | {f"modules/{name}": text for name, text in FILES.items()}
    folder = write(tmp_path / "app", files | {"modulesb/other.tf": "x"})
    (folder / "modules/run.sh").chmod(0o755)
    (tmp_path / "app.zip").write_bytes(pack(folder))
    packed = pack_from(tmp_path / "app.zip", PurePosixPath(directory))
    assert packed == pack(folder / directory)


def test_packs_out_of_an_archive_of_any_make(tmp_path: Path) -> None:
    deflated = entry("m/b.tf")
    deflated.compress_type = zipfile.ZIP_DEFLATED
    order = [
        entry("m/z/", stat.S_IFDIR | 0o755),
        entry("m/z/a", stat.S_IFREG | 0o755),
        deflated,
        entry("m/a.tf"),
    ]
    left_out = [entry("m/.terraform/x"), entry("m/z/terraform.tfstate"), entry("a")]
    (tmp_path / "app.zip").write_bytes(zipped(*order, *left_out, content=b"x"))
    folder = write(tmp_path / "m", {"a.tf": "x", "b.tf": "x", "z/a": "x"})
    (folder / "z/a").chmod(0o700)
    assert pack_from(tmp_path / "app.zip", PurePosixPath("m")) == pack(folder)


def test_packs_nothing_out_of_an_unsafe_archive_or_without_a_file(tmp_path: Path) -> None:
    (tmp_path / "unsafe.zip").write_bytes(zipped(entry("m/a"), entry("../evil")))
    (tmp_path / "app.zip").write_bytes(zipped(entry("m/a"), entry("n/.terraform/x")))
    (tmp_path / "no.zip").write_bytes(b"no zip")
    for name, directory, why in (
        ("unsafe", "m", "'../evil' of the archive is refused"),
        ("app", "n", "there is no file in n"),
        ("app", "m/a/b", "there is no file"),
        ("no", "m", "not a zip"),
    ):
        with pytest.raises(ArchiveRefused, match=why):
            pack_from(tmp_path / f"{name}.zip", PurePosixPath(directory))


def test_unpacks_what_was_packed_for_the_owner_alone(tmp_path: Path) -> None:
    folder = write(tmp_path / "app", FILES)
    (folder / "run.sh").chmod(0o755)

    unpack(pack(folder), tmp_path / "new/copy")

    copy = tmp_path / "new/copy"
    assert pack(copy) == pack(folder)
    modes = {str(p.relative_to(copy)): p.stat().st_mode & 0o777 for p in copy.rglob("*")}
    assert modes["run.sh"] == modes["b"] == 0o700
    assert modes["main.tf"] == modes["b/a.txt"] == 0o600
    assert copy.stat().st_mode & 0o777 == 0o700


def test_unpacks_from_a_file_and_what_is_deflated(tmp_path: Path) -> None:
    deflated = entry("a/b.txt")
    deflated.compress_type = zipfile.ZIP_DEFLATED
    file = tmp_path / "module.zip"
    file.write_bytes(zipped(entry("a/", stat.S_IFDIR | 0o755), deflated, content=b"x" * 1000))
    unpack(file, tmp_path / "out")
    assert (tmp_path / "out/a/b.txt").read_bytes() == b"x" * 1000


@pytest.mark.parametrize(
    "evil",
    [
        entry("../evil"),
        entry("a/../../evil"),
        entry("/evil"),
        entry("a//evil"),
        entry("./evil"),
        entry("a\\..\\evil"),
        entry("evil\n"),
        entry("x" * 256),
        entry("/".join(["x" * 200] * 6)),
        entry("evil", stat.S_IFLNK | 0o777),
        entry("evil", stat.S_IFIFO | 0o644),
        entry("evil", stat.S_IFCHR | 0o644),
        entry("evil", stat.S_IFDIR | 0o755),
        entry("../evil/", stat.S_IFDIR | 0o755),
        entry("evil/", stat.S_IFLNK | 0o777),
    ],
    ids=lambda info: info.filename[:20].encode("unicode_escape").decode(),
)
def test_refuses_entries_that_lead_out_or_are_no_files(
    tmp_path: Path, evil: zipfile.ZipInfo
) -> None:
    with pytest.raises(ArchiveRefused, match="is refused"):
        unpack(zipped(entry("good"), evil), tmp_path / "a/b/out")
    assert list(tmp_path.iterdir()) == [], "nothing is written before everything is checked"


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a"), ("a/", "a")])
def test_refuses_a_name_that_is_file_and_folder(tmp_path: Path, names: tuple[str, str]) -> None:
    entries = [
        entry(name, (stat.S_IFDIR if name.endswith("/") else stat.S_IFREG) | 0o755)
        for name in names
    ]
    with pytest.raises(ArchiveRefused, match="both a file and a folder"):
        unpack(zipped(*entries), tmp_path / "out")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_refuses_the_same_name_twice(tmp_path: Path) -> None:
    with pytest.raises(ArchiveRefused, match="holds a twice"):
        unpack(zipped(entry("a"), entry("a")), tmp_path / "out")


def test_refuses_too_many_and_too_much(tmp_path: Path) -> None:
    bomb = entry("bomb")
    bomb.compress_type = zipfile.ZIP_DEFLATED
    data = zipped(bomb, content=b"\0" * 1_000_000)
    assert len(data) < 10_000
    with pytest.raises(ArchiveRefused, match="unpacks to 1000000 bytes, more than 999999"):
        unpack(data, tmp_path / "out", max_bytes=999_999)
    with pytest.raises(ArchiveRefused, match="has 1 entries, more than 0"):
        unpack(data, tmp_path / "out", max_files=0)


def test_a_size_that_is_a_lie_unpacks_to_no_more_than_was_counted(tmp_path: Path) -> None:
    bomb = entry("bomb")
    bomb.compress_type = zipfile.ZIP_DEFLATED
    data = bytearray(zipped(bomb, content=b"\0" * 1_000_000))
    central = data.index(b"PK\1\2")
    struct.pack_into("<I", data, central + 24, 10)
    with pytest.raises(ArchiveRefused, match="damaged"):
        unpack(bytes(data), tmp_path / "out", max_bytes=10)
    assert (tmp_path / "out/bomb").stat().st_size <= 10


@pytest.mark.parametrize("damage", [b"", b"not a zip", pytest.param(None, id="flipped")])
def test_refuses_what_is_damaged(tmp_path: Path, damage: bytes | None) -> None:
    data = bytearray(zipped(entry("a"), content=b"hello"))
    data[data.index(b"hello")] ^= 1
    with pytest.raises(ArchiveRefused, match="damaged or not a zip"):
        unpack(bytes(data) if damage is None else damage, tmp_path / "out")


def test_refuses_to_unpack_over_what_is_there(tmp_path: Path) -> None:
    write(tmp_path, {"precious": "x"})
    with pytest.raises(ArchiveRefused, match="not empty"):
        unpack(zipped(entry("a")), tmp_path)
