"""Reads a step's outputs file: lines of `key=value`, or JSON objects, merged in order."""

import errno
import json
import math
import os
import re
from pathlib import Path

from pydantic import JsonValue

from contracts.errors import EngineFailed
from store.left_files import NoFileLeft, read_left

LARGEST_BYTES = 1024 * 1024
"""Anything larger belongs in a file of its own."""

_DEEPEST = 64
"""Levels of nested lists and objects. Readers of a result fail at some 200 levels, including those
around the outputs."""

_NAME = re.compile(r"\w[\w.-]{0,127}")

_WRAPPED = re.compile(r"[A-Za-z0-9+/]*")
_WRAPS_AT = (64, 76)
"""Where `openssl base64` and `base64` break lines."""

_REST = re.compile(r"[A-Za-z0-9+/]{1,76}={1,2}")
"""The last line of base64 that ends with padding, which looks like a name."""

_OF_THE_MACHINE = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""The machine is short of something, which may pass; any other error is the file's fault."""


def read_outputs_file(file: Path) -> dict[str, JsonValue]:
    """Read a step's outputs file; if the step removed it, there are no outputs. Blocks.

    Raises:
        EngineFailed: it is not a regular file, or too large; otherwise as `parse_outputs`.
    """
    try:
        return parse_outputs(read_left(file, LARGEST_BYTES))
    except FileNotFoundError:
        return {}
    except PermissionError:
        raise EngineFailed("the outputs file may not be read by the worker's user") from None
    except NoFileLeft as error:
        raise EngineFailed(f"the outputs file {error.why}") from None
    except OSError as error:
        if error.errno in _OF_THE_MACHINE:
            raise
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        raise EngineFailed(f"the outputs file cannot be read: {why}") from None


def parse_outputs(content: bytes) -> dict[str, JsonValue]:
    """Parse the content of an outputs file; if a key comes twice, the later value counts.

    Raises:
        EngineFailed: a line has neither of the two forms; the message names it.
    """
    if len(content) > LARGEST_BYTES:
        raise EngineFailed(
            f"the outputs file has {len(content)} bytes; at most {LARGEST_BYTES} are allowed"
        )
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise EngineFailed("the outputs file is not UTF-8") from None
    found: dict[str, JsonValue] = {}
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
        elif text[position] == "{":
            one, position = _object(text, position)
            found.update(one)
        else:
            end = text.find("\n", position)
            end = len(text) if end < 0 else end
            name, value = _line(text, position, end)
            found[name] = value
            position = end
    return found


def _object(text: str, position: int) -> tuple[dict[str, JsonValue], int]:
    try:
        decoder = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
        found, end = decoder.raw_decode(text, position)
        _require_shallow(found)
        # A \u escape may be half of a surrogate pair, which cannot be encoded.
        json.dumps(found, ensure_ascii=False).encode()
    except RecursionError:
        why = "it is nested too deeply"
    except UnicodeEncodeError:
        why = "it holds half of a character"
    except ValueError as error:
        why = error.args[0].split(":")[0]
    else:
        return found, end
    raise EngineFailed(
        f"the outputs file has a broken JSON object at line {_line_number(text, position)} ({why})"
    )


def _refuse(constant: str) -> object:
    """Python would accept NaN and Infinity, which are not JSON."""
    raise ValueError(f"{constant} is not JSON")


def _finite(number: str) -> float:
    """Python reads too large a number as infinity, which would be sent as null."""
    found = float(number)
    if not math.isfinite(found):
        raise ValueError("it holds too large a number")
    return found


def _require_shallow(found: object) -> None:
    level = [found]
    for _ in range(_DEEPEST):
        lists = [list(one.values()) if isinstance(one, dict) else one for one in level]
        level = [inner for one in lists if isinstance(one, list) for inner in one]
    if level:
        raise RecursionError


def _line(text: str, start: int, end: int) -> tuple[str, str]:
    line = text[start:end].rstrip("\r")
    name, equals, value = line.partition("=")
    if not equals or not name.strip():
        raise _wrong(text, start, "is neither key=value nor a JSON object")
    if _NAME.fullmatch(name.strip()) is None:
        raise _wrong(
            text,
            start,
            "has a name that is none: letters, digits, `_`, `-` and `.`, at most 128 of them. A "
            "value of several lines is written as JSON",
        )
    if _REST.fullmatch(line) and len(line) % 4 == 0 and _is_wrapped(text[:start]):
        raise _wrong(
            text,
            start,
            "goes on with the base64 of the line before it, which `base64` breaks at 76 "
            "characters; pipe it through `tr -d '\\n'`",
        )
    return name.strip(), value


def _is_wrapped(before: str) -> bool:
    """Whether the text ends with a line of base64 that is as long as those that go on."""
    line = before.removesuffix("\n").rpartition("\n")[2].rstrip("\r")
    value = line.rpartition("=")[2]
    return len(value) in _WRAPS_AT and _WRAPPED.fullmatch(value) is not None


def _wrong(text: str, start: int, what: str) -> EngineFailed:
    """Without what the line says: it may be a part of a secret."""
    return EngineFailed(f"line {_line_number(text, start)} of the outputs file {what}")


def _line_number(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
