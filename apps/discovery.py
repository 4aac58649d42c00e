"""Finds the kinds of a config in its folder, and tells of those that are not supported yet."""

from dataclasses import dataclass

from apps.files import MAX_TOML_BYTES, FileRefused, Folder
from apps.findings import Findings
from apps.format import SUPPORTED_KINDS, UNSUPPORTED_KINDS
from apps.spelling import nearest
from apps.tables import Table, parse_toml

_FILES_ONLY = frozenset({"metadata", "sandbox"})
_FOLDERS_ONLY = frozenset({"components", "actions", "input_groups"})
_CLOSE_FOLDERS = {"component": "components", "action": "actions", "input": "inputs"}


@dataclass(frozen=True)
class Kinds:
    """What was read of the supported kinds."""

    files: dict[str, list["TomlFile"]]
    """By kind, in order of their path; empty files are left out."""
    unread: set[str]
    """The kinds of which a file could not be read or lies elsewhere: it may hold any name."""


@dataclass(frozen=True)
class TomlFile:
    """A TOML file that is not empty."""

    file: str
    table: Table


def read_kinds(folder: Folder, findings: Findings) -> Kinds:
    """Reads the files of each supported kind, and tells of all others."""
    kinds = Kinds({}, set())
    for kind in sorted(SUPPORTED_KINDS):
        tables = [(f, _read(folder, f, findings)) for f in _files_of(kind, folder, findings)]
        kinds.files[kind] = [TomlFile(file, table) for file, table in tables if table]
        if any(table is None for _, table in tables):
            kinds.unread.add(kind)
    is_unknown = not kinds.files["sandbox"] and "sandbox" not in kinds.unread
    if is_unknown and _has_misplaced_sandbox(folder, findings):
        kinds.unread.add("sandbox")
    _refuse_unsupported(folder, findings)
    _tell_of_unknown(folder, findings)
    return kinds


def _files_of(kind: str, folder: Folder, findings: Findings) -> list[str]:
    single, below = f"{kind}.toml", folder.below(kind, ".toml")
    if kind in _FILES_ONLY:
        return [single] if single in folder.files else []
    if single not in folder.files:
        return below
    if kind in _FOLDERS_ONLY:
        findings.error(single, "", f"{kind} lie in the folder `{kind}/`, one file each; move them")
        return below
    if below:
        findings.error(single, "", f"there is also the folder `{kind}/`; keep only one of the two")
    return [single]


def _has_misplaced_sandbox(folder: Folder, findings: Findings) -> bool:
    # Beside a `sandbox.toml`, these files are content, such as that of a module.
    used = [f for f in folder.below("sandbox", ".toml") if _is_not_empty(folder, f, findings)]
    if used:
        findings.error("sandbox/", "", "the sandbox is one file, `sandbox.toml`; move it there")
    return bool(used)


def _refuse_unsupported(folder: Folder, findings: Findings) -> None:
    for kind in sorted(UNSUPPORTED_KINDS):
        single = f"{kind}.toml"
        candidates = [single] if single in folder.files else []
        # Other files in a folder of that name are content that a TOML file refers to.
        candidates += folder.below(kind, ".toml")
        used = [file for file in candidates if _is_not_empty(folder, file, findings)]
        if not used:
            continue
        findings.error(
            single if single in used else f"{kind}/", "", f"`{kind}` is not supported yet"
        )
        if used[0] == single and len(used) > 1:
            findings.error(single, "", f"there is also the folder `{kind}/`; keep one of the two")


def _tell_of_unknown(folder: Folder, findings: Findings) -> None:
    kinds = SUPPORTED_KINDS | UNSUPPORTED_KINDS
    for file in sorted(folder.files):
        if "/" in file or not file.endswith(".toml"):
            continue
        kind = file.removesuffix(".toml")
        if kind.startswith("nuon."):
            findings.error(
                file, "", "is the old form of one file, which is not supported; write a folder: "
                "metadata.toml, inputs.toml, components/<name>.toml, …",
            )  # fmt: skip
        elif kind not in kinds:
            meant = nearest(kind, kinds)
            hint = f"; did you mean `{meant}`?" if meant else ""
            findings.warning(file, "", f"is no file of the format, it has no effect{hint}")
    for name, meant in _CLOSE_FOLDERS.items():
        if folder.below(name, ".toml"):
            findings.warning(f"{name}/", "", f"has no effect; did you mean `{meant}/`?")


def _is_not_empty(folder: Folder, file: str, findings: Findings) -> bool:
    try:
        text = folder.text(file, MAX_TOML_BYTES)
    except FileRefused as refused:
        findings.error(refused.file, "", refused.message)
        return False
    # Comments alone count as empty; whatever else it holds is not read.
    lines = (line.strip() for line in text.splitlines())
    return any(line and not line.startswith("#") for line in lines)


def _read(folder: Folder, file: str, findings: Findings) -> Table | None:
    try:
        text = folder.text(file, MAX_TOML_BYTES)
    except FileRefused as refused:
        findings.error(refused.file, "", refused.message)
        return None
    return parse_toml(file, text, findings)
