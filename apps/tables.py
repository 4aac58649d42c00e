"""Turns TOML into models, and what is wrong with it into problems."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from apps.format import Keys
from apps.problems import Problem, Severity
from apps.spelling import did_you_mean, nearest

Table = dict[str, Any]
M = TypeVar("M", bound=BaseModel)

_MAX_SHOWN = 80
_TYPES = {
    bool: "a bool",
    int: "an integer",
    float: "a float",
    str: "a string",
    list: "a list",
    dict: "a table",
}


class Findings:
    """The problems found so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def error(self, file: str, key: str, message: str, line: int | None = None) -> None:
        """Adds an error."""
        self._add(Problem(file, key, message, "error", line))

    def warning(self, file: str, key: str, message: str) -> None:
        """Adds a warning."""
        self._add(Problem(file, key, message, "warning"))

    def of(self, severity: Severity) -> list[Problem]:
        """The problems of one severity, by file and in the order they were found."""
        found = [problem for problem in self.problems if problem.severity == severity]
        return sorted(found, key=lambda problem: problem.file)

    def _add(self, problem: Problem) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def parse_toml(file: str, text: str, findings: Findings) -> Table | None:
    """The file's table; None, with a problem, if it is not TOML."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        findings.error(file, "", "is nested too deeply")
    except ValueError as error:
        where = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line = int(where[1]) if where else text.count("\n") + 1
        message = str(error).split(" (at ")[0]
        findings.error(file, "", f"is not valid TOML: {message}", line)
    return None


def check_keys(file: str, table: Table, keys: Keys, findings: Findings, at: str = "") -> None:
    """Tells of keys that the format does not know (a warning) or that are not supported yet."""
    for key, value in table.items():
        path = f"{at}.{key}" if at else key
        if key in keys.unsupported:
            findings.error(file, path, f"`{key}` is not supported yet; remove it")
        elif key not in keys.supported:
            meant = nearest(key, keys.all)
            hint = f"; did you mean `{meant}`?" if meant else ""
            findings.warning(file, path, f"unknown key, it has no effect{hint}")
        elif key in keys.tables:
            for place, below in _tables(value, path):
                check_keys(file, below, keys.tables[key], findings, place)


def to_model(
    model: type[M], file: str, table: Mapping[str, Any], findings: Findings, at: str = ""
) -> M | None:
    """The table as a model; None, with problems, if it does not fit."""
    try:
        return model.model_validate(table)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            findings.error(file, _key(at, item["loc"]), _message(item))
    except RecursionError:
        findings.error(file, at, "is nested too deeply")
    return None


def type_name(value: object) -> str:
    """What TOML calls the value's type, with its article."""
    return _TYPES.get(type(value), "a date or time")


def shown(value: object) -> str:
    """A value as it stands in a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _tables(value: object, path: str) -> list[tuple[str, Table]]:
    if isinstance(value, dict):
        return [(path, value)]
    items = value if isinstance(value, list) else []
    return [(f"{path}[{i}]", item) for i, item in enumerate(items) if isinstance(item, dict)]


def _key(at: str, location: Sequence[str | int]) -> str:
    path = at
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}" if path else part
    return path


def _message(item: Any) -> str:  # noqa: PLR0911 - a table of cases
    kind, context, given = item["type"], item.get("ctx", {}), item["input"]
    match kind:
        case "missing":
            return "is required"
        case "string_type" | "bool_type" | "int_type" | "dict_type" | "list_type" | "model_type":
            wanted = {"dict": "a table", "model": "a table", "list": "a list", "int": "an integer"}
            name = kind.removesuffix("_type")
            return f"must be {wanted.get(name, f'a {name}')}, not {type_name(given)}"
        case "string_pattern_mismatch":
            return f"{shown(given)} does not fit the pattern {context['pattern']}"
        case "literal_error":
            allowed = re.findall(r"'([^']*)'", str(context["expected"]))
            return f"{shown(given)} is not known{did_you_mean(str(given), allowed)}"
        case "value_error":
            return str(context["error"])
        case "invalid-json-value":
            return f"must be a string, number, bool, list or table, not {type_name(given)}"
        case _:
            text = str(item["msg"])
            return text[:1].lower() + text[1:]
