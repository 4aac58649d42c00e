"""Replaces references by contents: a key's `./path` becomes the content of that file."""

from typing import Any

from apps.config.base import Mark, Model
from apps.config.shape import inner_tables, shape
from apps.config.sources import LOCAL_REFERENCES, MACHINE_REFERENCES, is_reference
from apps.keys import below
from apps.reading.addresses import AddressRefused, git_file, https_url, is_git
from apps.reading.fetched import Fetched, NotFetched
from apps.reading.files import FileRefused, Folder
from apps.reading.findings import Findings
from apps.reading.tables import Table
from apps.spelling import nearest


class Contents:
    """Replaces the references in tables by what they refer to."""

    def __init__(self, folder: Folder, findings: Findings, fetched: Fetched | None = None) -> None:
        """Searches `folder`, and `fetched` for what is elsewhere; reports to `findings`."""
        self._folder = folder
        self._findings = findings
        self._fetched = fetched

    def bring_in(
        self, model: type[Model], kind: str, file: str, table: Table, at: str = ""
    ) -> None:
        """Replaces every reference to a file, at any depth of the table, by the file's content.

        Args:
            model: The model that the table will become.
            kind: The kind of the file; paths are relative to the folder of that name.
            file: The file of the table.
            table: The table, which is changed.
            at: The path of the table within the file.
        """
        for key, slot in shape(model).items():
            if key not in table:
                continue
            path = below(at, key)
            if Mark.REFERENCE in slot.marks:
                table[key] = self._content(table[key], kind, file, path)
            elif Mark.FILE in slot.marks:
                self._look_for(table[key], kind, file, path)
            elif slot.inner is not None:
                for place, inner in inner_tables(table[key], slot, path):
                    self.bring_in(slot.inner, kind, file, inner, place)

    def _content(self, value: Any, kind: str, file: str, path: str) -> Any:
        """What a value becomes; a reference to nothing becomes empty, with a problem."""
        if not isinstance(value, str) or not is_reference(value):
            return value
        reference = value.strip()
        if reference.startswith(MACHINE_REFERENCES):
            message = "names a file on one machine; copy it into the config, and write ./<path>"
            self._findings.error(file, path, message)
            return ""
        if not reference.startswith(LOCAL_REFERENCES):
            return self._remote(value, file, path)
        try:
            found = self._found(reference, kind, file)
            content = self._folder.content(found)
        except FileRefused as refused:
            self._findings.error(file, path, str(refused))
            return ""
        self._findings.brought_in(file, path, found)
        return _lines_by_lf(content)

    def _look_for(self, value: Any, kind: str, file: str, path: str) -> None:
        """Reports a file that is named but missing."""
        if not isinstance(value, str) or not value.strip().startswith(LOCAL_REFERENCES):
            return
        try:
            self._found(value.strip(), kind, file)
        except FileRefused as refused:
            self._findings.error(file, path, str(refused))

    def _found(self, reference: str, kind: str, file: str) -> str:
        """The file in the config that a reference names.

        Raises:
            FileRefused: there is none.
        """
        bases = [base for base in (kind, _ALSO.get(kind)) if base in self._folder.folders]
        found = self._folder.find(reference, *bases, "", file.rpartition("/")[0])
        if found is None:
            places = "".join(f"`{base}/`, " for base in bases).removesuffix(", ")
            where = f"neither in {places} nor in" if bases else "not in"
            hint = self._meant(reference, [*bases, ""])
            raise FileRefused(reference, f"is {where} the config's root{hint}")
        return found

    def _meant(self, reference: str, bases: list[str]) -> str:
        """The similar file that was probably meant, as a reference would name it."""
        names = {
            file.removeprefix(f"{base}/" if base else "")
            for base in bases
            for file in (self._folder.below(base) if base else self._folder.files)
        }
        close = nearest(reference.removeprefix("./"), names)
        return f"; did you mean `./{close}`?" if close else ""

    def _remote(self, value: str, file: str, path: str) -> str:
        """What was fetched for a reference; the reference itself if nothing was fetched yet."""
        reference = value.strip()
        try:
            if is_git(reference):
                git_file(reference)
            else:
                https_url(reference)
        except AddressRefused as refused:
            self._findings.error(file, path, str(refused))
            return ""
        found = self._fetched.texts.get(reference) if self._fetched else None
        if found is None:
            return value
        if isinstance(found, NotFetched):
            self._findings.error(file, path, found.message)
            return ""
        self._findings.brought_in(file, path, found.name)
        return _lines_by_lf(found.text)


def _lines_by_lf(text: str) -> str:
    """A text as it would be if it were written in TOML, where lines end in LF.

    A shell takes the CR of CRLF as part of the line: a script's outputs would be in another file.
    """
    return text.replace("\r\n", "\n")


_ALSO = {"break_glass": "permissions", "permissions/policies": "permissions"}
"""Other folders to search for the paths of a kind: roles may be of two kinds."""
