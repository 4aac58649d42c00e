"""Whatever a tool leaves in the place of a file is checked before it is read."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from store.folder import FolderStore
from store.left_files import NoFileLeft, open_left, read_left


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def _link(path: Path) -> None:
    target = path.with_name("target")
    target.write_text("not yours")
    path.symlink_to(target)


NONE: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder": (lambda path: path.mkdir(), "is a folder, not a file"),
    "pipe": (os.mkfifo, "is a pipe, not a file"),
    "link": (_link, "is a link, not a file"),
    "link to nothing": (lambda path: path.symlink_to("nowhere"), "is a link, not a file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is a link, not a file"),
    "socket": (_socket, "is a socket, not a file"),
    "large": (lambda path: path.write_bytes(b"x" * 11), "has 11 bytes; at most 10 are"),
}


@pytest.mark.parametrize("kind", NONE)
def test_what_is_no_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    # The path of a socket may have a hundred characters at most.
    monkeypatch.chdir(tmp_path)
    make, why = NONE[kind]
    make(Path("left"))
    with pytest.raises(NoFileLeft, match=why) as caught:
        read_left(Path("left"), 10)
    assert str(caught.value).startswith(f"left {caught.value.why}")


def test_a_device_is_none() -> None:
    with pytest.raises(NoFileLeft, match="is a device"):
        open_left(Path("/dev/zero"))


def test_a_file_is_read_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "left").write_bytes(b"x" * 10)
    assert read_left(tmp_path / "left", 10) == b"x" * 10
    with pytest.raises(FileNotFoundError):
        read_left(tmp_path / "gone", 10)


def test_no_object_of_a_store_is_a_pipe_or_a_link(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    os.mkfifo(tmp_path / "state")
    with pytest.raises(NoFileLeft, match="a pipe"):
        store.get("state")
    (tmp_path / "other").symlink_to("/etc/hostname")
    with pytest.raises(NoFileLeft, match="a link"):
        store.get("other")
