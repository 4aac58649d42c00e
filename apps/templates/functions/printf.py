"""`printf`: Go's format strings, with what Go writes in place of a wrong argument."""

from apps.templates.go_types import type_of
from apps.templates.limits import check_text
from apps.templates.printing import Flags, Printer

_LARGEST = 1_000_000


def sprintf(form: str, *values: object) -> str:
    """The text that a format and its arguments make.

    Raises:
        FunctionError: it would be too long, or an argument is too deep.
    """
    return _Format(form, values).text()


class _Format:
    def __init__(self, form: str, values: tuple[object, ...]) -> None:
        self._form = form
        self._values = values
        self._at = 0
        self._next = 0
        self._reordered = False
        self._good_index = True
        self._made: list[str] = []
        self._length = 0

    def text(self) -> str:
        form = self._form
        while self._at < len(form):
            percent = form.find("%", self._at)
            end = len(form) if percent < 0 else percent
            self._add(form[self._at : end])
            self._at = end + 1
            if percent >= 0:
                self._directive()
        if not self._reordered and self._next < len(self._values):
            extra = ", ".join(map(_extra, self._values[self._next :]))
            self._add(f"%!(EXTRA {extra})")
        return "".join(self._made)

    def _add(self, text: str) -> None:
        self._length += len(text)
        check_text(self._length)
        self._made.append(text)

    def _peek(self) -> str:
        return self._form[self._at : self._at + 1]

    def _directive(self) -> None:
        self._good_index = True
        flags = self._flags()
        if self._at < len(self._form) and self._simple():
            self._print(flags)
            return
        after_index = self._index()
        after_index = self._width(flags, after_index)
        if self._peek() == "." and self._at + 1 < len(self._form):
            self._at += 1
            self._good_index &= not after_index
            after_index = self._precision(flags)
        if not after_index:
            self._index()
        if self._at >= len(self._form):
            self._add("%!(NOVERB)")
            return
        self._print(flags)

    def _simple(self) -> bool:
        return "a" <= self._peek() <= "z" and self._next < len(self._values)

    def _flags(self) -> Flags:
        flags = Flags()
        names = {"#": "sharp", "0": "zero", "+": "plus", "-": "minus", " ": "space"}
        while (name := names.get(self._peek())) is not None:
            setattr(flags, name, True)
            self._at += 1
        return flags

    def _print(self, flags: Flags) -> None:
        verb = self._peek()
        self._at += 1
        if verb == "%":
            self._add("%")
        elif not self._good_index:
            self._add(f"%!{verb}(BADINDEX)")
        elif self._next >= len(self._values):
            self._add(f"%!{verb}(MISSING)")
        else:
            value = self._values[self._next]
            self._next += 1
            if verb in "vw":
                flags.go_syntax, flags.sharp, flags.plus = flags.sharp, False, False
            self._add(Printer(flags).text(value, verb))

    def _width(self, flags: Flags, after_index: bool) -> bool:
        if self._peek() == "*":
            self._at += 1
            width = self._from_argument()
            if width is None:
                self._add("%!(BADWIDTH)")
            elif width < 0:
                flags.minus, flags.zero = True, False
            flags.width = None if width is None else abs(width)
            return False
        flags.width = self._number(len(self._form))
        if after_index and flags.width is not None:
            self._good_index = False
        return after_index

    def _precision(self, flags: Flags) -> bool:
        after_index = self._index()
        if self._peek() == "*":
            self._at += 1
            precision = self._from_argument()
            if precision is None or precision < 0:
                self._add("%!(BADPREC)")
            else:
                flags.precision = precision
            return False
        flags.precision = self._number(len(self._form)) or 0
        return after_index

    def _number(self, end: int) -> int | None:
        """The number that stands next; one that is too large takes the rest of the format."""
        number: int | None = None
        while self._at < end and self._peek() in "0123456789":
            if (number or 0) > _LARGEST:
                self._at = end
                return None
            number = (number or 0) * 10 + int(self._peek())
            self._at += 1
        return number

    def _from_argument(self) -> int | None:
        if self._next >= len(self._values):
            return None
        value = self._values[self._next]
        self._next += 1
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _LARGEST:
            return None
        return int(value)

    def _index(self) -> bool:
        """Reads `[n]`, the number of the argument that is next; whether there was one."""
        if self._peek() != "[":
            return False
        self._reordered = True
        close = self._form.find("]", self._at)
        if close < 0 or len(self._form) - self._at < 3:
            self._at += 1
            self._good_index = False
            return False
        self._at += 1
        number = self._number(close)
        good = number is not None and self._at == close
        self._at = close + 1
        if good and number is not None and 1 <= number <= len(self._values):
            self._next = number - 1
            return True
        self._good_index = False
        return good


def _extra(value: object) -> str:
    if value is None:
        return "<nil>"
    return f"{type_of(value)}={Printer(Flags()).text(value, 'v')}"
