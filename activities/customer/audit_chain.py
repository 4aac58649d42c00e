"""The chain of the worker's journal: each line holds the hash of the line before and its own.

A line is one JSON object in its one canonical form, so that no byte of it can be changed unseen. A
chain proves that nothing within it was changed, removed or put in another order. That nothing was
cut off at its end is proven only by a head that was kept elsewhere.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

NOTHING_BEFORE: Final = "sha256:" + "0" * 64
"""What the first line holds as the hash of the line before."""

_PROBLEMS_TOLD: Final = 20


class NoLine(ValueError):
    """Bytes that are no line of a journal."""


@dataclass(frozen=True)
class Head:
    """A place in the chain: the number of a line, and its hash."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    @staticmethod
    def parse(text: str) -> "Head | None":
        """The head that a text is, or None."""
        found = re.fullmatch(_WRITTEN, text, re.ASCII)
        return Head(int(found[1]), found[2]) if found else None

    @staticmethod
    def all_told_in(log: str) -> "list[Head]":
        """Every head that the worker told in its log, in its own words for it."""
        return [Head(int(number), found) for number, found in _TOLD.findall(log)]


_WRITTEN: Final = r"([1-9]\d{0,17}):(sha256:[0-9a-f]{64})"
TELLS_HEAD: Final = "The worker's journal is at %s."
"""The words in which the worker's log tells a head. No other line of it has them, whatever others
chose of that: `without_heads`."""

_TOLD: Final = re.compile(
    re.escape(TELLS_HEAD).replace(re.escape("%s"), _WRITTEN) + "$", re.ASCII | re.MULTILINE
)
_WORDS: Final = TELLS_HEAD.partition(" %s")[0]


def without_heads(line: str) -> str:
    """A line of the log that tells of something else, in which nobody reads a head."""
    return line.replace(_WORDS, "The worker's journal is said to be at")


START: Final = Head(0, NOTHING_BEFORE)


@dataclass(frozen=True)
class Line:
    """One line."""

    number: int
    previous: str
    at: str
    """UTC, ISO 8601."""
    kind: str
    facts: Mapping[str, Any]
    hash: str

    @property
    def head(self) -> Head:
        """The place of the line."""
        return Head(self.number, self.hash)

    def render(self) -> bytes:
        """The line as it stands in the file, without the end of line."""
        return _canonical(_content(self) | {"hash": self.hash})


def make_line(after: Head, at: str, kind: str, facts: Mapping[str, Any]) -> Line:
    """The line that follows a place in the chain."""
    line = Line(after.number + 1, after.hash, at, kind, facts, "")
    return Line(line.number, line.previous, at, kind, facts, _hash(line))


def parse_line(raw: bytes) -> Line:
    """A line of the file; whether its hash is right is for `verify` to say.

    Raises:
        NoLine: it does not have a line's form.
    """
    try:
        read = json.loads(raw)
        facts = {key: value for key, value in read.items() if key not in _OWN}
        line = Line(facts=facts, **{key: read[key] for key in _OWN})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NoLine(f"it is no line of a journal ({type(error).__name__})") from error
    texts = (line.previous, line.at, line.kind, line.hash)
    if type(line.number) is not int or not all(isinstance(text, str) for text in texts):
        raise NoLine("a field of it has another type")
    return line


def is_whole(line: Line, raw: bytes) -> bool:
    """Whether the line is what its own hash says, byte by byte."""
    return line.hash == _hash(line) and line.render() == raw


@dataclass
class Verified:
    """What looking at a whole chain has come to."""

    count: int = 0
    first: Line | None = None
    last: Line | None = None
    problems: list[str] = field(default_factory=list)
    more: int = 0
    """Problems besides those that are told."""
    torn: int = 0
    """Lines that tell of torn ones that were set aside."""
    unended: int = 0
    """Things told to the worker whose end is not in the journal: it was killed, or is at work."""

    def add(self, problem: str) -> None:
        """Keep a problem, or count it."""
        if len(self.problems) < _PROBLEMS_TOLD:
            self.problems.append(problem)
        else:
            self.more += 1


def verify(raws: Iterable[bytes], heads: Iterable[Head] = (), first: int = 1) -> Verified:
    """Look at every line of a chain.

    Args:
        raws: The lines as they stand in the files, each without its end of line.
        heads: Places that must be in it.
        first: The number of the oldest line that must be there.

    Returns:
        What was found; a problem names the line by its number.
    """
    found = Verified()
    wanted: dict[int, set[str]] = {}
    for head in heads:
        if head.number >= first:
            wanted.setdefault(head.number, set()).add(head.hash)
    told: set[int] = set()
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
        _count(line, found, told)
        expected, before = line.number + 1, line
    found.unended = len(told)
    for number in sorted(wanted):
        for kept in sorted(wanted[number]):
            found.add(
                f"line {number}, of the kept head {kept}, is missing: the journal ends with line "
                f"{expected - 1}"
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
        # After a gap, which is told already, nobody knows what the line before was.
        follows = before is None or line.number != before.number + 1 or line.previous == before.hash
    if not follows:
        yield f"line {line.number} does not follow line {line.number - 1}: one of them was changed"


def _count(line: Line, found: Verified, told: set[int]) -> None:
    match line.kind:
        case "told":
            told.add(line.number)
        case "ended":
            told -= {line.facts["told"]} if type(line.facts.get("told")) is int else set()
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
