"""sprig's functions of strings, and of lists of strings."""

from collections.abc import Mapping

from apps.templates.errors import FunctionError
from apps.templates.functions.function import ANY, INT, STRING, Function, typed
from apps.templates.go_types import StringMap, Strings, decoded, encoded, is_list, items_of
from apps.templates.limits import check_items, check_text, check_walked
from apps.templates.number_formats import quoted
from apps.templates.printing import printed

# What Go's unicode.IsSpace takes for space; Python's own also takes U+001C to U+001F.
SPACE = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # noqa: E501


def _upper(text: str) -> str:
    if text.isascii():
        return text.upper()
    check_walked(len(text))
    return "".join(map(upper_char, text))


def _lower(text: str) -> str:
    if text.isascii():
        return text.lower()
    check_walked(len(text))
    return "".join(map(lower_char, text))


def upper_char(char: str) -> str:
    """A character in upper case; Go maps each to one, so that ß stays."""
    mapped = char.upper()
    return mapped if len(mapped) == 1 else title_char(char)


def lower_char(char: str) -> str:
    """A character in lower case."""
    mapped = char.lower()
    return mapped if len(mapped) == 1 else mapped[0]


def title_char(char: str) -> str:
    """A character in title case, which differs from upper case for digraphs such as ǆ."""
    mapped = char.title()
    return mapped if len(mapped) == 1 else char


def _repeat(count: int, text: str) -> str:
    if count < 0:
        raise FunctionError("the count must not be negative")
    check_text(count * len(text))
    return text * count


def _trunc(count: int, text: str) -> str:
    if text.isascii():
        return text[count:] if count < 0 else text[:count]
    data = encoded(text)
    return decoded(data[count:] if count < 0 else data[:count])


def _substr(start: int, end: int, text: str) -> str:
    data = encoded(text)
    size = len(data)
    if start < 0:
        start = 0
    elif end < 0 or end > size:
        end = size
    if not 0 <= start <= end <= size:
        raise FunctionError(f"there is no text from {start} to {end}: the string has {size} bytes")
    return decoded(data[start:end])


def _quote(*values: object) -> str:
    return " ".join(quoted(printed(value)) for value in values if value is not None)


def _squote(*values: object) -> str:
    return " ".join(f"'{printed(value)}'" for value in values if value is not None)


def _cat(*values: object) -> str:
    return " ".join(printed(value) for value in values if value is not None)


def _indent(spaces: int, text: str) -> str:
    if spaces < 0:
        raise FunctionError("the number of spaces must not be negative")
    check_text(len(text) + spaces * (1 + text.count("\n")))
    pad = " " * spaces
    return pad + text.replace("\n", "\n" + pad)


def _replace(old: str, new: str, text: str) -> str:
    check_text(len(text) + (text.count(old) if old else len(text) + 1) * len(new))
    return text.replace(old, new)


def _plural(one: str, many: str, count: int) -> str:
    return one if count == 1 else many


def _split(separator: str, text: str, most: int = -1) -> Strings:
    """Go's SplitN: an empty separator splits into characters, and `most` 0 gives nothing."""
    if most == 0:
        return Strings()
    if not separator:
        characters = list(text)
        if 0 < most < len(characters):
            characters[most - 1 :] = ["".join(characters[most - 1 :])]
        check_items(len(characters))
        return Strings(characters)
    check_items(text.count(separator))
    return Strings(text.split(separator, most - 1 if most > 0 else -1))


def _numbered(parts: Strings) -> StringMap:
    return StringMap((f"_{index}", part) for index, part in enumerate(parts))


def to_strings(value: object) -> Strings:
    """The texts of a list's items but nil ones, or of a single value."""
    items = items_of(value)
    if items is None:
        return Strings() if value is None else Strings([printed(value)])
    if isinstance(value, Strings):
        return value
    return Strings(printed(item) for item in items if item is not None)


def _join(separator: str, value: object) -> str:
    parts = to_strings(value)
    check_text(sum(map(len, parts)) + len(separator) * max(len(parts) - 1, 0))
    return separator.join(parts)


def _sort_alpha(value: object) -> Strings:
    if not is_list(value):
        return Strings([printed(value)])
    # By bytes, whose order is that of the characters unless there are bytes that are not UTF-8.
    return Strings(sorted(to_strings(value), key=encoded))


def _trim_prefix(prefix: str, text: str) -> str:
    return text.removeprefix(prefix)


def _trim_suffix(suffix: str, text: str) -> str:
    return text.removesuffix(suffix)


def _trim_all(cut: str, text: str) -> str:
    # Python would strip space if there were nothing to cut.
    return text.strip(cut) if cut else text


_TRIM_ALL = typed(_trim_all, STRING, STRING)

FUNCTIONS: Mapping[str, Function] = {
    "hello": typed(lambda: "Hello!"),
    "trim": typed(lambda text: text.strip(SPACE), STRING),
    "trimAll": _TRIM_ALL,
    "trimall": _TRIM_ALL,
    "trimPrefix": typed(_trim_prefix, STRING, STRING),
    "trimSuffix": typed(_trim_suffix, STRING, STRING),
    "upper": typed(_upper, STRING),
    "lower": typed(_lower, STRING),
    "trunc": typed(_trunc, INT, STRING),
    "substr": typed(_substr, INT, INT, STRING),
    "repeat": typed(_repeat, INT, STRING),
    "contains": typed(lambda part, text: part in text, STRING, STRING),
    "hasPrefix": typed(lambda part, text: text.startswith(part), STRING, STRING),
    "hasSuffix": typed(lambda part, text: text.endswith(part), STRING, STRING),
    "quote": typed(_quote, rest=ANY),
    "squote": typed(_squote, rest=ANY),
    "cat": typed(_cat, rest=ANY),
    "indent": typed(_indent, INT, STRING),
    "nindent": typed(lambda spaces, text: "\n" + _indent(spaces, text), INT, STRING),
    "replace": typed(_replace, STRING, STRING, STRING),
    "plural": typed(_plural, STRING, STRING, INT),
    "toString": typed(printed, ANY),
    "toStrings": typed(to_strings, ANY),
    "join": typed(_join, STRING, ANY),
    "sortAlpha": typed(_sort_alpha, ANY),
    "split": typed(lambda separator, text: _numbered(_split(separator, text)), STRING, STRING),
    "splitList": typed(_split, STRING, STRING),
    "splitn": typed(
        lambda separator, most, text: _numbered(_split(separator, text, most)),
        STRING, INT, STRING,
    ),
}  # fmt: skip
