"""Writes numbers and quoted strings as Go's `strconv` does."""

import math
import re

from apps.templates.limits import check_walked

_REPR = re.compile(r"(\d+)(?:\.(\d+))?(?:e([+-]\d+))?")


def float_text(value: float, verb: str = "g", precision: int = -1) -> str:
    """A float in Go's format `e`, `f`, `g`, `b` or `x`; -1: as many digits as needed."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if verb == "b":
        return _binary(value)
    if verb == "x":
        return _hexadecimal(value)
    if precision >= 0:
        # Python rounds as Go does, and writes exponents of two digits, too.
        return f"{value:.{precision}{verb}}"
    return _shortest(value, verb)


def _shortest(value: float, verb: str) -> str:
    sign = "-" if math.copysign(1, value) < 0 else ""
    digits, exponent = shortest_digits(value)
    if verb == "e" or (verb == "g" and value and (exponent < -4 or exponent >= 6)):
        return sign + _scientific(digits, exponent)
    return sign + _positional(digits, exponent)


def shortest_digits(value: float) -> tuple[str, int]:
    """The fewest digits that identify this number, and the exponent of the first digit."""
    if value == 0:
        return "0", 0
    found = _REPR.fullmatch(repr(abs(float(value))))
    if found is None:  # repr() of a finite float has no other form
        raise ValueError("the number is not finite")
    whole, fraction = found[1], found[2] or ""
    exponent = int(found[3] or 0) + len(whole) - 1
    digits = whole + fraction
    leading = len(digits) - len(digits.lstrip("0"))
    return digits.strip("0") or "0", exponent - leading


def _scientific(digits: str, exponent: int) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def _binary(value: float) -> str:
    mantissa, exponent = math.frexp(value)
    if value == 0:
        return ("-" if math.copysign(1, value) < 0 else "") + "0p-1074"
    shift = 53 if exponent - 53 >= -1074 else exponent + 1074
    return f"{int(mantissa * 2**shift)}p{exponent - shift:+d}"


def _hexadecimal(value: float) -> str:
    text, exponent = value.hex().split("p")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    power = int(exponent)
    return f"{text}p{'-' if power < 0 else '+'}{abs(power):02d}"


_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\",
}  # fmt: skip


def quoted(text: str, quote: str = '"', *, ascii_only: bool = False) -> str:
    """A string in quotes, with Go's escapes."""
    if text.isprintable() and (text.isascii() or not ascii_only):
        inner = text.replace("\\", "\\\\").replace(quote, "\\" + quote)
        return f"{quote}{inner}{quote}"
    check_walked(len(text))
    return quote + "".join(_escaped(char, quote, ascii_only) for char in text) + quote


def _escaped(char: str, quote: str, ascii_only: bool) -> str:  # noqa: PLR0911 - a table of cases
    if char == quote:
        return "\\" + quote
    if char in _ESCAPES:
        return _ESCAPES[char]
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if 0xD800 <= code <= 0xDFFF:
        return "\\ufffd"
    if char.isprintable() and (code < 0x80 or not ascii_only):
        return char
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def can_backquote(text: str) -> bool:
    """Whether a string can stand in backquotes as it is."""
    return not any(
        (char < " " and char != "\t") or char in "`\x7f\ufeff" or 0xD800 <= ord(char) <= 0xDFFF
        for char in text
    )
