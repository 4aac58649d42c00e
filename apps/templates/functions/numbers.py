"""sprig's arithmetic, on 64 bits, and its conversions of numbers."""

import math
import re
from collections.abc import Callable, Mapping

from apps.templates.errors import FunctionError
from apps.templates.functions.function import ANY, FLOAT, INT, STRING, Function, typed
from apps.templates.go_types import Int64, Ints, int64
from apps.templates.limits import MAX_ITEMS, check_items
from apps.templates.printing import printed

_LEAST, _MOST = -(2**63), 2**63 - 1
_DECIMAL = re.compile(r"[+-]?[0-9]+")
_WHOLE = re.compile(
    r"[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO]?(?:_?[0-7])+|0|[1-9](?:_?[0-9])*)"
)
_FLOAT = re.compile(
    r"[+-]?(?:(?:[0-9](?:_?[0-9])*)?(?:\.(?:[0-9](?:_?[0-9])*)?)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?"
    r"|inf|infinity|nan)",
    re.IGNORECASE,
)
_HEX_FLOAT = re.compile(r"[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?[0-9]+")
_TRAILING_ZEROS = re.compile(r"\.0+\Z")


def to_int(value: object) -> int:
    """Any value as an integer, or 0 if it is not one: Go's `cast.ToInt`."""
    match value:
        case bool():
            return int(value)
        case int():
            return int64(int(value))
        case float():
            return _truncated(value)
        case str():
            return parsed_int(_TRAILING_ZEROS.sub("", value)) or 0
    return 0


def _truncated(value: float) -> int:
    # What does not fit is the least number on the machines that Go's own results are from.
    if not math.isfinite(value) or not _LEAST <= value < 2**63:
        return _LEAST
    return int(value)


def parsed_int(text: str) -> int | None:
    """An integer as Go's ParseInt reads it with the base that its prefix says, or None."""
    if len(text) > 100 or not _WHOLE.fullmatch(text):
        return None
    digits = text.lstrip("+-").replace("_", "").lower()
    if digits[:2] in ("0x", "0b", "0o"):
        value = int(digits, 0)
    elif len(digits) > 1 and digits[0] == "0":
        value = int(digits, 8)
    else:
        value = int(digits)
    value = -value if text[0] == "-" else value
    return value if _LEAST <= value <= _MOST else None


def to_float(value: object) -> float:
    """Any value as a float, or 0 if it is not one: Go's `cast.ToFloat64`."""
    match value:
        case bool() | int() | float():
            return float(value)
        case str():
            return _parsed_float(value) or 0.0
    return 0.0


def _parsed_float(text: str) -> float | None:
    if _HEX_FLOAT.fullmatch(text):
        try:
            return float.fromhex(text)
        except (ValueError, OverflowError):
            return None
    if not _FLOAT.fullmatch(text):
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    # A number that is too large is an error in Go; `inf` is not.
    return None if math.isinf(value) and "n" not in text.lower() else value


def _atoi(text: str) -> int:
    if len(text) > 100 or not _DECIMAL.fullmatch(text):
        return 0
    # Go gives the nearest number for one that is out of range, besides an error that is ignored.
    return max(_LEAST, min(_MOST, int(text)))


def _to_decimal(value: object) -> Int64:
    text = printed(value)
    if len(text) > 100 or not re.fullmatch(r"[+-]?[0-7]+", text):
        return Int64(0)
    number = int(text, 8)
    return Int64(number if _LEAST <= number <= _MOST else 0)


def _add(*values: object) -> Int64:
    return Int64(int64(sum(map(to_int, values))))


def _multiply(first: object, *values: object) -> Int64:
    product = to_int(first)
    for value in values:
        product = int64(product * to_int(value))
    return Int64(product)


def _divide(dividend: object, divisor: object) -> Int64:
    by = _divisor(divisor)
    whole = to_int(dividend)
    quotient = abs(whole) // abs(by)
    return Int64(int64(quotient if (whole < 0) == (by < 0) else -quotient))


def _modulo(dividend: object, divisor: object) -> Int64:
    by = _divisor(divisor)
    whole = to_int(dividend)
    rest = abs(whole) % abs(by)
    return Int64(-rest if whole < 0 else rest)


def _divisor(value: object) -> int:
    by = to_int(value)
    if by == 0:
        raise FunctionError("division by zero")
    return by


def _max(first: object, *others: object) -> Int64:
    return Int64(max(map(to_int, (first, *others))))


def _min(first: object, *others: object) -> Int64:
    return Int64(min(map(to_int, (first, *others))))


def _max_float(first: object, *others: object) -> float:
    return _extreme(max, 1, first, *others)


def _min_float(first: object, *others: object) -> float:
    return _extreme(min, -1, first, *others)


def _extreme(choose: Callable[..., float], sign: int, *values: object) -> float:
    """As Go's math.Max and math.Min: infinity goes before what is not a number, and -0 below 0."""
    numbers = [to_float(value) for value in values]
    best = numbers[0]
    for number in numbers[1:]:
        if sign * math.inf in (best, number):
            best = sign * math.inf
        elif math.isnan(best) or math.isnan(number):
            best = math.nan
        elif best == number == 0:
            negative = [one for one in (best, number) if math.copysign(1, one) == -sign]
            best = number if len(negative) == 1 and negative[0] is best else best
        else:
            best = choose(best, number)
    return best


def _floor(value: object) -> float:
    return _rounded(math.floor, to_float(value))


def _ceil(value: object) -> float:
    return _rounded(math.ceil, to_float(value))


def _rounded(rounding: Callable[[float], int], value: float) -> float:
    if not math.isfinite(value):
        return value
    # Python's results are integers, which have no -0.
    return math.copysign(float(rounding(value)), value) if abs(value) < 2**53 else value


def _round(value: object, places: int, on: float = 0.5) -> float:
    try:
        power = math.pow(10, places)
    except OverflowError:
        power = math.inf
    digit = power * to_float(value)
    fraction = math.modf(digit)[0]
    rounded = _rounded(math.ceil if fraction >= on else math.floor, digit)
    return _quotient(rounded, power)


def _quotient(value: float, by: float) -> float:
    if by == 0:
        if value == 0 or math.isnan(value):
            return math.nan
        return math.copysign(math.inf, value)
    return value / by


def until_step(start: int, stop: int, step: int) -> Ints:
    """The numbers from `start` to before `stop`.

    Raises:
        FunctionError: there are too many.
    """
    if (step <= 0 if stop >= start else step >= 0) or step == 0:
        return Ints()
    numbers = range(start, stop, step)
    # len() of a range fails beyond what a machine's word holds.
    if abs(stop - start) // abs(step) > MAX_ITEMS:
        check_items(MAX_ITEMS + 1)
    return Ints(numbers)


def _until(count: int) -> Ints:
    return until_step(0, count, -1 if count < 0 else 1)


def _seq(*given: int) -> str:
    match given:
        case (end,):
            start, step = 1, -1 if end < 1 else 1
            increment = step
        case (start, end):
            step = increment = -1 if end < start else 1
        case (start, step, end):
            increment = -1 if end < start else 1
            if end < start and step > 0:
                return ""
        case _:
            return ""
    return " ".join(map(str, until_step(start, end + increment, step)))


FUNCTIONS: Mapping[str, Function] = {
    "atoi": typed(_atoi, STRING),
    "int": typed(to_int, ANY),
    "int64": typed(lambda value: Int64(to_int(value)), ANY),
    "float64": typed(to_float, ANY),
    "toDecimal": typed(_to_decimal, ANY),
    "add": typed(_add, rest=ANY),
    "add1": typed(lambda value: Int64(int64(to_int(value) + 1)), ANY),
    "sub": typed(lambda a, b: Int64(int64(to_int(a) - to_int(b))), ANY, ANY),
    "mul": typed(_multiply, ANY, rest=ANY),
    "div": typed(_divide, ANY, ANY),
    "mod": typed(_modulo, ANY, ANY),
    "max": typed(_max, ANY, rest=ANY),
    "biggest": typed(_max, ANY, rest=ANY),
    "min": typed(_min, ANY, rest=ANY),
    "maxf": typed(_max_float, ANY, rest=ANY),
    "minf": typed(_min_float, ANY, rest=ANY),
    "floor": typed(_floor, ANY),
    "ceil": typed(_ceil, ANY),
    "round": typed(_round, ANY, INT, rest=FLOAT),
    "until": typed(_until, INT),
    "untilStep": typed(until_step, INT, INT, INT),
    "seq": typed(_seq, rest=INT),
}
