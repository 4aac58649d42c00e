"""Looks for canaries in whatever may hold them: as they are, encoded, packed, or in a database."""

import base64
import bz2
import gzip
import io
import lzma
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from urllib.parse import quote

Found = dict[str, list[str]]
"""By canary, where it was found."""

_DEEPEST = 6
_UNREADABLE = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, tarfile.TarError)


class Canaries:
    """Values of which nobody has another copy, each for one way that a value can take."""

    def __init__(self) -> None:
        self.cores: dict[str, str] = {}

    def core(self, channel: str) -> str:
        """Letters and digits alone: every way of escaping a text leaves them as they are."""
        return self.cores.setdefault(channel, f"cnry{token_hex(8)}")

    def phrase(self, channel: str) -> str:
        """One line, with what is escaped differently everywhere."""
        return f"{self.core(channel)} \"<&>'\\+%/${{x}} é"

    def lines(self, channel: str) -> str:
        """Several lines like those of a key file, each with a canary of its own."""
        wide = [self.core(f"{channel}, line {number}") * 3 for number in range(1, 4)]
        return "\n".join(["-----BEGIN CANARY-----", *wide, "-----END CANARY-----"])

    def needles(self, but: frozenset[str] = frozenset()) -> dict[str, frozenset[bytes]]:
        """What to look for, by channel; none of those that are left out."""
        return {name: _forms(core) for name, core in self.cores.items() if name not in but}


def _forms(core: str) -> frozenset[bytes]:
    data = core.encode()
    shifted = (base64.b64encode(b"\0" * n + data) for n in range(3))
    # Those groups of four that hold nothing of the neighbours.
    in_base64 = (one[-(-shift * 8 // 6) : len(one) - 4] for shift, one in enumerate(shifted))
    return frozenset(
        [data, data.upper(), data[::-1], data.hex().encode(), core.encode("utf-16-le"), *in_base64]
    )


def search(places: Mapping[str, bytes], needles: Mapping[str, frozenset[bytes]]) -> Found:
    """Which needles are in which places, also packed into them."""
    found: Found = {}
    for place, content in places.items():
        for where, layer in _layers(place, content, 0):
            for name, forms in needles.items():
                if any(form in layer for form in forms):
                    found.setdefault(name, []).append(where)
    return found


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, and each database's rows besides."""
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with suppress(FileNotFoundError):
                found[str(path)] = path.read_bytes()
                if found[str(path)].startswith(b"SQLite format 3\0"):
                    found[f"{path}, its rows"] = rows(path)
    return found


def rows(database: Path) -> bytes:
    """Everything that a database holds, also in its log: a value that is cut over pages is whole
    in its row alone. Read from a copy, so that whoever has it open is not disturbed."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        for suffix in ("", "-wal"):
            source = database.with_name(database.name + suffix)
            if source.exists():
                copy.with_name(copy.name + suffix).write_bytes(source.read_bytes())
        with closing(sqlite3.connect(copy)) as opened:
            return b"\n".join(_cells(opened))


def _cells(opened: sqlite3.Connection) -> Iterator[bytes]:
    tables = [
        name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type='table'")
    ]
    for table in tables:
        # Full-text tables have an engine of their own, and lie in plain tables besides.
        with suppress(sqlite3.OperationalError):
            for row in opened.execute(f'SELECT * FROM "{table}"'):
                yield b"|".join(c if isinstance(c, bytes) else str(c).encode() for c in row)


def _layers(place: str, content: bytes, depth: int) -> Iterator[tuple[str, bytes]]:
    yield place, content
    if depth == _DEEPEST:
        return
    for name, unpacked in _unpacked(content):
        yield from _layers(f"{place} > {name}", unpacked, depth + 1)


def _unpacked(content: bytes) -> Iterator[tuple[str, bytes]]:
    """What is packed in it, by its first bytes."""
    for magic, unpack in _PACKED.items():
        if content.startswith(magic):
            with suppress(*_UNREADABLE):
                yield "unpacked", unpack(content)
    if content.startswith(b"PK"):
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                yield member.filename, archive.read(member)
    if content[257:262] == b"ustar":
        with suppress(*_UNREADABLE), tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for entry in archive:
                opened = archive.extractfile(entry)
                yield entry.name, opened.read() if opened else b""


_PACKED: Mapping[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ": lzma.decompress,
    b"\x78\x9c": zlib.decompress,
}


def hidden_copies(core: str, folder: Path) -> dict[str, bytes]:
    """The same canary in every way in which the search must find it."""
    folder.mkdir()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as zipped:
            zipped.writestr("main.tf", f'x = "{core}"')
        entry = tarfile.TarInfo("module.zip")
        entry.size = len(inner.getvalue())
        inner.seek(0)
        archive.addfile(entry, inner)
    (folder / "layer").write_bytes(packed.getvalue())
    with closing(sqlite3.connect(folder / "straddling.db")) as database:
        database.execute("PRAGMA page_size = 512")
        database.execute("CREATE TABLE one (x BLOB)")
        database.execute("INSERT INTO one VALUES (?)", [b"-" * 5000 + core.encode() * 300])
        database.commit()
    for shift in range(3):
        (folder / f"basic-{shift}").write_bytes(
            base64.b64encode(b"u" * shift + core.encode() + b":p")
        )
    (folder / "url").write_text(f"https://x/?y={quote(f'a {core}&')}")
    (folder / "hex").write_text(core.encode().hex())
    (folder / "zlib").write_bytes(zlib.compress(core.encode()))
    return files(folder)


def snippets(places: Mapping[str, bytes], needles: Mapping[str, frozenset[bytes]]) -> list[str]:
    """What stands around each canary that is found, for whoever looks for the leak."""
    found = []
    for place, content in places.items():
        for where, layer in _layers(place, content, 0):
            for name, forms in needles.items():
                at = max(layer.find(form) for form in forms)
                if at >= 0:
                    found.append(f"{name} in {where}: {layer[max(0, at - 80) : at + 80]!r}")
    return found
