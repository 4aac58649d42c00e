"""Finds the files of each kind in a config's folder, and reports those of no kind."""

from dataclasses import dataclass

from apps.reading.files import FileRefused, Folder
from apps.reading.findings import Findings
from apps.reading.kinds import KINDS, Kind
from apps.reading.tables import Table, parse_toml
from apps.spelling import nearest

_CLOSE_FOLDERS = {
    "component": "components", "action": "actions", "input": "inputs", "install": "installs",
    "runbook": "runbooks", "policy": "policies", "permission": "permissions", "secret": "secrets",
}  # fmt: skip


_OF_OTHER_TOOLS = frozenset({"Cargo", "mise", "pyproject", "taplo"})


@dataclass(frozen=True)
class TomlFile:
    """A TOML file that is not empty."""

    file: str
    table: Table
    is_document: bool
    """It is the single file of its kind, not one in a folder."""


@dataclass(frozen=True)
class Kinds:
    """What was read of every kind."""

    files: dict[str, list[TomlFile]]
    """By kind, in order of their path; empty files are left out."""
    unread: set[str]
    """Kinds with a file that could not be read, or is elsewhere: any name may exist there."""


def read_kinds(folder: Folder, findings: Findings) -> Kinds:
    """Reads the files of each kind, and reports files of no kind."""
    found = Kinds({}, set())
    for name, kind in KINDS.items():
        found.files[name] = _files_of(name, kind, folder, findings, found.unread)
    _report_unknown(folder, findings)
    return found


def _files_of(
    name: str, kind: Kind, folder: Folder, findings: Findings, unread: set[str]
) -> list[TomlFile]:
    single, below = f"{name}.toml", folder.below(name, ".toml")
    document = _read(single, folder, findings) if single in folder.files else {}
    if document is None:
        unread.add(name)
    if kind.entity is None:
        if not document and single not in folder.files and below:
            _report_misplaced(name, below, folder, findings, unread)
        return [TomlFile(single, document, is_document=True)] if document else []
    tables = [(file, _read(file, folder, findings)) for file in below]
    if any(table is None for _, table in tables):
        unread.add(name)
    entities = [TomlFile(file, table, is_document=False) for file, table in tables if table]
    if not document:
        return entities
    if kind.document is None:
        findings.error(single, "", f"{name} belong in a folder `{name}/`, one file each; move them")
        return entities
    if entities:
        findings.error(single, "", f"there is also the folder `{name}/`; keep only one of the two")
        unread.add(name)
    return [TomlFile(single, document, is_document=True)]


def _report_misplaced(
    name: str, below: list[str], folder: Folder, findings: Findings, unread: set[str]
) -> None:
    """Reports a folder in place of a file; beside that file, the folder may hold contents."""
    if not any(_is_not_empty(file, folder, findings) for file in below):
        return
    if name == "sandbox":
        findings.error("sandbox/", "", "the sandbox is one file, `sandbox.toml`; move it there")
        unread.add(name)
    else:
        findings.warning(f"{name}/", "", f"has no effect; the format wants one file, `{name}.toml`")


def _report_unknown(folder: Folder, findings: Findings) -> None:
    for file in sorted(folder.files):
        if "/" in file or not file.endswith(".toml") or file.startswith("."):
            continue
        name = file.removesuffix(".toml")
        if name == "nuon" or name.startswith("nuon."):
            findings.error(
                file, "", "is the old single-file form, which is not supported; write a folder: "
                "metadata.toml, inputs.toml, components/<name>.toml, …",
            )  # fmt: skip
        elif name not in KINDS and name not in _OF_OTHER_TOOLS:
            meant = nearest(name, KINDS)
            hint = f"; did you mean `{meant}`?" if meant else ""
            findings.warning(file, "", f"is not a file of the format, and has no effect{hint}")
    for name, meant in _CLOSE_FOLDERS.items():
        if folder.below(name, ".toml"):
            findings.warning(f"{name}/", "", f"has no effect; did you mean `{meant}/`?")


def _is_not_empty(file: str, folder: Folder, findings: Findings) -> bool:
    text = _text(file, folder, findings)
    # A file with only comments counts as empty; its other contents are not read.
    lines = (line.strip() for line in (text or "").split("\n"))
    return any(line and not line.startswith("#") for line in lines)


def _read(file: str, folder: Folder, findings: Findings) -> Table | None:
    text = _text(file, folder, findings)
    return None if text is None else parse_toml(file, text, findings)


def _text(file: str, folder: Folder, findings: Findings) -> str | None:
    try:
        return folder.toml(file)
    except FileRefused as refused:
        findings.error(refused.file, "", refused.message)
        return None
