"""sprig's arithmetic of floats, which counts in decimals: 0.1 and 0.2 make 0.3."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from apps.templates.errors import FunctionError
from apps.templates.functions.function import ANY, Function, typed
from apps.templates.functions.numbers import to_float

if TYPE_CHECKING:
    from fractions import Fraction

_PLACES = 10**16
"""A quotient is rounded to sixteen places after the point."""


def _exact(value: object) -> "Fraction":
    from fractions import Fraction  # noqa: PLC0415 - few templates need it

    number = to_float(value)
    if not math.isfinite(number):
        raise FunctionError("cannot calculate with an infinite number, or what is not a number")
    return Fraction(repr(number))


def _folded(
    operation: Callable[["Fraction", "Fraction"], "Fraction"], first: object, *values: object
) -> float:
    result = _exact(first)
    for value in values:
        result = operation(result, _exact(value))
    try:
        return float(result)
    except OverflowError:
        return math.inf if result > 0 else -math.inf


def _divided(dividend: "Fraction", divisor: "Fraction") -> "Fraction":
    if divisor == 0:
        raise FunctionError("division by zero")
    from fractions import Fraction  # noqa: PLC0415 - few templates need it

    quotient = dividend / divisor
    # Halves are rounded away from zero.
    scaled = (abs(quotient) * _PLACES * 2 + 1) // 2
    return Fraction(scaled if quotient >= 0 else -scaled, _PLACES)


FUNCTIONS: Mapping[str, Function] = {
    "add1f": typed(lambda value: _folded(lambda a, b: a + b, value, 1.0), ANY),
    "addf": typed(lambda *values: _folded(lambda a, b: a + b, 0.0, *values), rest=ANY),
    "subf": typed(lambda *values: _folded(lambda a, b: a - b, *values), ANY, rest=ANY),
    "mulf": typed(lambda *values: _folded(lambda a, b: a * b, *values), ANY, rest=ANY),
    "divf": typed(lambda *values: _folded(_divided, *values), ANY, rest=ANY),
}
