"""sprig's URLs, as Go's net/url reads and writes them."""

import re
from collections.abc import Mapping

from apps.templates.errors import FunctionError
from apps.templates.functions.function import MAP, STRING, Function, typed
from apps.templates.go_types import Map, decoded, encoded, kind_of

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
_HOST = frozenset(_UNRESERVED + b"!$&'()*+,;=:[]<>\"")
_PATH = frozenset(_UNRESERVED + b"$&+,/:;=@")
_USER = frozenset(_UNRESERVED + b"$&+,;=")
_FRAGMENT = frozenset(_UNRESERVED + b"$&+,/:;=?@!()*")
_USER_ALLOWED = frozenset(_UNRESERVED + b":!$&'()*+,;=%@")
_ESCAPE = re.compile(rb"%(?:([0-9A-Fa-f]{2})|)")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def _escaped(text: str, allowed: frozenset[int]) -> str:
    return "".join(chr(byte) if byte in allowed else f"%{byte:02X}" for byte in encoded(text))


def _unescaped(text: str) -> str:
    def byte(found: re.Match[bytes]) -> bytes:
        if found[1] is None:
            raise FunctionError("the URL has a `%` that is no escape of two hexadecimal digits")
        return bytes([int(found[1], 16)])

    return decoded(_ESCAPE.sub(byte, encoded(text)))


def _parse(text: str) -> Map:
    found = dict.fromkeys(
        ("scheme", "host", "hostname", "path", "query", "opaque", "fragment", "userinfo"), ""
    )
    text, _, fragment = text.partition("#")
    if any(char < " " or char == "\x7f" for char in text):
        raise FunctionError("the URL has a control character")
    found["fragment"] = _unescaped(fragment)
    if text == "*":
        return Map({**found, "path": "*"})
    scheme, rest = _scheme(text)
    found["scheme"] = scheme
    rest, _, found["query"] = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Map({**found, "opaque": rest})
        if ":" in rest.partition("/")[0]:
            raise FunctionError("the first part of the URL's path has a colon")
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, at, host = authority.rpartition("@")
        found["host"] = _host(host)
        found["hostname"] = _host_name(found["host"])
        found["userinfo"] = _user(user) if at else ""
    found["path"] = _unescaped(rest)
    return Map(found)


def _scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise FunctionError("the URL's scheme is missing before the colon")
    found = _SCHEME.match(text)
    return (found[1].lower(), text[found.end() :]) if found else ("", text)


def _host(text: str) -> str:
    bracket = text.rfind("[")
    if bracket > 0:
        raise FunctionError("the URL's host has a `[` that does not begin it")
    port_at = text.rfind(":")
    if bracket == 0:
        close = text.rfind("]")
        if close < 0:
            raise FunctionError("the URL's host has no closing `]`")
        _check_address(text[1:close])
        port_at = close + 1
    if port_at >= 0 and not re.fullmatch(r"(?::[0-9]*)?", text[port_at:]):
        raise FunctionError("the URL's port is not a number")
    if bracket == 0:
        address, zone, name = text[:port_at].partition("%25")
        return address + ("%" + _unescaped(name) if zone else "") + text[port_at:]
    for found in _ESCAPE.finditer(encoded(text)):
        # Only what is not ASCII may be escaped in a host.
        if found[1] is None or int(found[1], 16) < 0x80:
            raise FunctionError("the URL's host has an escape that is not allowed there")
    if any(byte < 0x80 and byte not in _HOST and byte != 0x25 for byte in encoded(text)):
        raise FunctionError("the URL's host has a character that is not allowed there")
    return _unescaped(text)


def _check_address(text: str) -> None:
    import ipaddress  # noqa: PLC0415 - few templates need it

    address, _, zone = text.partition("%25")
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        raise FunctionError("the URL's host in brackets is not an IPv6 address") from None
    if "%25" in text and not zone:
        raise FunctionError("the URL's host has an empty zone")


def _host_name(host: str) -> str:
    if host.startswith("["):
        return host[1 : host.rfind("]")]
    name, colon, port = host.rpartition(":")
    return name if colon and re.fullmatch(r"[0-9]*", port) else host


def _user(text: str) -> str:
    """A user's name and password, escaped in the one way that Go writes them."""
    if any(byte not in _USER_ALLOWED for byte in encoded(text)):
        raise FunctionError("the URL's user has a character that is not allowed there")
    name, colon, password = text.partition(":")
    return colon.join(
        _escaped(_unescaped(part), _USER) for part in ((name, password) if colon else (name,))
    )


def _join(parts: Mapping[str, object]) -> str:
    scheme, host, path = _part(parts, "scheme"), _part(parts, "host"), _part(parts, "path")
    query, opaque, fragment = (_part(parts, key) for key in ("query", "opaque", "fragment"))
    userinfo = _part(parts, "userinfo")
    user, has_user = _user_of(userinfo)
    made = f"{scheme}:" if scheme else ""
    if opaque:
        made += opaque
    else:
        if (scheme or host or has_user) and (host or path or has_user):
            made += "//" + (f"{user}@" if has_user else "") + _escaped(host, _HOST)
        escaped = "*" if path == "*" else _escaped(path, _PATH)
        if escaped and not escaped.startswith("/") and host:
            made += "/"
        if not made and ":" in escaped.partition("/")[0]:
            made += "./"
        made += escaped
    made += f"?{query}" if query else ""
    return made + (f"#{_escaped(fragment, _FRAGMENT)}" if fragment else "")


def _user_of(userinfo: str) -> tuple[str, bool]:
    if not userinfo:
        return "", False
    # sprig reads it as that part of a URL, which may end before it does.
    rest = userinfo.partition("#")[0].partition("?")[0]
    authority = f"{rest}@host" if rest == userinfo else rest
    authority = authority.partition("/")[0]
    user, at, host = authority.rpartition("@")
    _host(host)
    return (_user(user), True) if at else ("", False)


def _part(parts: Mapping[str, object], key: str) -> str:
    value = parts.get(key, "")
    if not isinstance(value, str):
        raise FunctionError(f"the {key} of a URL must be a string, not a {kind_of(value)}")
    return value


FUNCTIONS: Mapping[str, Function] = {
    "urlParse": typed(_parse, STRING),
    "urlJoin": typed(_join, MAP),
}
