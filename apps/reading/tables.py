"""Turns TOML into models, and everything that is wrong with it into problems."""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from apps.config.base import Model
from apps.config.shape import inner_tables, shape
from apps.keys import below
from apps.reading.findings import Findings
from apps.reading.mending import mended
from apps.spelling import did_you_mean, nearest

Table = dict[str, Any]
M = TypeVar("M", bound=Model)

_MAX_SHOWN = 80
_TYPES = {
    bool: "a bool",
    int: "an integer",
    float: "a float",
    str: "a string",
    list: "a list",
    dict: "a table",
}


_MAX_DEPTH = 64
_MAX_VALUES = 50_000
_LONG_KEY = re.compile(
    r"""(?<![A-Za-z0-9_-])"""
    r"""(?:(?>[A-Za-z0-9_-]++|"(?>[^"\\\n]++|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){16}"""
)
"""Something with very many dots: the parser's time grows with the square of their number."""


def parse_toml(file: str, text: str, findings: Findings) -> Table | None:
    """The file's table; None, with a problem, if it is not TOML, or unreasonably nested."""
    long_key = _LONG_KEY.search(text)
    if long_key:
        line = text.count("\n", 0, long_key.start()) + 1
        findings.error(file, "", "has a key of more than 16 parts", line)
        return None
    if text.count(",") > 3 * _MAX_VALUES:
        findings.error(file, "", f"has more than {_MAX_VALUES} values")
        return None
    try:
        table = tomllib.loads(text)
        problem = _size_problem(table)
        if problem is None:
            return table
        findings.error(file, "", problem)
    except RecursionError:
        findings.error(file, "", "is nested too deeply")
    except ValueError as error:
        where = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line = int(where[1]) if where else text.count("\n") + 1
        message = str(error).split(" (at ")[0]
        findings.error(file, "", f"is not valid TOML: {message}", line)
    return None


def _size_problem(table: Table) -> str | None:
    """Why the file is larger than anybody would write; None if it is not."""
    level: list[Any] = [table]
    count = 0
    for _ in range(_MAX_DEPTH):
        level = [item for one in level if isinstance(one, dict | list) for item in _inner(one)]
        count += len(level)
        if count > _MAX_VALUES:
            return f"has more than {_MAX_VALUES} values"
        if not level:
            return None
    return f"is nested more than {_MAX_DEPTH} levels deep"


def _inner(value: Any) -> Collection[Any]:
    return value.values() if isinstance(value, dict) else value


def check_keys(
    model: type[Model], file: str, table: Table, findings: Findings, at: str = ""
) -> None:
    """Warns about each key, at any depth of the table, that the model does not know."""
    for path, message in _unknown_keys(model, table, at, above=()):
        findings.warning(file, path, message)


def _unknown_keys(
    model: type[Model], table: Table, at: str, above: Collection[str]
) -> Iterator[tuple[str, str]]:
    keys = shape(model)
    for key, value in table.items():
        path = below(at, key)
        slot = keys.get(key)
        if slot is None:
            meant = nearest(key, keys)
            hint = f"; did you mean `{meant}`?" if meant else ""
            hint = "; it belongs one level higher" if key in above else hint
            yield path, f"unknown key, it has no effect{hint}"
        elif slot.inner is not None:
            for place, inner in inner_tables(value, slot, path):
                yield from _unknown_keys(slot.inner, inner, place, keys)


def to_model(
    model: type[M], file: str, table: Mapping[str, Any], findings: Findings, at: str = ""
) -> M | None:
    """The table as a model, with a problem for each value that does not fit.

    What does not fit is replaced in the model, and no more is reported about it. None if too much
    would have to be replaced.
    """
    try:
        return model.model_validate(table)
    except ValidationError as error:
        items = error.errors(include_url=False)
        for item in items:
            findings.error(file, below(at, *item["loc"]), _message(item))
        found = mended(model, table, items)
        if found is not None:
            for one in found[1]:
                unsure = one.place[:-1] if one.by_any and len(one.place) > 1 else one.place
                findings.replaced(file, at, below(at, *unsure))
            return found[0]
    except RecursionError:
        findings.error(file, at, "is nested too deeply")
    return None


PATTERNS_IN_WORDS: Final = {
    r"^[a-zA-Z0-9][a-zA-Z0-9_-]{0,127}$":
        "be letters, digits, `_` and `-`, beginning with a letter or a digit",
    r"^[a-zA-Z_][a-zA-Z0-9_-]{0,127}$":
        "be letters, digits, `_` and `-`, beginning with a letter or `_`",
    r"^[a-zA-Z_][a-zA-Z0-9_]{0,127}$":
        "be letters, digits and `_`, beginning with a letter or `_`",
    r"^(aws|azure|gcp)(-[a-z0-9]+)?$": "be `aws`, `azure` or `gcp`",
    r"^nuon::(sandbox|(component|action):[^\s:]+)$":
        "be `nuon::sandbox`, `nuon::component:<name>` or `nuon::action:<name>`; `*` is any name",
    r"^v?\d+(\.\d+){0,2}$": "be a version, as in `1.11.4`",
}  # fmt: skip
"""The patterns of the models, in words."""


def type_name(value: object) -> str:
    """What TOML calls the value's type, with its article."""
    return _TYPES.get(type(value), "a date or time")


def shown(value: object) -> str:
    """A value for a message, cut if it is long."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _message(item: Any) -> str:  # noqa: PLR0911 - a table of cases
    kind, context, given = item["type"], item.get("ctx", {}), item["input"]
    match kind:
        case "missing":
            return "is required"
        case "string_type" | "bool_type" | "int_type" | "dict_type" | "list_type" | "model_type":
            wanted = {"dict": "a table", "model": "a table", "list": "a list", "int": "an integer"}
            name = kind.removesuffix("_type")
            is_number = isinstance(given, int | float) and not isinstance(given, bool)
            quotes = "; write it in quotes" if name == "string" and is_number else ""
            return f"must be {wanted.get(name, f'a {name}')}, not {type_name(given)}{quotes}"
        case "string_pattern_mismatch":
            words = PATTERNS_IN_WORDS.get(
                context["pattern"], f"fit the pattern {context['pattern']}"
            )
            return f"{shown(given)} must {words}"
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
