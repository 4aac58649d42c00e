"""Reads the tables of every kind into models, with a problem for each thing that does not fit."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Final

from apps.config.actions import Action, KubernetesContext, Runbook
from apps.config.base import Model
from apps.config.components import ComponentFields, HelmChart
from apps.config.documents import PermissionsFile
from apps.config.inputs import Input, InputGroup, Secret
from apps.config.policies import Policy
from apps.config.roles import NamedPolicy, Role
from apps.config.shape import Slot, inner_tables, shape
from apps.config.sources import Source, is_reference
from apps.config.terraform import Sandbox
from apps.config.vendor import Branch, EventRule, InstallConfig
from apps.keys import below, joined
from apps.reading.contents import Contents
from apps.reading.discovery import Kinds, TomlFile
from apps.reading.entities import Entities, Located
from apps.reading.fetched import Fetched
from apps.reading.files import Folder, resolve
from apps.reading.findings import Findings
from apps.reading.kinds import COMPONENTS, KINDS, NAMED_POLICIES, SANDBOXES
from apps.reading.tables import Table, check_keys, shown, to_model, type_name
from apps.spelling import did_you_mean

_NAMED: dict[type[Model], str] = {
    InputGroup: "group", Input: "input", Secret: "secret", ComponentFields: "component",
    Action: "action", Runbook: "runbook", Role: "role", NamedPolicy: "named policy",
    Policy: "policy", KubernetesContext: "context", InstallConfig: "install", Branch: "branch",
    EventRule: "rule",
}  # fmt: skip

_HOLDING: dict[str, tuple[str, ...]] = {
    "inputs": ("input", "group"), "input_groups": ("group",), "secrets": ("secret",),
    "components": ("component",), "actions": ("action",), "runbooks": ("runbook",),
    "permissions": ("role", "named policy"), "break_glass": ("role",), "policies": ("policy",),
    "kubernetes_contexts": ("context",), "installs": ("install",), "branch": ("branch",),
    "branches": ("branch",), "triggers": ("rule",),
}  # fmt: skip
"""What the names in each kind's files belong to."""


def read_entities(
    kinds: Kinds, folder: Folder, findings: Findings, fetched: Fetched | None = None
) -> Entities:
    """The models of all files; outside references become what was fetched for them, if any."""
    return _Reader(folder, findings, fetched).read(kinds)


@dataclass(frozen=True)
class _Written:
    """A table as it was read, and where it was."""

    kind: str
    file: str
    table: Table
    at: str = ""


class _Reader:
    def __init__(self, folder: Folder, findings: Findings, fetched: Fetched | None) -> None:
        self._folder = folder
        self._findings = findings
        self._contents = Contents(folder, findings, fetched)
        self._entities = Entities()
        self._unnamed: Counter[str] = Counter()
        """How many unnamed policies have got each name."""

    def read(self, kinds: Kinds) -> Entities:
        for kind in kinds.unread:
            for what in _HOLDING.get(kind, ()):
                self._entities.names[what].complete = False
        self._entities.lacks_sandbox = not kinds.files["sandbox"] and "sandbox" not in kinds.unread
        self._entities.lacks_runner = not kinds.files["runner"] and "runner" not in kinds.unread
        if not kinds.files["metadata"] and not self._findings.has_problem("metadata.toml"):
            message = 'is missing or empty; it must hold at least version = "v2"'
            self._findings.error("metadata.toml", "", message)
        for kind, files in kinds.files.items():
            for toml in files:
                self._file(kind, toml)
        return self._entities

    def _file(self, kind: str, toml: TomlFile) -> None:
        document, entity = KINDS[kind].document, KINDS[kind].entity
        if toml.file.startswith(f"{NAMED_POLICIES}/"):
            kind, document, entity = NAMED_POLICIES, None, NamedPolicy
        whole = _Written(kind, toml.file, toml.table)
        if document is not None and (toml.is_document or _holds_many(toml.table, document, entity)):
            self._document(document, whole)
        elif entity is not None:
            self._entity(entity, whole)

    def _document(self, document: type[Model], whole: _Written) -> None:
        """Reads a file that is one entity, or that has lists of named entities."""
        slots = {name: slot for name, slot in shape(document).items() if slot.inner in _NAMED}
        if not slots:
            self._entity(document, whole)
            return
        check_keys(document, whole.file, whole.table, self._findings)
        if document is PermissionsFile:
            _say_types(whole.table)
        for name, slot in slots.items():
            for part in self._parts(name, slot, whole) if name in whole.table else ():
                self._entity(slot.inner or document, part, keys_are_checked=True)

    def _parts(self, name: str, slot: Slot, whole: _Written) -> list[_Written]:
        value = whole.table[name]
        found = list(inner_tables(value, slot, name))
        wanted = len(value) if slot.form == "list" and isinstance(value, list) else 1
        if len(found) != wanted:
            form = f"a list of tables: [[{name}]]" if slot.form == "list" else "a table"
            self._findings.error(whole.file, name, f"must be {form}")
            return []
        return [_Written(whole.kind, whole.file, table, at) for at, table in found]

    def _entity(
        self, model: type[Model], written: _Written, *, keys_are_checked: bool = False
    ) -> None:
        file, table, at = written.file, written.table, written.at
        self._note_names(model, table)
        exact = self._exact(model, file, table)
        if exact is None:
            return
        if exact is Role and "type" not in table and written.kind == "permissions":
            self._require_role_type(written)
        self._prepare(exact, written)
        if not keys_are_checked:
            check_keys(exact, file, table, self._findings, at)
        self._contents.bring_in(exact, written.kind, file, table, at)
        found = to_model(exact, file, table, self._findings, at)
        if found is not None:
            self._entities.add(Located(found, file, at, written.kind))

    def _require_role_type(self, written: _Written) -> None:
        if written.at.startswith("custom_roles"):
            return
        message = "is required: `provision`, `maintenance`, `deprovision` or `custom`"
        self._findings.error(written.file, below(written.at, "type"), message)

    def _exact(self, model: type[Model], file: str, table: Table) -> type[Model] | None:
        """The model for a component's or sandbox's type; None, with a problem, if there is none."""
        kind: Any
        known: dict[str, type[Model]]
        if model is ComponentFields:
            kind, known, what = table.get("type"), dict(COMPONENTS), "component type"
        elif model is Sandbox:
            kind, known, what = table.get("type", "terraform"), dict(SANDBOXES), "sandbox type"
        else:
            return model
        if kind is None:
            problem = f"is required{did_you_mean('', known)}"
        elif not isinstance(kind, str):
            problem = f"must be a string, not {type_name(kind)}"
        elif kind not in known:
            problem = f"there is no {what} `{kind}`{did_you_mean(kind, known)}"
        else:
            return known[kind]
        self._findings.error(file, "type", problem)
        return None

    def _prepare(self, model: type[Model], written: _Written) -> None:
        """Changes a table to the form of its model."""
        table, keys = written.table, shape(model)
        if table.get("type") == "external_image" and issubclass(model, ComponentFields):
            table["type"] = "container_image"
        if written.kind == "break_glass":
            table["type"] = "break_glass"
        if model is Policy and "name" not in table:
            table["name"] = self._policy_name(written)
        if model is InstallConfig and isinstance(table.get("inputs"), dict):
            table["inputs"] = [table["inputs"]]
        if model is HelmChart:
            for _, values in inner_tables(table.get("values_file"), keys["values_file"], ""):
                _take_path_as_contents(values)
        if model is Runbook:
            for _, step in inner_tables(table.get("steps"), keys["steps"], ""):
                _take_newer_words(step)
        if model is Action:
            triggers = inner_tables(table.get("triggers"), keys["triggers"], "triggers")
            for at, trigger in triggers:
                self._take_newer_trigger(written, at, trigger)
        self._prepare_sources(model, written.file, table, written.at)

    def _take_newer_trigger(self, written: _Written, at: str, trigger: Table) -> None:
        older = trigger.get("type")
        newer = _OLDER_TRIGGERS.get(older) if isinstance(older, str) else None
        if newer is not None:
            trigger["type"] = newer
            message = f"`{older}` is an older name; write `{newer}`"
            self._findings.warning(written.file, below(joined(written.at, at), "type"), message)

    def _policy_name(self, written: _Written) -> str:
        """A name for an unnamed policy: that of its contents' file, or of its own file."""
        contents = written.table.get("contents")
        file = contents if isinstance(contents, str) and is_reference(contents) else written.file
        name = PurePosixPath(file).stem
        self._unnamed[name] += 1
        return name if self._unnamed[name] == 1 else f"{name}-{self._unnamed[name]}"

    def _prepare_sources(self, model: type[Model], file: str, table: Table, at: str) -> None:
        for key, slot in shape(model).items():
            if slot.inner is None or key not in table:
                continue
            for place, inner in inner_tables(table[key], slot, below(at, key)):
                if slot.inner is Source:
                    self._prepare_source(file, inner, place)
                else:
                    self._prepare_sources(slot.inner, file, inner, place)

    def _prepare_source(self, file: str, source: Table, at: str) -> None:
        """Normalizes the directory of a source, and checks that one in the config exists."""
        if "directory" not in source and source.get("repo") not in (None, "."):
            # Published configs leave it out when they mean the root.
            source["directory"] = "."
            message = 'is required; the root of the repository is used: write directory = "."'
            self._findings.warning(file, below(at, "directory"), message)
        directory = source.get("directory")
        if source.get("repo") != "." or not isinstance(directory, str):
            return
        path = None if ".." in directory.split("/") else resolve("", directory)
        if path is None:
            problem = f"{shown(directory)} must be a folder inside the config's folder"
        elif path and path not in self._folder.folders:
            hint = did_you_mean(path, self._folders_with_files)
            problem = f"{shown(directory)} is not a folder in the config{hint}"
        else:
            source["directory"] = path or "."
            return
        self._findings.error(file, below(at, "directory"), problem)

    @cached_property
    def _folders_with_files(self) -> frozenset[str]:
        return frozenset(name.rpartition("/")[0] for name in self._folder.files) - {""}

    def _note_names(self, model: type[Model], table: Table) -> None:
        what = _NAMED.get(model)
        if what is None:
            return
        for key in ("name", "var_name"):
            name = table.get(key)
            if isinstance(name, str) and (key == "name" or what == "component"):
                self._entities.names[what].known.add(name)


def _holds_many(table: Table, document: type[Model], entity: type[Model] | None) -> bool:
    """Whether a file in a folder has lists, as the kind's single file does."""
    own = shape(entity) if entity is not None else {}
    return any(
        isinstance(table.get(name), list) and (name not in own or own[name].form != "list")
        for name, slot in shape(document).items()
        if slot.form == "list"
    )


def _say_types(table: Table) -> None:
    """Roles in the single file get their type from the key that they are under."""
    for key, role in table.items():
        kind = key.removesuffix("_role")
        if isinstance(role, dict) and kind != key:
            role["type"] = kind


def _take_path_as_contents(values: Table) -> None:
    """`path` (or `source`) names a file that has the values."""
    path = values.get("path") or values.get("source")
    if isinstance(path, str) and not values.get("contents"):
        is_reference = path.startswith(("./", "../")) or "://" in path or "::" in path
        values["contents"] = path if is_reference else f"./{path}"


def _take_newer_words(step: Table) -> None:
    if step.get("type") == "deploy":
        step["type"] = "component_deploy"
    # Whatever its name says, it has always meant the components that depend on this one.
    if step.get("deploy_dependencies") is True:
        step["deploy_dependents"] = True


_OLDER_TRIGGERS: Final = {
    "pre-component-deploy": "pre-deploy-component",
    "post-component-deploy": "post-deploy-component",
}
