"""JSON as Go's encoding/json reads and writes it."""

import json
import math
import re
from collections.abc import Callable, Mapping

from apps.templates.errors import FunctionError
from apps.templates.functions.function import ANY, STRING, Function, typed
from apps.templates.go_types import List, Map, Opaque, is_nil, type_of
from apps.templates.limits import Budget, check_text
from apps.templates.number_formats import float_text, shortest_digits

_HALF = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r'[\x00-\x1f"\\\u2028\u2029\ud800-\udfff]')
_ESCAPED_HTML = re.compile(r'[\x00-\x1f"\\\u2028\u2029<>&\ud800-\udfff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r",
          "\t": "\\t"}  # fmt: skip


def _from_json(text: str) -> object:
    """The value of a JSON text; nil if it is none."""
    try:
        return _must_from_json(text)
    except _NotJson:
        return None


class _NotJson(FunctionError):
    """The text is not JSON: which `fromJson` overlooks, and `mustFromJson` does not."""


def _must_from_json(text: str) -> object:
    try:
        value = json.loads(
            _HALF.sub("\ufffd", text), parse_int=_number, parse_float=_number,
            parse_constant=_refused_constant,
        )  # fmt: skip
    except ValueError as error:
        # What the decoder says holds no text of the document, but where it is wrong.
        where = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        raise _NotJson(f"the text is not JSON{where}") from None
    except RecursionError:
        raise FunctionError("the JSON is nested too deep") from None
    return _checked(value, Budget(), 0)


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def _refused_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _checked(value: object, budget: Budget, depth: int) -> object:
    """The value, not too deep, with halves of surrogate pairs replaced."""
    if isinstance(value, dict):
        budget.visit(len(value), depth)
        return Map((_whole(key), _checked(item, budget, depth + 1)) for key, item in value.items())
    if isinstance(value, list):
        budget.visit(len(value), depth)
        return List(_checked(item, budget, depth + 1) for item in value)
    return _whole(value) if isinstance(value, str) else value


def _whole(text: str) -> str:
    return text if text.isascii() else _HALF.sub("\ufffd", text)


class _Writer:
    def __init__(self, *, html: bool, indent: str = "") -> None:
        self._escaped = _ESCAPED_HTML if html else _ESCAPED
        self._indent = indent
        self._budget = Budget()
        self._length = 0

    def written(self, value: object, depth: int = 0) -> str:
        text = self._written(value, depth)
        if depth > 0 or not isinstance(value, Mapping | list | tuple):
            self._length += len(text)
            check_text(self._length)
        return text

    def _written(self, value: object, depth: int) -> str:  # noqa: PLR0911 - a table of types
        match value:
            case bool():
                return "true" if value else "false"
            case int():
                return str(int(value))
            case float():
                return json_number(value)
            case str():
                return self._string(value)
            case Mapping():
                self._budget.visit(len(value), depth)
                pairs = [
                    f"{self._string(key)}:{' ' if self._indent else ''}"
                    f"{self.written(value[key], depth + 1)}"
                    for key in sorted(value)
                ]
                return self._within("{", pairs, "}", depth)
            case list() | tuple() if not is_nil(value):
                self._budget.visit(len(value), depth)
                items = [self.written(item, depth + 1) for item in value]
                return self._within("[", items, "]", depth)
            case Opaque():
                return self._string(value.json_text())
        if is_nil(value):
            return "null"
        raise FunctionError(f"a {type_of(value)} cannot be written as JSON")

    def _within(self, begin: str, items: list[str], end: str, depth: int) -> str:
        if not items:
            return begin + end
        if not self._indent:
            return f"{begin}{','.join(items)}{end}"
        line = "\n" + self._indent * (depth + 1)
        check_text(sum(map(len, items)) + len(line) * len(items))
        return f"{begin}{line}{f',{line}'.join(items)}\n{self._indent * depth}{end}"

    def _string(self, text: str) -> str:
        return f'"{self._escaped.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if char in _SHORT:
        return _SHORT[char]
    if "\ud800" <= char <= "\udfff":
        return "\\ufffd"
    return f"\\u{ord(char):04x}"


def json_number(value: float) -> str:
    """A float in JSON: without an exponent unless it is very large or very small."""
    if not math.isfinite(value):
        raise _NotJson("JSON has no infinite numbers, and none that are not a number")
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return float_text(value, "f")
    digits, exponent = shortest_digits(value)
    sign = "-" if value < 0 else ""
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{exponent:+d}"


def _must(html: bool = True, indent: str = "") -> Callable[[object], str]:
    return lambda value: _Writer(html=html, indent=indent).written(value)


def _or_nothing(write: Callable[[object], str]) -> Callable[[object], str]:
    """The text, or none at all if the value has none in JSON."""

    def written(value: object) -> str:
        try:
            return write(value)
        except _NotJson:
            return ""

    return written


_PLAIN, _PRETTY, _RAW = _must(), _must(indent="  "), _must(html=False)

FUNCTIONS: Mapping[str, Function] = {
    "fromJson": typed(_from_json, STRING),
    "mustFromJson": typed(_must_from_json, STRING),
    "toJson": typed(_or_nothing(_PLAIN), ANY),
    "mustToJson": typed(_PLAIN, ANY),
    "toPrettyJson": typed(_or_nothing(_PRETTY), ANY),
    "mustToPrettyJson": typed(_PRETTY, ANY),
    "toRawJson": typed(_RAW, ANY),
    "mustToRawJson": typed(_RAW, ANY),
}
