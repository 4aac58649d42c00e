"""Masks values that must not leave the customer's side, in any text or JSON.

Terraform masks what it knows to be sensitive. What it does not know (a secret that a template put
into a variable which the module does not mark) is found here by its value: as it is, as JSON, HCL,
URLs, shells, Python and HTML escape it, in base64, line by line, and broken over lines where it
has spaces. A value that the module itself transformed (a hash, a changed case) cannot be found this
way.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

from activities.secrets.base64_masking import InBase64

MASK = "(sensitive)"

_SHORTEST_IN_TEXT = 4
"""Shorter ones would mask half of every text; they are masked where they are a whole value."""

_BETWEEN_WORDS = r"[\s│╷╵]+"
"""Terraform breaks the lines of its diagnostics at spaces, and draws a border beside them."""

_WORD = re.compile(r"[^\s│╷╵]+")

_JSON_LEVELS = 3
_HEX = re.compile(r"%[0-9A-F]{2}")

_GO_JSON = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""What Go's JSON, so Terraform's `jsonencode`, escapes besides what everybody does."""


@dataclass(frozen=True)
class Mask:
    """Knows the secrets of one component; its repr hides them."""

    _whole: frozenset[str]
    _within: tuple[str | re.Pattern[str], ...]
    """Text, or a pattern where it has spaces; looking for text is the faster of the two."""
    _encoded: InBase64

    @staticmethod
    def of(secrets: Iterable[object]) -> "Mask":
        """A mask for every string and number in the given values, at any depth."""
        whole = {text for secret in secrets for text in _leaves(secret) if text}
        forms = {form for text in whole for form in _forms(text) if len(form) >= _SHORTEST_IN_TEXT}
        # Longest first: a secret within another must not leave the rest of it.
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        within = tuple(_looked_for(form) for form in ordered)
        return Mask(frozenset(whole), within, InBase64.of(whole))

    def and_also(self, secrets: Iterable[object]) -> "Mask":
        """A mask for these secrets too."""
        return Mask.of([*self._whole, *secrets])

    @property
    def secrets(self) -> frozenset[str]:
        """The values themselves."""
        return self._whole

    def __repr__(self) -> str:
        return f"Mask({len(self._whole)} values)"

    def text(self, text: str) -> str:
        """The text with each secret replaced."""
        for begin, stop in reversed(_merged(self._encoded.spans(text))):
            text = f"{text[:begin]}{MASK}{text[stop:]}"
        for form in self._within:
            text = text.replace(form, MASK) if isinstance(form, str) else form.sub(MASK, text)
        return text

    def within(self, text: str, start: int, end: int) -> str:
        """The part of the text between the two, with each secret replaced: also one that only
        begins or ends in it."""
        shown, at = [], start
        for begin, stop in _merged(self._spans(text)):
            if stop <= at or begin >= end:
                continue
            shown += [text[at:begin], MASK]
            at = stop
        shown.append(text[at:end])
        return "".join(shown)

    @property
    def reach(self) -> int:
        """The most characters that what is hidden as one may have."""
        longest = max((len(_source(form)) for form in self._within), default=0)
        return max(longest, self._encoded.longest)

    def unfinished(self, text: str) -> int:
        """Where words at the end of the text begin that more words would make a secret; its length
        if none do."""
        words = [(found.start(), found.group()) for found in _WORD.finditer(text)]
        starts = [_beginning(form, words) for form in self._within if not isinstance(form, str)]
        return min((at for at in starts if at is not None), default=len(text))

    def _spans(self, text: str) -> Iterable[tuple[int, int]]:
        for form in self._within:
            pattern = re.compile(re.escape(form)) if isinstance(form, str) else form
            yield from (found.span() for found in pattern.finditer(text))
        yield from self._encoded.spans(text)

    def value(self, value: object) -> object:
        """A JSON value with each secret replaced, in keys too."""
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if value is None or isinstance(value, bool):
            return value
        if str(value) in self._whole:
            return MASK
        return self.text(value) if isinstance(value, str) else value


def _source(form: str | re.Pattern[str]) -> str:
    return form if isinstance(form, str) else form.pattern


def _beginning(form: re.Pattern[str], words: Sequence[tuple[int, str]]) -> int | None:
    """Where the words end with the first ones of the form, as many as do, but not with all."""
    first, *others = (re.compile(word) for word in form.pattern.split(_BETWEEN_WORDS))
    for count in range(min(len(others), len(words)), 0, -1):
        (start, opening), *rest = words[-count:]
        begun = re.search(f"{first.pattern}$", opening)
        goes_on = zip(others, rest, strict=False)
        if begun and all(other.fullmatch(word) for other, (_, word) in goes_on):
            return start + begun.start()
    return None


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in their order, those that overlap as one."""
    merged: list[tuple[int, int]] = []
    for begin, stop in sorted(spans):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((begin, stop))
    return merged


def _leaves(value: object) -> Iterable[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _looked_for(form: str) -> str | re.Pattern[str]:
    words = form.split()
    if len(words) < 2 or len("".join(words)) < _SHORTEST_IN_TEXT:
        return form
    return re.compile(_BETWEEN_WORDS.join(re.escape(word) for word in words))


def _forms(text: str) -> Iterable[str]:
    """The ways in which tools print a value."""
    yield text
    yield text.strip()
    yield from _in_base64(text)
    yield from _in_urls(text)
    yield from _in_programs(text)
    escaped = {text}
    # JSON within JSON: a policy document in an attribute, which Terraform escapes once more.
    for _ in range(_JSON_LEVELS):
        escaped = {again for one in escaped for again in _escaped(one)}
        yield from escaped
    if "\n" in text:
        yield from (line.strip() for line in text.splitlines())


def _escaped(text: str) -> Iterable[str]:
    """As JSON and HCL escape it."""
    readable = json.dumps(text, ensure_ascii=False)[1:-1]
    yield readable
    yield json.dumps(text)[1:-1]
    yield readable.translate(_GO_JSON)
    yield readable.replace("${", "$${").replace("%{", "%%{")


def _in_base64(text: str) -> Iterable[str]:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(text.encode()).decode()
        yield encoded
        yield encoded.rstrip("=")


def _in_urls(text: str) -> Iterable[str]:
    for encoded in _percent(text):
        yield encoded
        yield _HEX.sub(lambda found: found.group().lower(), encoded)


def _percent(text: str) -> Iterable[str]:
    yield quote(text)
    yield quote(text, safe="")
    yield quote_plus(text)
    # JavaScript's.
    yield quote(text, safe="!'()*")
    # What Go leaves as it is in a path, and in a user's name and password.
    yield quote(text, safe="$&+=:@")
    yield quote(text, safe="$&+,;=")


def _in_programs(text: str) -> Iterable[str]:
    """As shells trace it (`set -x`), and as Python and markup show it."""
    yield text.replace("'", "'\\''")
    yield text.replace("'", "'\"'\"'")
    yield repr(text)[1:-1]
    marked_up = html.escape(text, quote=False)
    for double in ('"', "&quot;", "&#34;"):
        for single in ("'", "&#x27;", "&#39;", "&apos;"):
            yield marked_up.replace('"', double).replace("'", single)
