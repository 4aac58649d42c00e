"""sprig's semantic versions, and the constraints on them, as Masterminds/semver reads them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apps.templates.errors import FunctionError
from apps.templates.functions.function import STRING, Function, typed
from apps.templates.go_types import Opaque, Uint64

MAX_LENGTH = 4096
"""Of a version or a constraint; what takes longer to read is none."""

_NAMES = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(rf"v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?(?:-({_NAMES}))?(?:\+({_NAMES}))?")
_PART = r"[0-9|xX*]+"
_CONSTRAINED = rf"v?({_PART})(\.{_PART})?(\.{_PART})?(-{_NAMES})?(?:\+{_NAMES})?"
_UNNAMED = _CONSTRAINED.replace("(", "(?:").replace("(?:?:", "(?:")
_OPERATOR = r"=|!=|>|<|>=|=>|<=|=<|~|~>|\^|"
_SPACE = r"[\t\n\f\r ]"
_ONE = re.compile(rf"{_SPACE}*({_OPERATOR}){_SPACE}*{_CONSTRAINED}{_SPACE}*")
_FOUND = re.compile(rf"(?:!=|>=|=>|<=|=<|~>|=|>|<|~|\^|){_SPACE}*{_UNNAMED}")
_RANGE = re.compile(rf"{_SPACE}*({_UNNAMED}){_SPACE}+-{_SPACE}+({_UNNAMED}){_SPACE}*")
_VALID = re.compile(
    rf"{_SPACE}*(?:{_OPERATOR}){_SPACE}*{_UNNAMED}{_SPACE}*"
    rf"(?:(?:{_SPACE}+|,{_SPACE}*)(?:{_OPERATOR}){_SPACE}*{_UNNAMED}{_SPACE}*)*"
)
_MOST = 2**64


@dataclass(frozen=True)
class Version(Opaque):
    """A `*semver.Version`."""

    type_name = "*semver.Version"
    kind = "ptr"

    major: int
    minor: int
    patch: int
    prerelease: str
    metadata: str
    original: str

    def __str__(self) -> str:
        before = f"-{self.prerelease}" if self.prerelease else ""
        meta = f"+{self.metadata}" if self.metadata else ""
        return f"{self.major}.{self.minor}.{self.patch}{before}{meta}"

    def field(self, name: str) -> object:
        """What a method without arguments gives: `.Major`."""
        known: dict[str, object] = {
            "Major": Uint64(self.major), "Minor": Uint64(self.minor),
            "Patch": Uint64(self.patch), "Prerelease": self.prerelease,
            "Metadata": self.metadata, "Original": self.original, "String": str(self),
        }  # fmt: skip
        if name not in known:
            raise FunctionError(f"a version has no {name}; it has {', '.join(known)}")
        return known[name]

    def order(self) -> tuple[object, ...]:
        """By this versions are sorted: one without a pre-release is later; metadata is nothing."""
        parts = [_order_of_name(part) for part in self.prerelease.split(".")]
        return self.major, self.minor, self.patch, not self.prerelease, parts


def _order_of_name(part: str) -> tuple[int, int, str]:
    # Numbers are before names, and nothing is before both.
    if part.isdigit() and int(part) < _MOST:
        return 1, int(part), ""
    return (2, 0, part) if part else (0, 0, "")


def parsed(text: str) -> Version:
    """A version, of which the minor and the patch number may be left out.

    Raises:
        FunctionError: it is none.
    """
    found = _VERSION.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if found is None:
        raise FunctionError("the text is not a semantic version")
    numbers = [int((found[group] or "0").lstrip(".")) for group in (1, 2, 3)]
    before, metadata = found[4] or "", found[5] or ""
    if any(number >= _MOST for number in numbers):
        raise FunctionError("a number of the version is too large")
    if any(part.isdigit() and len(part) > 1 and part[0] == "0" for part in before.split(".")):
        raise FunctionError("a number of the pre-release begins with 0")
    major, minor, patch = numbers
    return Version(major, minor, patch, before, metadata, text)


@dataclass(frozen=True)
class _Constraint:
    operator: str
    version: Version
    minor_open: bool = False
    patch_open: bool = False
    is_open: bool = False
    """Whether any of its numbers is left open, by `x`, `*` or leaving it out."""

    def allows(self, version: Version) -> bool:
        # One that names no pre-release allows none; `!=` only if it leaves something open.
        hidden = bool(version.prerelease) and not self.version.prerelease
        if hidden and (self.operator != "!=" or self.is_open):
            return False
        return _CHECKS[self.operator](version, self)


def _not_equal(version: Version, to: _Constraint) -> bool:
    if to.is_open:
        if to.version.major != version.major:
            return True
        if to.minor_open or to.version.minor != version.minor:
            return not to.minor_open
        if to.patch_open or to.version.patch != version.patch:
            if not to.patch_open:
                return True
            before = (version.prerelease, to.version.prerelease)
            return any(before) and before[0] != before[1]
    return version.order() != to.version.order()


def _greater(version: Version, than: _Constraint) -> bool:
    if not than.is_open:
        return version.order() > than.version.order()
    if version.major != than.version.major:
        return version.major > than.version.major
    if than.minor_open:
        return False
    if than.patch_open:
        return version.minor > than.version.minor
    return version.order() > than.version.order()


def _less_or_equal(version: Version, than: _Constraint) -> bool:
    if not than.is_open:
        return version.order() <= than.version.order()
    if version.major > than.version.major:
        return False
    same_major = version.major == than.version.major
    return not (same_major and version.minor > than.version.minor and not than.minor_open)


def _tilde(version: Version, to: _Constraint) -> bool:
    base = to.version
    if version.order() < base.order():
        return False
    if (base.major, base.minor, base.patch) == (0, 0, 0) and not (to.minor_open or to.patch_open):
        return True
    return version.major == base.major and (to.minor_open or version.minor == base.minor)


def _tilde_or_equal(version: Version, to: _Constraint) -> bool:
    return _tilde(version, to) if to.is_open else version.order() == to.version.order()


def _caret(version: Version, to: _Constraint) -> bool:
    base = to.version
    if version.order() < base.order():
        return False
    if base.major > 0 or to.minor_open:
        return version.major == base.major
    if version.major > 0:
        return False
    if base.minor > 0 or to.patch_open:
        return version.minor == base.minor
    return version.minor == 0 and version.patch == base.patch


def _at_least(version: Version, than: _Constraint) -> bool:
    return version.order() >= than.version.order()


_CHECKS: Mapping[str, Callable[[Version, _Constraint], bool]] = {
    "": _tilde_or_equal, "=": _tilde_or_equal, "!=": _not_equal, ">": _greater,
    "<": lambda version, than: version.order() < than.version.order(),
    ">=": _at_least, "=>": _at_least, "<=": _less_or_equal, "=<": _less_or_equal,
    "~": _tilde, "~>": _tilde, "^": _caret,
}  # fmt: skip


def _constraints(text: str) -> list[list[_Constraint]]:
    """Alternatives, in each of which everything must hold."""
    if len(text) > MAX_LENGTH:
        raise _improper()
    text = _RANGE.sub(lambda found: f">= {found[1]}, <= {found[2]} ", text)
    alternatives: list[list[_Constraint]] = []
    for part in text.split("||"):
        if not _VALID.fullmatch(part):
            raise _improper()
        alternatives.append([_constraint(one) for one in _FOUND.findall(part)])
    return alternatives


def _improper() -> FunctionError:
    return FunctionError("the constraint on versions is wrong")


def _constraint(text: str) -> _Constraint:
    found = _ONE.fullmatch(text)
    if found is None:
        raise _improper()
    operator, major, minor, patch, before = found.groups()
    minor, patch, before = minor or "", patch or "", before or ""
    if _is_open(major):
        return _Constraint(operator, parsed(f"0.0.0{before}"), is_open=True)
    if _is_open(minor):
        return _Constraint(operator, parsed(f"{major}.0.0{before}"), minor_open=True, is_open=True)
    if _is_open(patch):
        return _Constraint(
            operator, parsed(f"{major}{minor}.0{before}"), patch_open=True, is_open=True
        )
    return _Constraint(operator, parsed(f"{major}{minor}{patch}{before}"))


def _is_open(number: str) -> bool:
    return number.removeprefix(".") in ("", "x", "X", "*")


def _compare(constraint: str, version: str) -> bool:
    alternatives, found = _constraints(constraint), parsed(version)
    return any(all(one.allows(found) for one in group) for group in alternatives)


FUNCTIONS: Mapping[str, Function] = {
    "semver": typed(parsed, STRING),
    "semverCompare": typed(_compare, STRING, STRING),
}
