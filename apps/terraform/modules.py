"""Reads what a Terraform module declares, to check a config against it before anything runs."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from apps.reading.files import read_below
from apps.terraform.blocks import NotBlocks, declarations
from apps.terraform.module_files import is_override, module_files, of_opentofu, of_terraform

MAX_MODULE_FILE_BYTES = 1024 * 1024
_BUILT_IN: Final = frozenset({"hashicorp/terraform", "terraform.io/builtin/terraform"})
_PROVIDER_SOURCE: Final = re.compile(r'\bsource\b["\s]*[=:]\s*("[^"\n]*")')


class ModuleError(Exception):
    """A module cannot be read: `file` within the module, the reason, and the line if known."""

    def __init__(self, file: str, message: str, line: int | None = None) -> None:
        self.file = file
        self.message = message
        self.line = line
        super().__init__(f"{file}:{line}: {message}" if line else f"{file}: {message}")


@dataclass(frozen=True)
class Variable:
    """A variable that the module declares."""

    name: str
    has_default: bool
    sensitive: bool


@dataclass(frozen=True)
class Output:
    """An output that the module declares."""

    name: str
    sensitive: bool


@dataclass(frozen=True)
class Doubt:
    """A file that only Terraform itself can judge."""

    file: str
    message: str
    line: int | None = None


@dataclass(frozen=True)
class DeclaredModule:
    """What a module's files declare."""

    variables: Mapping[str, Variable] = field(default_factory=dict)
    outputs: Mapping[str, Output] = field(default_factory=dict)
    cloud_block: str | None = None
    """The file that has a `cloud` block, if there is one."""
    required_versions: tuple[tuple[str, str], ...] = ()
    """The Terraform versions that it requires, each with the file that says so."""
    providers: frozenset[str] = frozenset()
    """The providers that it requires, configures or uses, as in `hashicorp/aws`; without the one
    that is part of Terraform."""
    doubts: tuple[Doubt, ...] = ()
    """Files that could not be read in full."""
    is_complete: bool = True
    """False if it may declare more than was found."""
    is_for_opentofu: bool = False
    """Terraform reads none of its files."""


def read_module(folder: Path) -> DeclaredModule:
    """What the files directly in `folder` declare, whether Terraform or OpenTofu reads them.

    Raises:
        ModuleError: there is no such file, or one of them is certainly wrong.
    """
    names = module_files(folder)
    if not names:
        raise ModuleError(".", "has no *.tf or *.tf.json file: it is not a Terraform module")
    files = _Files(folder)
    terraform, opentofu = of_terraform(names), of_opentofu(names)
    if not terraform:
        return replace(files.declared(opentofu), required_versions=(), is_for_opentofu=True)
    module = files.declared(terraform)
    return module if opentofu == terraform else _for_either(module, files.declared(opentofu))


def _for_either(terraform: DeclaredModule, opentofu: DeclaredModule) -> DeclaredModule:
    """What holds whichever of the two deploys the module.

    A variable needs a value only if it needs one for both.
    """
    both = terraform.variables.keys() & opentofu.variables.keys()
    every = {**terraform.variables, **opentofu.variables}
    needed = {
        name
        for name in both
        if not (terraform.variables[name].has_default or opentofu.variables[name].has_default)
    }
    return replace(
        terraform,
        variables={
            name: replace(one, has_default=name not in needed) for name, one in every.items()
        },
        outputs={**terraform.outputs, **opentofu.outputs},
        cloud_block=terraform.cloud_block or opentofu.cloud_block,
        providers=terraform.providers | opentofu.providers,
        doubts=tuple(dict.fromkeys((*terraform.doubts, *opentofu.doubts))),
        is_complete=terraform.is_complete and opentofu.is_complete,
    )


class _Files:
    """The files of a module, each of which is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parsed: dict[str, tuple[dict[str, Any] | None, Doubt | None]] = {}

    def declared(self, names: Sequence[str]) -> DeclaredModule:
        """What the files declare together; those that override come last."""
        found = _Found()
        for name in names:
            document, doubt = self._of(name)
            if doubt is not None:
                found.doubts.append(doubt)
            if document is None:
                found.is_complete = False
            else:
                found.add(name, document)
        return found.module()

    def _of(self, name: str) -> tuple[dict[str, Any] | None, Doubt | None]:
        if name not in self._parsed:
            self._parsed[name] = _parse(self._folder / name)
        return self._parsed[name]


@dataclass
class _Found:
    """What the files read so far declare."""

    variables: dict[str, Variable] = field(default_factory=dict)
    outputs: dict[str, Output] = field(default_factory=dict)
    versions: list[tuple[str, str]] = field(default_factory=list)
    provider_names: set[str] = field(default_factory=set)
    provider_sources: dict[str, str] = field(default_factory=dict)
    cloud_block: str | None = None
    doubts: list[Doubt] = field(default_factory=list)
    is_complete: bool = True

    def add(self, name: str, document: Mapping[str, Any]) -> None:
        """Adds a file; an override changes what it mentions, and declares nothing new."""
        overrides = is_override(name)
        for label, block in _labelled(document, "variable"):
            new = Variable(label, has_default=False, sensitive=False)
            old = self.variables.get(label) if overrides else new
            if old is not None:
                has_default = old.has_default or "default" in block
                sensitive = _is_true(block, "sensitive", old.sensitive)
                self.variables[label] = Variable(label, has_default, sensitive)
        for label, block in _labelled(document, "output"):
            before = self.outputs.get(label) if overrides else Output(label, sensitive=False)
            if before is not None:
                sensitive = _is_true(block, "sensitive", before.sensitive)
                self.outputs[label] = Output(label, sensitive)
        self.provider_names.update(_used_providers(document))
        for block in _blocks(document.get("terraform")):
            if "cloud" in block:
                self.cloud_block = name
            if "required_version" in block:
                others = [] if overrides else self.versions
                self.versions = [*others, (name, _unquoted(block["required_version"]))]
            self.provider_sources.update(_required_providers(block))

    def module(self) -> DeclaredModule:
        names = self.provider_names | self.provider_sources.keys()
        sources = {self.provider_sources.get(name, f"hashicorp/{name}") for name in names}
        return DeclaredModule(
            self.variables, self.outputs, self.cloud_block, tuple(self.versions),
            frozenset(sources - _BUILT_IN), tuple(self.doubts), self.is_complete,
        )  # fmt: skip


def _parse(path: Path) -> tuple[dict[str, Any] | None, Doubt | None]:
    """What a file has, as far as it can be read, and what only Terraform can judge in it."""
    text = _text(path)
    if text is None:
        message = f"is larger than {MAX_MODULE_FILE_BYTES // 1024} KiB, and was not checked"
        return None, Doubt(path.name, message)
    try:
        found = json.loads(text) if path.name.endswith(".json") else _hcl(text)
    except json.JSONDecodeError as error:
        raise ModuleError(path.name, f"is not JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        return None, Doubt(path.name, "is nested too deeply to be checked here; Terraform decides")
    except Exception as error:
        # The parser raises errors of its grammar library, and any exception for its own bugs.
        return _divided(text), _doubt(path.name, error)
    if not isinstance(found, dict):
        raise ModuleError(path.name, "is not a JSON object")
    return found, None


def _divided(text: str) -> dict[str, Any] | None:
    try:
        return declarations(text)
    except (NotBlocks, RecursionError):
        return None


def _doubt(name: str, error: Exception) -> Doubt:
    line = getattr(error, "line", None)
    known = line if isinstance(line, int) and line > 0 else None
    return Doubt(
        name, f"cannot be read here ({_summary(error)}); Terraform decides whether it is valid",
        known,
    )  # fmt: skip


def _hcl(text: str) -> object:
    # Imported here, since importing it takes as long as checking a whole config without modules.
    import hcl2  # noqa: PLC0415

    return hcl2.loads(f"{text}\n")


def _text(path: Path) -> str | None:
    """The text of a file; None if it is too large."""
    try:
        data = read_below(path.parent, path.name, MAX_MODULE_FILE_BYTES + 1)
    except OSError as error:
        raise ModuleError(path.name, f"cannot be read: {error.strerror}") from None
    if len(data) > MAX_MODULE_FILE_BYTES:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModuleError(path.name, "is not UTF-8") from None


def _summary(error: Exception) -> str:
    token = getattr(error, "token", None)
    if token is not None:
        found = str(token).strip().split("\n")[0]
        return f"unexpected {found[:60]!r}" if found else "unexpected end of the file"
    return str(error).split("\n", maxsplit=1)[0] or type(error).__name__


def _labelled(document: Mapping[str, Any], kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The blocks with one label, as HCL or JSON holds them."""
    for group in _blocks(document.get(kind)):
        for label, body in group.items():
            for block in _blocks(body):
                yield _unquoted(label), block


def _used_providers(document: Mapping[str, Any]) -> Iterator[str]:
    """The names of the providers that are configured, or whose resources are used."""
    yield from (label for label, _ in _labelled(document, "provider"))
    for kind in ("resource", "data", "ephemeral"):
        yield from (label.partition("_")[0] for label, _ in _labelled(document, kind))


def _required_providers(block: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for providers in _blocks(block.get("required_providers")):
        for name, requirement in providers.items():
            if name.startswith("__"):
                continue
            source = _source(requirement)
            local = _unquoted(name)
            yield local, _unquoted(source) if source else f"hashicorp/{local}"


def _source(requirement: object) -> object:
    if isinstance(requirement, dict):
        return requirement.get("source")
    found = _PROVIDER_SOURCE.search(str(requirement))
    return found[1] if found else None


def _blocks(found: object) -> list[dict[str, Any]]:
    items = found if isinstance(found, list) else [found]
    return [item for item in items if isinstance(item, dict)]


def _is_true(block: Mapping[str, Any], key: str, otherwise: object = None) -> bool:
    value = block.get(key, otherwise)
    return value is True or (isinstance(value, str) and _unquoted(value) == "true")


def _unquoted(value: object) -> str:
    text = str(value)
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text
