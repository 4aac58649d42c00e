"""Finds what a Terraform module needs outside its own folder, and the folder that holds all of it.

Published repositories keep modules side by side, and one calls another by `source = "../network"`
or reads a file by `"${path.module}/../files/x.yaml"`. A release holds the lowest folder that has
the module and all that it reaches, and Terraform works in the module's own folder within that.

The text is searched line by line. Finding too much makes a release larger, and does no other harm.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from apps.reading.files import read_below, resolve
from apps.terraform.module_files import module_files

_MAX_FILE_BYTES: Final = 1024 * 1024
_SOURCE: Final = re.compile(r"""(?<![\w.-])"?source"?\s*[=:]\s*"(\.{1,2}/[^"$]*)\"""")
_PATH: Final = re.compile(r"\$\{\s*path\.(module|root|cwd)\s*\}(/[^\"$%{}\n]*)")
_BLOCK: Final = re.compile(
    r"\s{0,2}(module|resource|data|variable|output|locals|provider|terraform)\b"
)
_COMMENT: Final = ("#", "//")


@dataclass(frozen=True)
class LeadsOut:
    """A call of a module that does not exist."""

    file: str
    """The file that calls it, relative to the top folder."""
    line: int
    source: str
    is_outside: bool
    """It would be outside of the repository or config; otherwise it is missing."""


@dataclass(frozen=True)
class _Line:
    file: str
    number: int
    text: str
    is_of_a_module: bool
    """The source in a block that calls a module."""


@dataclass
class Reach:
    """What a module needs, by paths relative to the top of the repository or config."""

    directory: str
    folders: set[str] = field(default_factory=set)
    """The module, and every folder beside it that it reaches."""
    leads_out: list[LeadsOut] = field(default_factory=list)

    @property
    def root(self) -> str:
        """The lowest folder that holds all of it; empty for the top."""
        return lowest(self.folders)


def reach(top: Path, directory: str) -> Reach:
    """What the module in a folder below `top` reaches; reads nothing outside of `top`.

    Args:
        top: The repository, or as much of it as was fetched; or the config's folder.
        directory: The module's folder, relative to `top`.
    """
    found = Reach(directory, {directory})
    waiting = [directory]
    while waiting:
        module = waiting.pop()
        for line in _lines(top, module):
            for reference in _SOURCE.findall(line.text):
                if line.is_of_a_module:
                    waiting += _called(found, top, module, line, reference)
                else:
                    _add_path(found, top, directory, reference)
            for anchor, reference in _PATH.findall(line.text):
                _add_path(found, top, module if anchor == "module" else directory, reference)
    return found


def lowest(folders: Iterable[str]) -> str:
    """The lowest folder that is, or contains, all of these."""
    common = []
    for names in zip(*(one.split("/") if one else [] for one in folders), strict=False):
        if len(set(names)) > 1:
            break
        common.append(names[0])
    return "/".join(common)


def within(path: str, folder: str) -> bool:
    """Whether a path is the folder or lies below it; everything lies below the empty path."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def _called(found: Reach, top: Path, module: str, line: _Line, reference: str) -> list[str]:
    """Adds a called module; returns it if its own files should be searched as well."""
    # `//` divides a package from a folder within it.
    target = resolve(module, reference.replace("//", "/"))
    is_there = target is not None and (top / target).is_dir()
    if not is_there:
        is_outside = target is None
        found.leads_out.append(LeadsOut(line.file, line.number, reference, is_outside))
    if target is None or target in found.folders:
        return []
    # A missing one may just not be fetched yet.
    found.folders.add(target)
    return [target] if is_there else []


def _add_path(found: Reach, top: Path, base: str, reference: str) -> None:
    target = resolve(base, reference.lstrip("/")) if ".." in reference.split("/") else None
    # A path out of the repository cannot have worked for users of the published module.
    if target is not None:
        found.folders.add(target if (top / target).is_dir() else posixpath.dirname(target))


def _lines(top: Path, module: str) -> Iterator[_Line]:
    """The lines of a module's own files, without comments."""
    for file in module_files(top / module):
        name, block = f"{module}/{file}" if module else file, ""
        for number, text in enumerate(_text(top, name).split("\n"), 1):
            header = _BLOCK.match(text)
            block = header[1] if header else block
            if not text.lstrip().startswith(_COMMENT):
                yield _Line(name, number, text, is_of_a_module=block == "module")


def _text(top: Path, name: str) -> str:
    try:
        return read_below(top, name, _MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        # Reported by the check that reads it as a module, or when it is packed.
        return ""
