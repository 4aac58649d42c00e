"""The audit log's hash chain: each line holds the hash of the line before, and its own hash.

A line is one JSON object in canonical form, so that any changed byte is noticed. The chain proves
that nothing in it was changed, removed or reordered. Only a head that was kept elsewhere proves
that nothing was cut off at its end.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

NOTHING_BEFORE: Final = "sha256:" + "0" * 64
"""Stands in the first line as the hash of the line before."""

_MOST_PROBLEMS: Final = 20


class NoLine(ValueError):
    """Bytes that are not a line of an audit log."""


@dataclass(frozen=True)
class Head:
    """A position in the chain: the number of a line, and its hash."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    @staticmethod
    def parse(text: str) -> "Head | None":
        """The head that the text spells, or None."""
        found = re.fullmatch(_WRITTEN, text, re.ASCII)
        return Head(int(found[1]), found[2]) if found else None

    @staticmethod
    def all_in(log: str) -> "list[Head]":
        """Every head that the worker wrote to its process log, in the words of `HEAD_MESSAGE`."""
        return [Head(int(number), found) for number, found in _HEAD_LINE.findall(log)]


_WRITTEN: Final = r"([1-9]\d{0,17}):(sha256:[0-9a-f]{64})"
HEAD_MESSAGE: Final = "The worker's journal is at %s."
"""How the worker names a head in its process log; customers' logs hold it, so it must stay as it
is. No other line of that log contains these words, even if it quotes the control plane:
`without_heads`."""

_HEAD_LINE: Final = re.compile(
    re.escape(HEAD_MESSAGE).replace(re.escape("%s"), _WRITTEN) + "$", re.ASCII | re.MULTILINE
)
_WORDS: Final = HEAD_MESSAGE.partition(" %s")[0]


def without_heads(line: str) -> str:
    """A line of the process log, changed so that it cannot be read as naming a head."""
    return line.replace(_WORDS, "The worker's journal is said to be at")


START: Final = Head(0, NOTHING_BEFORE)


@dataclass(frozen=True)
class Line:
    """One line of the chain."""

    number: int
    previous: str
    at: str
    """UTC, ISO 8601."""
    kind: str
    facts: Mapping[str, Any]
    hash: str

    @property
    def head(self) -> Head:
        """The line's position in the chain."""
        return Head(self.number, self.hash)

    def render(self) -> bytes:
        """The line as it is in the file, without the line break."""
        return _canonical(_content(self) | {"hash": self.hash})


def make_line(after: Head, at: str, kind: str, facts: Mapping[str, Any]) -> Line:
    """The line that follows the position `after` in the chain."""
    line = Line(after.number + 1, after.hash, at, kind, facts, "")
    return Line(line.number, line.previous, at, kind, facts, _hash(line))


def parse_line(raw: bytes) -> Line:
    """Reads a line of the file; `verify` checks its hash.

    Raises:
        NoLine: it does not have the form of a line.
    """
    try:
        read = json.loads(raw)
        facts = {key: value for key, value in read.items() if key not in _OWN}
        line = Line(facts=facts, **{key: read[key] for key in _OWN})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NoLine(f"it is not a line of an audit log ({type(error).__name__})") from error
    texts = (line.previous, line.at, line.kind, line.hash)
    if type(line.number) is not int or not all(isinstance(text, str) for text in texts):
        raise NoLine("one of its fields has the wrong type")
    return line


def is_whole(line: Line, raw: bytes) -> bool:
    """Whether the line, byte by byte, matches its own hash."""
    return line.hash == _hash(line) and line.render() == raw


@dataclass
class Verified:
    """The result of verifying a whole chain."""

    count: int = 0
    first: Line | None = None
    last: Line | None = None
    problems: list[str] = field(default_factory=list)
    more: int = 0
    """The number of further problems, which are not listed."""
    torn: int = 0
    """The number of torn lines that were set aside."""
    unended: int = 0
    """The number of tasks whose end is not in the audit log: the worker was killed, or still works
    on them."""

    def add(self, problem: str) -> None:
        """List the problem, or only count it if there are many."""
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(problem)
        else:
            self.more += 1


def verify(raws: Iterable[bytes], heads: Iterable[Head] = (), first: int = 1) -> Verified:
    """Check every line of a chain.

    Args:
        raws: The lines as they are in the files, each without its line break.
        heads: Heads that were kept elsewhere and must be in the chain.
        first: The number of the oldest line that must be there.

    Returns:
        What was found; each problem names its line by number.
    """
    found = Verified()
    wanted: dict[int, set[str]] = {}
    for head in heads:
        if head.number >= first:
            wanted.setdefault(head.number, set()).add(head.hash)
    unended: set[int] = set()
    expected, before = first, None
    for raw in raws:
        found.count += 1
        try:
            line = parse_line(raw)
        except NoLine as error:
            found.add(f"line {expected} was changed: {error}")
            expected, before = expected + 1, None
            continue
        for problem in _problems(line, raw, expected, before, first):
            found.add(problem)
        for kept in sorted(wanted.pop(line.number, set()) - {line.hash}):
            found.add(f"line {line.number} is not the one of the kept head {kept}")
        found.first, found.last = found.first or line, line
        _count(line, found, unended)
        expected, before = line.number + 1, line
    found.unended = len(unended)
    for number in sorted(wanted):
        for kept in sorted(wanted[number]):
            found.add(
                f"line {number}, of the kept head {kept}, is missing: the audit log ends with "
                f"line {expected - 1}"
            )
    return found


def _problems(
    line: Line, raw: bytes, expected: int, before: Line | None, first: int
) -> Iterator[str]:
    if line.number > expected:
        missing = line.number - 1
        lines = (
            f"line {expected} is" if missing == expected else f"lines {expected} to {missing} are"
        )
        yield f"{lines} missing"
    elif line.number < expected:
        yield f"line {line.number} stands where line {expected} belongs"
    if not is_whole(line, raw):
        yield f"line {line.number} was changed: its hash is not that of its content"
    if line.number == 1:
        follows = line.previous == NOTHING_BEFORE
    else:
        # After a gap, which is reported already, the line before is unknown.
        follows = before is None or line.number != before.number + 1 or line.previous == before.hash
    if not follows:
        yield f"line {line.number} does not follow line {line.number - 1}: one of them was changed"


def _count(line: Line, found: Verified, unended: set[int]) -> None:
    match line.kind:
        case "told":
            unended.add(line.number)
        case "ended":
            unended -= {line.facts["told"]} if type(line.facts.get("told")) is int else set()
        case "torn":
            found.torn += 1


_OWN: Final = ("number", "previous", "at", "kind", "hash")


def _content(line: Line) -> dict[str, Any]:
    own = {"number": line.number, "previous": line.previous, "at": line.at, "kind": line.kind}
    return {**line.facts, **own}


def _hash(line: Line) -> str:
    return f"sha256:{hashlib.sha256(_canonical(_content(line))).hexdigest()}"


def _canonical(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
