"""Prints values into text as Go's `fmt` does."""

from collections.abc import Mapping
from dataclasses import dataclass

from apps.templates.errors import FunctionError
from apps.templates.go_types import Opaque, Uint64, encoded, is_nil, type_of
from apps.templates.limits import Budget, check_text
from apps.templates.number_formats import can_backquote, float_text, quoted


def go_text(value: object) -> str:
    """The text of a value that a template prints.

    Raises:
        FunctionError: the value is too large, or too deep.
    """
    return "<no value>" if value is None else printed(value)


def printed(value: object) -> str:
    """The text of a value as `%v`: nil is `<nil>`.

    Raises:
        FunctionError: the value is too large, or too deep.
    """
    return value if isinstance(value, str) else Printer(Flags()).text(value, "v")


@dataclass
class Flags:
    """The flags between `%` and the verb."""

    plus: bool = False
    minus: bool = False
    sharp: bool = False
    space: bool = False
    zero: bool = False
    width: int | None = None
    precision: int | None = None
    go_syntax: bool = False
    """`%#v`."""


class Printer:
    """Writes values by one verb of `printf` and its flags."""

    def __init__(self, flags: Flags) -> None:
        self._flags = flags
        self._budget = Budget()
        self._length = 0

    def text(self, value: object, verb: str) -> str:
        """The text of an argument.

        Raises:
            FunctionError: it is too long, or too deep.
        """
        if verb == "T" and value is not None:
            return self._string(type_of(value), "s")
        if verb == "p" and value is not None:
            if isinstance(value, Mapping | list | tuple | Opaque):
                raise FunctionError("`%p` prints an address, which differs each time")
            return self._bad(value, verb)
        if value is None:
            return self._padded("<nil>") if verb in "vT" else self._bad(value, verb)
        return self._value(value, verb, 0)

    def _value(self, value: object, verb: str, depth: int) -> str:  # noqa: PLR0911 - a table of types
        match value:
            case None:
                return "interface {}(nil)" if self._flags.go_syntax else "<nil>"
            case bool():
                text = "true" if value else "false"
                return self._padded(text) if verb in "tv" else self._bad(value, verb)
            case int():
                return self._counted(self._integer(value, verb))
            case float():
                return self._counted(self._float(value, verb))
            case str():
                return self._counted(self._string(value, verb))
            case Opaque():
                if self._flags.go_syntax:
                    raise FunctionError(f"`%#v` cannot print a {type_of(value)}")
                if verb in "vsxXq":
                    return self._counted(self._string(str(value), verb))
                raise FunctionError(f"`%{verb}` cannot print a {type_of(value)}")
            case Mapping():
                return self._mapping(value, verb, depth)
            case list() | tuple():
                return self._list(value, verb, depth)
        raise FunctionError(f"a {type(value).__name__} cannot be printed")

    def _mapping(self, value: Mapping[str, object], verb: str, depth: int) -> str:
        self._budget.visit(len(value), depth)
        pairs = (
            f"{self._value(key, verb, depth + 1)}:{self._value(value[key], verb, depth + 1)}"
            for key in sorted(value)
        )
        if self._flags.go_syntax:
            return f"{type_of(value)}{{{', '.join(pairs)}}}"
        return f"map[{' '.join(pairs)}]"

    def _list(self, value: list[object] | tuple[object, ...], verb: str, depth: int) -> str:
        if self._flags.go_syntax and is_nil(value):
            return f"{type_of(value)}(nil)"
        self._budget.visit(len(value), depth)
        items = (self._value(item, verb, depth + 1) for item in value)
        if self._flags.go_syntax:
            return f"{type_of(value)}{{{', '.join(items)}}}"
        return f"[{' '.join(items)}]"

    def _integer(self, value: int, verb: str) -> str:
        write = _INTEGERS.get(verb)
        if write is not None:
            if verb == "v" and self._flags.go_syntax and isinstance(value, Uint64):
                return self._digits(value, "x", sharp=True)
            return self._digits(value, write, sharp=self._flags.sharp, octal=verb == "O")
        if verb in ("c", "q", "U"):
            return self._character(value, verb)
        return self._bad(value, verb)

    def _digits(self, value: int, base: str, *, sharp: bool, octal: bool = False) -> str:
        flags = self._flags
        if flags.precision == 0 and value == 0:
            return " " * (flags.width or 0)
        digits = format(abs(value), base)
        if flags.precision is not None:
            digits = digits.rjust(flags.precision, "0")
        elif flags.zero and not flags.minus and flags.width is not None:
            signed = value < 0 or flags.plus or flags.space
            digits = digits.rjust(flags.width - signed, "0")
        if sharp:
            if base == "b":
                digits = f"0b{digits}"
            elif base == "o" and not digits.startswith("0"):
                digits = f"0{digits}"
            elif base in "xX":
                digits = f"0{base}{digits}"
        if octal:
            digits = f"0o{digits}"
        return self._padded(self._sign(value < 0) + digits, spaces_only=True)

    def _sign(self, negative: bool) -> str:
        if negative:
            return "-"
        return "+" if self._flags.plus else " " if self._flags.space else ""

    def _character(self, value: int, verb: str) -> str:
        # Go reads the number as one without a sign, so that a negative one is too large.
        valid = 0 <= value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF
        char = chr(value) if valid else "\ufffd"
        if verb == "c":
            return self._padded(char)
        if verb == "q":
            return self._padded(quoted(char, "'", ascii_only=self._flags.plus))
        number = value % 2**64
        text = f"U+{number:0{max(self._flags.precision or 0, 4)}X}"
        if self._flags.sharp and valid and char.isprintable():
            text += f" '{char}'"
        return self._padded(text, spaces_only=True)

    def _float(self, value: float, verb: str) -> str:
        known = _FLOATS.get(verb)
        if known is None:
            return self._bad(value, verb)
        written, precision = known
        flags = self._flags
        if flags.precision is not None:
            precision = flags.precision
        if written == "x" and precision >= 0:
            raise FunctionError(f"`%{verb}` with a precision is not supported for floats")
        text = float_text(value, written, precision)
        if verb in "EGX":
            text = text.upper() if text[-1] not in "fN" else text
        sign, body = (text[0], text[1:]) if text[0] in "+-" else ("+", text)
        if flags.space and sign == "+" and not flags.plus:
            sign = " "
        if body in ("Inf", "NaN"):
            shown = sign if body == "Inf" or flags.space or flags.plus else ""
            return self._padded(shown + body, spaces_only=True)
        if flags.sharp and written != "b":
            body = _with_point(body, verb, precision)
        if flags.plus or sign != "+":
            if flags.zero and not flags.minus and flags.width is not None:
                return sign + body.rjust(flags.width - 1, "0")
            return self._padded(sign + body)
        return self._padded(body)

    def _string(self, value: str, verb: str) -> str:
        flags = self._flags
        if verb in "xX":
            return self._hexadecimal(encoded(value), verb)
        if verb == "q" or (verb == "v" and flags.go_syntax):
            cut = value[: flags.precision]
            if flags.sharp and can_backquote(cut):
                return self._padded(f"`{cut}`")
            return self._padded(quoted(cut, ascii_only=flags.plus))
        if verb in "sv":
            return self._padded(value[: flags.precision])
        return self._bad(value, verb)

    def _hexadecimal(self, data: bytes, verb: str) -> str:
        flags = self._flags
        data = data[: flags.precision]
        if not data:
            return self._padded("")
        prefix = f"0{verb}" if flags.sharp else ""
        check_text(len(data) * 5)
        if flags.space:
            text = " ".join(f"{prefix}{byte:02{verb}}" for byte in data)
        else:
            text = prefix + (data.hex() if verb == "x" else data.hex().upper())
        return self._padded(text)

    def _bad(self, value: object, verb: str) -> str:
        if value is None:
            return f"%!{verb}(<nil>)"
        return f"%!{verb}({type_of(value)}={self._value(value, 'v', 0)})"

    def _padded(self, text: str, *, spaces_only: bool = False) -> str:
        width = self._flags.width
        if not width:
            return text
        if self._flags.minus:
            return text.ljust(width)
        return text.rjust(width, "0" if self._flags.zero and not spaces_only else " ")

    def _counted(self, text: str) -> str:
        self._length += len(text)
        check_text(self._length)
        return text


_INTEGERS = {"v": "d", "d": "d", "b": "b", "o": "o", "O": "o", "x": "x", "X": "X"}

_FLOATS = {
    "v": ("g", -1), "b": ("b", -1), "g": ("g", -1), "G": ("g", -1), "x": ("x", -1),
    "X": ("x", -1), "f": ("f", 6), "F": ("f", 6), "e": ("e", 6), "E": ("e", 6),
}  # fmt: skip


def _with_point(body: str, verb: str, precision: int) -> str:
    """A number with a decimal point and as many digits as were asked for: `%#g`."""
    digits = 0
    if verb in "vgGx":
        digits = 6 if precision == -1 else precision
    marks = "pP" if verb in "xX" else "eE"
    at = next((index for index, char in enumerate(body) if char in marks), len(body))
    number, tail = body[:at], body[at:]
    significant = number.replace(".", "").lstrip("0")
    digits -= len(significant)
    if "." not in number:
        if number == "0":
            digits -= 1
        number += "."
    return number + "0" * max(digits, 0) + tail
