"""The plan view that an approver sees: like a diff, without sensitive values."""

import json
from collections.abc import Iterable, Mapping

from activities.plans.changes import Change, Changes
from activities.secrets.masking import MASK, Mask
from apps.display_text import shown

PAGE_BYTES = 256 * 1024
"""The largest page that is sent."""

_SIGNS = {
    "create": "+",
    "update": "~",
    "replace": "-/+",
    "delete": "-",
    "forget": "x",
    "import": "<-",
    "move": "->",
}
_UNKNOWN = "(known after apply)"


def render_view(component: str, verb: str, changes: Changes, mask: Mask) -> str:
    """The whole view as text: a heading, then each object with its changed attributes.

    A value that the plan marks in one place is masked everywhere, since a computed attribute may
    repeat it. Names and values come from the vendor and the cloud, so their hidden characters and
    line breaks are escaped (`apps.display_text`).
    """
    mask = mask.and_also(changes.secrets)
    lines = [f"{verb} {component}: {changes.counts()}", ""]
    for change in changes.objects:
        lines += [*_object_lines(change, mask), ""]
    if changes.outputs:
        lines.append("outputs")
        lines += [_output_line(change, mask) for change in changes.outputs]
    return "\n".join(map(shown, lines)).rstrip() + "\n"


def pages(text: str) -> list[str]:
    """The view in pages of at most PAGE_BYTES bytes, cut at line breaks if possible."""
    result: list[str] = []
    page: list[str] = []
    size = 0
    for line in _with_ends(text):
        for piece in _pieces(line):
            length = len(piece.encode())
            if page and size + length > PAGE_BYTES:
                result.append("".join(page))
                page, size = [], 0
            page.append(piece)
            size += length
    return [*result, "".join(page)]


def _with_ends(text: str) -> list[str]:
    *lines, rest = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([rest] if rest else [])]


def _pieces(line: str) -> Iterable[str]:
    """Splits a line that is longer than a page into shorter pieces of whole characters."""
    data = line.encode()
    start = 0
    while start < len(data):
        end = min(start + PAGE_BYTES, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        yield data[start:end].decode()
        start = end


def _object_lines(change: Change, mask: Mask) -> Iterable[str]:
    extra = f" (deposed {change.deposed})" if change.deposed else ""
    extra += f" (was {change.previous_address})" if change.previous_address else ""
    extra += f" (import of {change.importing})" if change.importing else ""
    extra += f" ({change.reason.replace('_', ' ')})" if change.reason else ""
    yield mask.text(f"{_SIGNS.get(change.verb, '?')} {change.address}{extra}")
    before = change.before if isinstance(change.before, Mapping) else {}
    after = change.after if isinstance(change.after, Mapping) else {}
    unknown = change.unknown if isinstance(change.unknown, Mapping) else {}
    for name in sorted({*before, *after, *unknown}):
        old = _shown(before.get(name), False, _mark(change.before_sensitive, name), mask)
        new = _shown(
            after.get(name), unknown.get(name, False), _mark(change.after_sensitive, name), mask
        )
        if before.get(name) != after.get(name) or unknown.get(name, False):
            yield "    " + _attribute_line(change.verb, name, old, new)


def _attribute_line(verb: str, name: str, old: str, new: str) -> str:
    if verb in {"create", "import"}:
        return f"+ {name} = {new}"
    if verb in {"delete", "forget"}:
        return f"- {name} = {old}"
    return f"~ {name} = {old} -> {new}"


def _output_line(change: Change, mask: Mask) -> str:
    old = _shown(change.before, False, change.before_sensitive, mask)
    new = _shown(change.after, change.unknown, change.after_sensitive, mask)
    return f"  {_SIGNS.get(change.verb, '?')} " + _attribute_line(
        change.verb, change.address, old, new
    ).removeprefix("+ ").removeprefix("- ").removeprefix("~ ")


def _mark(sensitive: object, name: str) -> object:
    if isinstance(sensitive, Mapping):
        return sensitive.get(name, False)
    return sensitive


def _shown(value: object, unknown: object, sensitive: object, mask: Mask) -> str:
    if unknown is True:
        return _UNKNOWN
    shown = _without_sensitive(_with_unknown(value, unknown), sensitive)
    return mask.text(json.dumps(mask.value(shown), ensure_ascii=False))


def _with_unknown(value: object, unknown: object) -> object:
    """The value with its unknown parts replaced by `_UNKNOWN`, at any depth."""
    if unknown is True:
        return _UNKNOWN
    if isinstance(unknown, Mapping):
        known = value if isinstance(value, Mapping) else {}
        return {
            key: _with_unknown(known.get(key), unknown.get(key, False))
            for key in sorted({*known, *unknown})
        }
    if isinstance(unknown, list):
        known_items = value if isinstance(value, list) else []
        items = [*known_items, *([None] * (len(unknown) - len(known_items)))]
        marks = [*unknown, *([False] * (len(items) - len(unknown)))]
        return [_with_unknown(item, mark) for item, mark in zip(items, marks, strict=True)]
    return value


def _without_sensitive(value: object, sensitive: object) -> object:
    if sensitive is True:
        return MASK
    if isinstance(value, Mapping) and isinstance(sensitive, Mapping):
        return {k: _without_sensitive(item, sensitive.get(k, False)) for k, item in value.items()}
    if isinstance(value, list) and isinstance(sensitive, list):
        marks = [*sensitive, *([False] * (len(value) - len(sensitive)))]
        return [_without_sensitive(item, mark) for item, mark in zip(value, marks, strict=False)]
    return value
