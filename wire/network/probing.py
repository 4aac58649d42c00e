"""Tries to reach a host step by step, and describes which step fails, and why.

Each step blocks, limited by its socket's timeout. `bounded` runs a step in a daemon thread, since
an unresponsive name server can block a thread for longer than that.
"""

import errno
import http.client
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar

from cryptography import x509
from cryptography.x509.oid import NameOID

from wire.network.daemon_thread import in_daemon_thread
from wire.network.egress import Proxy, host_and_port
from wire.network.proxy_tunnel import ask_for_tunnel

SECONDS: Final = 10.0
"""The limit of each step."""
_MOST_ADDRESSES: Final = 8

T = TypeVar("T")


class Fails(Exception):
    """A step fails; says why, and what to do."""

    def __init__(self, said: str, what_to_do: str) -> None:
        super().__init__(said)
        self.said = said
        self.what_to_do = what_to_do


@dataclass(frozen=True)
class Host:
    """A host to reach."""

    name: str
    """A name, or an address without brackets."""
    port: int
    proxy: Proxy | None = None
    trust: ssl.SSLContext | None = None
    """The authorities that may have signed its certificate; None without TLS."""

    @property
    def address(self) -> str:
        """`host:port`."""
        return host_and_port(self.name, self.port)

    @property
    def dialled(self) -> tuple[str, int]:
        """The address to connect to: the host's, or its proxy's."""
        return (self.proxy.host, self.proxy.port) if self.proxy else (self.name, self.port)


async def bounded(step: Callable[[], T], seconds: float = SECONDS) -> T:
    """Run a blocking step.

    Raises:
        Fails: the step fails, or takes too long.
    """
    try:
        return await in_daemon_thread(step, seconds)
    except TimeoutError:
        raise Fails(f"nothing came back within {seconds:.0f} s", "Try again; see above.") from None


def resolve(host: Host) -> list[str]:
    """The addresses of the host, or of its proxy.

    Raises:
        Fails: it has none, or no name server answers.
    """
    name, port = host.dialled
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            raise Fails(
                f"no name server answers about {name}",
                "Look at /etc/resolv.conf, and let this machine reach its name servers (port 53).",
            ) from None
        raise Fails(
            f"{name} has no address here ({error.strerror})",
            "Is it spelled right, and known to this network's name servers? A network whose names "
            "only a proxy knows needs HTTPS_PROXY set.",
        ) from None
    except UnicodeError:
        raise Fails(f"{name} is not a host name", "Correct it in the enrolment file.") from None
    return list(dict.fromkeys(str(one[4][0]) for one in found))[:_MOST_ADDRESSES]


def connect(address: str, port: int) -> socket.socket:
    """A connection to one address.

    Raises:
        Fails: there is none.
    """
    where = host_and_port(address, port)
    try:
        return socket.create_connection((address, port), timeout=SECONDS - 1)
    except TimeoutError:
        raise Fails(
            f"{where} does not answer: packets are dropped",
            f"Open outgoing TCP to port {port} in the firewall, security group or network ACL.",
        ) from None
    except OSError as error:
        why = {
            errno.ECONNREFUSED: ("refuses connections", "Is it up, and is the port right?"),
            errno.ENETUNREACH: (
                f"has no route from here ({'IPv6' if ':' in address else 'IPv4'})",
                "Give this machine a route of that kind, or the host an address of the other.",
            ),
            errno.EHOSTUNREACH: ("cannot be reached", "Look at routes and firewalls."),
        }.get(error.errno or 0, (str(error.strerror or error), "Look at routes and firewalls."))
        raise Fails(f"{where} {why[0]}", why[1]) from None


def tunnel(connection: socket.socket, host: Host, proxy: Proxy) -> None:
    """Ask the proxy for a tunnel to the host.

    Raises:
        Fails: the proxy refuses, or does not answer.
    """
    try:
        status, reason = ask_for_tunnel(connection, host.address, proxy)
    except (OSError, http.client.HTTPException) as error:
        raise Fails(
            f"{proxy.address} does not answer as an HTTP proxy ({type(error).__name__})",
            "Is HTTPS_PROXY the address of an HTTP proxy, http://host:port?",
        ) from None
    if status == http.client.OK:
        return
    refusal = f"the proxy {proxy.address} answers {status} {_plain(reason)}"
    if status == http.client.PROXY_AUTHENTICATION_REQUIRED:
        given = "the user and password in HTTPS_PROXY" if proxy.user else "no user"
        raise Fails(
            f"{refusal}: it was given {given}",
            "Set HTTPS_PROXY=http://USER:PASSWORD@host:port (Basic; characters such as @ as %40).",
        )
    if status in (http.client.FORBIDDEN, http.client.METHOD_NOT_ALLOWED):
        raise Fails(refusal, f"Have the proxy allow CONNECT to {host.address}.")
    raise Fails(
        refusal, f"Can the proxy itself reach {host.address}? If it need not, name it in NO_PROXY."
    )


@dataclass(frozen=True)
class Shown:
    """The certificate that a host showed."""

    subject: str
    names: tuple[str, ...]
    issuer: str
    begins: datetime
    ends: datetime

    @staticmethod
    def of(der: bytes) -> "Shown":
        """Read a certificate; raises ValueError."""
        found = x509.load_der_x509_certificate(der)
        try:
            named = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            names = tuple(_plain(str(one.value)) for one in named)
        except x509.ExtensionNotFound:
            names = ()
        return Shown(
            _named(found.subject),
            names,
            _named(found.issuer),
            found.not_valid_before_utc,
            found.not_valid_after_utc,
        )


def handshake(host: Host, address: str, trust: ssl.SSLContext) -> Shown:
    """Perform a TLS handshake with the host, on a new connection.

    Raises:
        Fails: its certificate is not trusted, or there is no TLS.
    """
    try:
        return _shaken(host, address, trust)
    except ssl.SSLCertVerificationError as error:
        raise _about_certificate(host, error, _whatever_it_shows(host, address)) from None
    except ssl.SSLError as error:
        raise Fails(
            f"what answers speaks no TLS that this machine can use ({error.reason})",
            "Is the port right? Does something in between answer in the host's place?",
        ) from None
    except (OSError, ValueError) as error:
        raise Fails(
            f"the connection is cut during the TLS handshake ({type(error).__name__})",
            f"If a firewall filters by host name, it has to let {host.name} through.",
        ) from None


def _shaken(host: Host, address: str, trust: ssl.SSLContext) -> Shown:
    with connect(address, host.dialled[1]) as connection:
        if host.proxy is not None:
            tunnel(connection, host, host.proxy)
        with trust.wrap_socket(connection, server_hostname=host.name) as secured:
            return Shown.of(secured.getpeercert(binary_form=True) or b"")


def _whatever_it_shows(host: Host, address: str) -> Shown | None:
    """The certificate that was not trusted; used only to describe it."""
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.check_hostname = False
    trust.verify_mode = ssl.CERT_NONE
    try:
        return _shaken(host, address, trust)
    except (OSError, ValueError, Fails):
        return None


_EXPIRED, _NOT_YET, _OTHER_NAME, _OTHER_ADDRESS = 10, 9, 62, 64
_SELF_SIGNED: Final = 18
"""OpenSSL's codes of verification errors."""


def _about_certificate(
    host: Host, error: ssl.SSLCertVerificationError, shown: Shown | None
) -> Fails:
    issuer = f"issued by {shown.issuer!r}" if shown else "whose content is not known"
    match error.verify_code:
        case code if code == _EXPIRED:
            since = f" since {shown.ends:%Y-%m-%d %H:%M} UTC" if shown else ""
            return Fails(
                f"a certificate, {issuer}, has expired{since}, by this machine's clock",
                "Is the clock right (timedatectl)? If so, the host's operator has to renew it.",
            )
        case code if code == _NOT_YET:
            begins = f" before {shown.begins:%Y-%m-%d %H:%M} UTC" if shown else ""
            return Fails(
                f"its certificate, {issuer}, is not valid{begins}, and here it is "
                f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
                "Set this machine's clock (timedatectl set-ntp true).",
            )
        case code if code in (_OTHER_NAME, _OTHER_ADDRESS):
            names = ", ".join(shown.names) if shown and shown.names else "no name"
            return Fails(
                f"its certificate, {issuer}, is for {names}, not for {host.name}",
                "Is the address right? Does the name lead to another machine here?",
            )
        case code:
            itself = ", by itself" if code == _SELF_SIGNED else ""
            return Fails(
                f"its certificate, {issuer}{itself}, is not from an authority that this worker "
                f"trusts: {error.verify_message}",
                "If that issuer is your company's (a proxy or firewall that intercepts TLS), name "
                'its certificate in the enrolment file: ca_bundle = "/etc/exclave/ca.pem". If it '
                "is not, somebody is intercepting the connection.",
            )


def _named(name: x509.Name) -> str:
    for kind in (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME):
        found = name.get_attributes_for_oid(kind)
        if found:
            return _plain(str(found[0].value))
    return _plain(name.rfc4514_string()) or "nobody"


def _plain(text: str) -> str:
    """A foreign text on one line, printable and not too long."""
    return "".join(one for one in text if one.isprintable())[:100]
