"""The functions that templates may call: text/template's own, and those of sprig 3.3.0.

A function takes plain values and returns one; it knows neither the data nor what is sensitive. Its
errors never hold a value, its result is always the same, and its size and time are limited.
"""

from collections.abc import Mapping

from apps.templates.errors import FunctionError
from apps.templates.functions import (
    builtins,
    casing,
    dates,
    defaults,
    encoding,
    float_arithmetic,
    json_text,
    lists,
    maps,
    numbers,
    regexes,
    strings,
    urls,
    versions,
    words,
)
from apps.templates.functions.builtins import truth
from apps.templates.functions.function import Function
from apps.templates.functions.refused import REFUSED
from apps.templates.limits import check_text

__all__ = ["FUNCTIONS", "REFUSED", "Function", "truth"]

_MODULES = (
    builtins, casing, dates, defaults, encoding, float_arithmetic, json_text, lists, maps, numbers,
    regexes, strings, urls, versions, words,
)  # fmt: skip


def _bounded(function: Function) -> Function:
    """The function, with limited text, and raising no error but FunctionError."""

    def call(*arguments: object) -> object:
        try:
            result = function.call(*arguments)
        except RecursionError:
            raise FunctionError("a value is nested too deep") from None
        if isinstance(result, str):
            check_text(len(result))
        return result

    return Function(call, function.least, function.most)


FUNCTIONS: Mapping[str, Function] = {
    name: _bounded(function) for module in _MODULES for name, function in module.FUNCTIONS.items()
}
"""By name."""
