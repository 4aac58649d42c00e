"""sprig's encodings, checksums, and paths."""

import re
from collections.abc import Mapping

from apps.templates.functions.function import STRING, Function, typed
from apps.templates.go_types import decoded, encoded
from apps.templates.limits import check_text

_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")
_NOT_BASE32 = re.compile(rb"[^A-Z2-7]")


def _to_base64(text: str) -> str:
    import base64  # noqa: PLC0415 - few templates need it

    check_text(len(text) * 4 // 3)
    return base64.b64encode(encoded(text)).decode("ascii")


def _from_base64(text: str) -> str:
    """The decoded text. If it is not base64, the result is Go's error message, as in sprig."""
    import base64  # noqa: PLC0415 - few templates need it

    wrong = _wrong_in_base64(encoded(text))
    if wrong is not None:
        return f"illegal base64 data at input byte {wrong}"
    return decoded(base64.b64decode(encoded(text)))


def _wrong_in_base64(data: bytes) -> int | None:
    """Where Go's decoder stops: lines may end within the text, and nothing follows the padding."""
    places = [at for at, byte in enumerate(data) if byte not in b"\r\n"] if b"\n" in data or (
        b"\r" in data
    ) else range(len(data))  # fmt: skip
    plain = data.translate(None, b"\r\n")
    found = _NOT_BASE64.search(plain)
    if found is None:
        unpaired = len(plain) % 4
        # Go names the place where the last, incomplete group begins.
        return len(data) - unpaired if unpaired else None
    at = found.start()
    within = at % 4
    if plain[at : at + 1] != b"=" or within < 2:
        return places[at]
    if within == 3:
        end = at + 1
    else:
        if at + 1 == len(plain):
            return len(data)
        if plain[at + 1 : at + 2] != b"=":
            return places[at + 1] - 1
        end = at + 2
    return places[end] if end < len(plain) else None


def _to_base32(text: str) -> str:
    import base64  # noqa: PLC0415 - few templates need it

    check_text(len(text) * 8 // 5)
    return base64.b32encode(encoded(text)).decode("ascii")


def _from_base32(text: str) -> str:
    """The decoded text. If it is not base32, the result is Go's error message, as in sprig."""
    import base64  # noqa: PLC0415 - few templates need it

    plain = encoded(text).translate(None, b"\r\n")
    wrong, end = _wrong_in_base32(plain)
    if wrong is not None:
        return f"illegal base32 data at input byte {wrong}"
    return decoded(base64.b32decode(plain[:end]))


def _wrong_in_base32(data: bytes) -> tuple[int | None, int]:
    """Where Go's decoder stops, or None; and where the text ends."""
    size = len(data)
    found = _NOT_BASE32.search(data)
    if found is None:
        unpaired = size % 8
        return (size - unpaired if unpaired else None), size
    at = found.start()
    within = at % 8
    left = size - at - 1
    if data[at : at + 1] != b"=" or within < 2 or left >= 8:
        return at, size
    if left + within < 7:
        return size, size
    for index in range(7 - within):
        if left > index and data[at + 1 + index : at + 2 + index] != b"=":
            return at + index, size
    if within in (3, 6):
        return at, size
    return None, at + 8 - within


def _digest(name: str, text: str) -> str:
    import hashlib  # noqa: PLC0415 - few templates need it

    return hashlib.new(name, encoded(text), usedforsecurity=False).hexdigest()


def _adler32(text: str) -> str:
    import zlib  # noqa: PLC0415 - few templates need it

    return str(zlib.adler32(encoded(text)))


def _base(path: str) -> str:
    if not path:
        return "."
    return path.rstrip("/").rpartition("/")[2] or "/"


def _clean(path: str) -> str:
    """The shortest equal path: without `.`, and without `..` if possible."""
    rooted = path.startswith("/")
    parts: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            parts.append(part)
        elif parts and parts[-1] != "..":
            parts.pop()
        elif not rooted:
            parts.append(part)
    return ("/" if rooted else "") + "/".join(parts) or "."


def _dir(path: str) -> str:
    return _clean(path[: path.rfind("/") + 1])


def _ext(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :] if "." in name else ""


_PATHS: Mapping[str, Function] = {
    "base": typed(_base, STRING),
    "clean": typed(_clean, STRING),
    "dir": typed(_dir, STRING),
    "ext": typed(_ext, STRING),
    "isAbs": typed(lambda path: path.startswith("/"), STRING),
}

FUNCTIONS: Mapping[str, Function] = {
    "b64enc": typed(_to_base64, STRING),
    "b64dec": typed(_from_base64, STRING),
    "b32enc": typed(_to_base32, STRING),
    "b32dec": typed(_from_base32, STRING),
    "sha1sum": typed(lambda text: _digest("sha1", text), STRING),
    "sha256sum": typed(lambda text: _digest("sha256", text), STRING),
    "sha512sum": typed(lambda text: _digest("sha512", text), STRING),
    "adler32sum": typed(_adler32, STRING),
    **_PATHS,
    # A plan is made on Linux.
    **{f"os{name[0].upper()}{name[1:]}": function for name, function in _PATHS.items()},
}
