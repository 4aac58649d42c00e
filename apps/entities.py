"""Reads each kind of file into its models: inputs, components, actions, metadata."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import BaseModel

from apps import format as words
from apps.config import (
    Action,
    Component,
    Input,
    InputGroup,
    Metadata,
    Sandbox,
    TerraformComponent,
)
from apps.discovery import Kinds, TomlFile
from apps.files import MAX_CONTENT_BYTES, FileRefused, Folder, resolve
from apps.findings import Findings
from apps.spelling import did_you_mean
from apps.tables import Table, check_keys, shown, to_model, type_name

M = TypeVar("M", bound=BaseModel)
M_co = TypeVar("M_co", bound=BaseModel, covariant=True)

_REMOTE_REFERENCES = ("file://", "http://", "https://", "git::", "git@", "git://")


@dataclass(frozen=True)
class Located(Generic[M_co]):
    """A model, and where it was written."""

    model: M_co
    file: str
    at: str = ""
    """The key of its table within the file; empty if it is the whole file."""

    def key(self, name: str) -> str:
        """The path of one of its keys within the file."""
        return f"{self.at}.{name}" if self.at else name


@dataclass
class Names:
    """The names of a kind, with those of entities that do not fit their model."""

    known: set[str] = field(default_factory=set)
    complete: bool = True
    """False if a file could not be read: then any name may be there."""

    def lacks(self, name: str) -> bool:
        """Whether the name is surely not there."""
        return self.complete and name not in self.known


@dataclass
class Entities:
    """All that was read of a config."""

    metadata: Located[Metadata] | None
    sandbox: Located[Sandbox] | None
    groups: list[Located[InputGroup]]
    inputs: list[Located[Input]]
    components: list[Located[Component]]
    actions: list[Located[Action]]
    names: dict[str, Names]
    """By kind: `group`, `input`, `component`, `action`."""
    lacks_sandbox: bool
    """Nothing was written of a sandbox, not even what cannot be used."""


def read_entities(kinds: Kinds, folder: Folder, findings: Findings) -> Entities:
    """The models of all files, with a problem for each thing that does not fit."""
    return _Reader(folder, findings).read(kinds)


class _Reader:
    def __init__(self, folder: Folder, findings: Findings) -> None:
        self._folder = folder
        self._findings = findings
        self._names = {kind: Names() for kind in ("group", "input", "component", "action")}

    def read(self, kinds: Kinds) -> Entities:
        self._note_unread(kinds)
        files = kinds.files
        groups, inputs = self._inputs(files["inputs"], files["input_groups"])
        return Entities(
            metadata=self._metadata(files["metadata"]),
            sandbox=self._sandbox(files["sandbox"]),
            groups=groups,
            inputs=inputs,
            components=self._each("component", files["components"], self._component),
            actions=self._each("action", files["actions"], self._action),
            names=self._names,
            lacks_sandbox=not files["sandbox"] and "sandbox" not in kinds.unread,
        )

    def _metadata(self, files: list[TomlFile]) -> Located[Metadata] | None:
        if not files:
            if not self._findings.tells_of("metadata.toml"):
                message = 'is missing or empty; it must hold at least version = "v2"'
                self._findings.error("metadata.toml", "", message)
            return None
        toml = files[0]
        check_keys(toml.file, toml.table, words.METADATA, self._findings)
        model = to_model(Metadata, toml.file, toml.table, self._findings)
        return Located(model, toml.file) if model else None

    def _sandbox(self, files: list[TomlFile]) -> Located[Sandbox] | None:
        if not files:
            return None
        file, table = files[0].file, files[0].table
        kind = table.get("type", "terraform")
        if not isinstance(kind, str) or kind not in words.SUPPORTED_SANDBOX_TYPES:
            self._findings.error(file, "type", _sandbox_type_refusal(kind))
            return None
        model = self._terraform(Sandbox, file, table, words.SANDBOX, "sandbox")
        return Located(model, file) if model else None

    def _inputs(
        self, files: list[TomlFile], group_files: list[TomlFile]
    ) -> tuple[list[Located[InputGroup]], list[Located[Input]]]:
        groups: list[Located[InputGroup]] = []
        inputs: list[Located[Input]] = []
        for toml in group_files:
            groups += self._model(InputGroup, "group", toml.file, toml.table, words.GROUP)
        for toml in files:
            # `group` is a list of tables in a file of many, and a name in a file of one input.
            has_many = any(isinstance(toml.table.get(k), list) for k in ("input", "group"))
            if toml.file != "inputs.toml" and not has_many:
                inputs += self._model(Input, "input", toml.file, toml.table, words.INPUT)
                continue
            check_keys(
                toml.file, toml.table, words.Keys(frozenset({"input", "group"})), self._findings
            )
            for at, table in self._list(toml, "group"):
                groups += self._model(InputGroup, "group", toml.file, table, words.GROUP, at)
            for at, table in self._list(toml, "input"):
                inputs += self._model(Input, "input", toml.file, table, words.INPUT, at)
        return groups, inputs

    def _list(self, toml: TomlFile, key: str) -> list[tuple[str, Table]]:
        found = toml.table.get(key, [])
        if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
            self._findings.error(toml.file, key, f"must be a list of tables: [[{key}]]")
            return []
        return [(f"{key}[{index}]", item) for index, item in enumerate(found)]

    def _each(
        self,
        kind: str,
        files: list[TomlFile],
        read: Callable[[TomlFile], M | None],
    ) -> list[Located[M]]:
        found: list[Located[M]] = []
        for toml in files:
            self._note_name(kind, toml.table)
            model = read(toml)
            if model is not None:
                found.append(Located(model, toml.file))
        return found

    def _component(self, toml: TomlFile) -> Component | None:
        file, table = toml.file, toml.table
        kind = table.get("type")
        if not isinstance(kind, str) or kind not in words.SUPPORTED_COMPONENT_TYPES:
            self._findings.error(file, "type", _type_refusal(kind))
            return None
        return self._terraform(
            TerraformComponent, file, table, words.TERRAFORM_COMPONENT, "components"
        )

    def _terraform(
        self, model: type[M], file: str, table: Table, keys: words.Keys, kind: str
    ) -> M | None:
        check_keys(file, table, keys, self._findings)
        for index, item in enumerate(_tables(table.get("var_file"))):
            self._bring_in(file, item, "contents", f"var_file[{index}].contents", kind)
        if "connected_repo" in table or not self._source_fits(file, table):
            return None
        return to_model(model, file, table, self._findings)

    def _source_fits(self, file: str, table: Table) -> bool:
        source = table.get("public_repo")
        if not isinstance(source, dict):
            return True  # told by the model
        repo, directory = source.get("repo"), source.get("directory")
        if isinstance(repo, str) and repo != ".":
            self._findings.error(
                file, "public_repo.repo", f"repository `{repo}` is not supported yet: copy the "
                'module into the config\'s folder and write repo = "."',
            )  # fmt: skip
            return False
        if not isinstance(directory, str):
            return True
        path = None if ".." in directory.split("/") else resolve("", directory)
        if path is None:
            problem = f"{shown(directory)} must be a folder within the config's folder"
        elif path not in self._folder.folders:
            known = {name for name in self._folder.folders if self._folder.below(name, ".tf")}
            problem = f"{shown(directory)} is no folder of the config{did_you_mean(path, known)}"
        else:
            source["directory"] = path
            return True
        self._findings.error(file, "public_repo.directory", problem)
        return False

    def _action(self, toml: TomlFile) -> Action | None:
        file, table = toml.file, toml.table
        check_keys(file, table, words.ACTION, self._findings)
        if table.get("enable_kube_config") is True:
            message = "true is not supported yet; remove it or set it to false"
            self._findings.error(file, "enable_kube_config", message)
        if isinstance(table.get("triggers"), list):
            table["triggers"] = self._supported_triggers(file, table["triggers"])
        for index, step in enumerate(_tables(table.get("steps"))):
            at = f"steps[{index}]"
            self._bring_in(file, step, "inline_contents", f"{at}.inline_contents", "actions")
            given = [key for key in ("command", "inline_contents") if key in step]
            if len(given) != 1 and not {"public_repo", "connected_repo"} & step.keys():
                which = "both are set" if given else "neither is set"
                message = f"needs exactly one of `command` and `inline_contents`; {which}"
                self._findings.error(file, at, message)
        model = to_model(Action, file, table, self._findings)
        if model:
            self._check_step_names(file, model)
        return model

    def _supported_triggers(self, file: str, triggers: list[object]) -> list[object]:
        found: list[object] = []
        for index, trigger in enumerate(triggers):
            kind = trigger.get("type") if isinstance(trigger, dict) else None
            if not isinstance(kind, str) or kind in words.SUPPORTED_TRIGGERS:
                found.append(trigger)
                continue
            # Something that fits takes its place, so that the index is right in messages.
            found.append({"type": "manual"})
            if kind in words.UNSUPPORTED_TRIGGERS:
                supported = ", ".join(sorted(words.SUPPORTED_TRIGGERS))
                message = f"trigger `{kind}` is not supported yet; supported: {supported}"
            else:
                known = words.SUPPORTED_TRIGGERS | words.UNSUPPORTED_TRIGGERS
                message = f"there is no trigger `{kind}`{did_you_mean(kind, known)}"
            self._findings.error(file, f"triggers[{index}].type", message)
        return found

    def _check_step_names(self, file: str, action: Action) -> None:
        seen: set[str] = set()
        for index, step in enumerate(action.steps):
            if step.name in seen:
                message = f"there is already a step `{step.name}`; names of steps are unique"
                self._findings.error(file, f"steps[{index}].name", message)
            seen.add(step.name)

    def _bring_in(self, file: str, table: Table, key: str, at: str, kind: str) -> None:
        """Replaces a reference to a file by the file's content."""
        value = table.get(key)
        if not isinstance(value, str) or "\n" in value.strip():
            return
        reference = value.strip()
        if reference.startswith(_REMOTE_REFERENCES):
            self._findings.error(
                file, at, f"references such as {shown(reference)} are not supported yet; copy the "
                "file into the config's folder and write ./<path>",
            )  # fmt: skip
        elif reference.startswith(("./", "../")):
            try:
                found = self._folder.find(reference, kind, "")
                if found is None:
                    raise FileRefused(
                        reference, f"is neither in `{kind}/` nor in the config's root"
                    )
                table[key] = self._folder.text(found, MAX_CONTENT_BYTES)
            except FileRefused as refused:
                self._findings.error(file, at, str(refused))

    def _model(  # noqa: PLR0913, PLR0917 - what, which, where and how it is to be read
        self, model: type[M], kind: str, file: str, table: Table, keys: words.Keys, at: str = ""
    ) -> list[Located[M]]:
        check_keys(file, table, keys, self._findings, at)
        self._note_name(kind, table)
        found = to_model(model, file, table, self._findings, at)
        return [Located(found, file, at)] if found else []

    def _note_unread(self, kinds: Kinds) -> None:
        unread = kinds.unread
        self._names["group"].complete = not unread & {"inputs", "input_groups"}
        self._names["input"].complete = "inputs" not in unread
        self._names["component"].complete = "components" not in unread
        self._names["action"].complete = "actions" not in unread

    def _note_name(self, kind: str, table: Table) -> None:
        name = table.get("name")
        if isinstance(name, str):
            self._names[kind].known.add(name)
        second = table.get("var_name")
        if kind == "component" and isinstance(second, str):
            self._names[kind].known.add(second)


def _tables(value: object) -> list[Table]:
    # The index counts every item, so that it is right in messages.
    return (
        [item if isinstance(item, dict) else {} for item in value]
        if isinstance(value, list)
        else []
    )


def _type_refusal(kind: object) -> str:
    if kind is None:
        return f"is required{did_you_mean('', words.SUPPORTED_COMPONENT_TYPES)}"
    if not isinstance(kind, str):
        return "must be a string"
    if kind in words.UNSUPPORTED_COMPONENT_TYPES:
        return f"component type `{kind}` is not supported yet; supported: terraform_module"
    known = words.SUPPORTED_COMPONENT_TYPES | words.UNSUPPORTED_COMPONENT_TYPES
    return f"there is no component type `{kind}`{did_you_mean(kind, known)}"


def _sandbox_type_refusal(kind: object) -> str:
    if not isinstance(kind, str):
        return f"must be a string, not {type_name(kind)}"
    if kind in words.UNSUPPORTED_SANDBOX_TYPES:
        return f"sandbox type `{kind}` is not supported yet; supported: terraform"
    known = words.SUPPORTED_SANDBOX_TYPES | words.UNSUPPORTED_SANDBOX_TYPES
    return f"there is no sandbox type `{kind}`{did_you_mean(kind, known)}"
