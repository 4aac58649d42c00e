"""Prints values into text as Go's `fmt` does for `%v`, which is what its templates use."""

import math
from collections.abc import Mapping
from decimal import Decimal


def go_text(value: object) -> str:
    """The text of a value that a template prints."""
    return "<no value>" if value is None else _text(value)


def _text(value: object) -> str:
    match value:
        case str():
            text = value
        case None:
            text = "<nil>"
        case bool():
            text = "true" if value else "false"
        case float():
            text = _float(value)
        case Mapping():
            pairs = (f"{key}:{_text(value[key])}" for key in sorted(value))
            text = f"map[{' '.join(pairs)}]"
        case list() | tuple():
            text = f"[{' '.join(_text(item) for item in value)}]"
        case _:
            text = str(value)
    return text


def _float(value: float) -> str:
    """As Go's `%g` with the fewest digits: an exponent below 1e-4, and from 1e6 on."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    prefix = "-" if math.copysign(1, value) < 0 else ""
    if value == 0:
        return f"{prefix}0"
    decimal = Decimal(repr(abs(value))).normalize()
    mantissa, point = "".join(map(str, decimal.as_tuple().digits)), decimal.adjusted()
    if point < -4 or point >= 6:
        fraction = f".{mantissa[1:]}" if len(mantissa) > 1 else ""
        return f"{prefix}{mantissa[0]}{fraction}e{'-' if point < 0 else '+'}{abs(point):02d}"
    return prefix + format(decimal, "f")
