"""Reads what a Terraform module declares, to check a config against it before anything runs."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apps.reading.files import read_below

MAX_MODULE_FILE_BYTES = 1024 * 1024


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
class DeclaredModule:
    """What a module's files declare."""

    variables: Mapping[str, Variable] = field(default_factory=dict)
    outputs: Mapping[str, Output] = field(default_factory=dict)
    cloud_block: str | None = None
    """The file that has a `cloud` block, if there is one."""
    required_versions: tuple[tuple[str, str], ...] = ()
    """The Terraform versions that it requires, each with the file that says so."""
    providers: frozenset[str] = frozenset()
    """The providers that it requires or configures, as in `hashicorp/aws`."""


def read_module(folder: Path) -> DeclaredModule:
    """What the `*.tf` and `*.tf.json` files directly in `folder` declare.

    Raises:
        ModuleError: there is no such file, or one cannot be read or parsed.
    """
    files = sorted(path for path in folder.iterdir() if _is_module_file(path))
    if not files:
        raise ModuleError(".", "has no *.tf or *.tf.json file: it is not a Terraform module")
    variables: dict[str, Variable] = {}
    outputs: dict[str, Output] = {}
    versions: list[tuple[str, str]] = []
    providers: set[str] = set()
    cloud_block = None
    for path in files:
        document = _parse(path)
        for name, block in _labelled(document, "variable"):
            variables[name] = Variable(name, "default" in block, _is_true(block, "sensitive"))
        for name, block in _labelled(document, "output"):
            outputs[name] = Output(name, _is_true(block, "sensitive"))
        providers.update(f"hashicorp/{name}" for name, _ in _labelled(document, "provider"))
        for block in _blocks(document.get("terraform")):
            if "cloud" in block:
                cloud_block = path.name
            if "required_version" in block:
                versions.append((path.name, _unquoted(block["required_version"])))
            providers.update(_required_providers(block))
    return DeclaredModule(variables, outputs, cloud_block, tuple(versions), frozenset(providers))


def _is_module_file(path: Path) -> bool:
    is_named_so = path.name.endswith((".tf", ".tf.json")) and not path.name.startswith(".")
    return is_named_so and path.is_file() and not path.is_symlink()


def _parse(path: Path) -> dict[str, Any]:
    text = _text(path)
    try:
        found = json.loads(text) if path.name.endswith(".json") else _hcl(text)
    except json.JSONDecodeError as error:
        raise ModuleError(path.name, f"is not JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise ModuleError(path.name, "is nested too deeply") from None
    except Exception as error:
        # The parser raises errors of its grammar library, and any exception for its own bugs.
        line = getattr(error, "line", None)
        known = line if isinstance(line, int) and line > 0 else None
        raise ModuleError(path.name, f"is not valid HCL: {_summary(error)}", known) from None
    if not isinstance(found, dict):
        raise ModuleError(path.name, "is not a JSON object")
    return found


def _hcl(text: str) -> object:
    # Imported here, since importing it takes as long as checking a whole config without modules.
    import hcl2  # noqa: PLC0415

    return hcl2.loads(f"{text}\n")


def _text(path: Path) -> str:
    try:
        data = read_below(path.parent, path.name, MAX_MODULE_FILE_BYTES + 1)
    except OSError as error:
        raise ModuleError(path.name, f"cannot be read: {error.strerror}") from None
    if len(data) > MAX_MODULE_FILE_BYTES:
        raise ModuleError(path.name, f"is larger than {MAX_MODULE_FILE_BYTES // 1024} KiB")
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


def _required_providers(block: Mapping[str, Any]) -> Iterator[str]:
    for providers in _blocks(block.get("required_providers")):
        for name, requirement in providers.items():
            if name.startswith("__"):
                continue
            source = requirement.get("source") if isinstance(requirement, dict) else None
            yield _unquoted(source) if source else f"hashicorp/{_unquoted(name)}"


def _blocks(found: object) -> list[dict[str, Any]]:
    items = found if isinstance(found, list) else [found]
    return [item for item in items if isinstance(item, dict)]


def _is_true(block: Mapping[str, Any], key: str) -> bool:
    value = block.get(key)
    return value is True or (isinstance(value, str) and _unquoted(value) == "true")


def _unquoted(value: object) -> str:
    text = str(value)
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text
