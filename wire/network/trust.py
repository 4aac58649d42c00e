"""The authorities that this machine's connections trust: the system's, and a further one.

A company whose proxy intercepts TLS has an authority of its own. It is named once, in the
enrolment, and then applies to gRPC, HTTP, the store and every tool.
"""

import os
import re
import ssl
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import certifi

_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
BUNDLE: Final = "ca-bundle.pem"

VARIABLES: Final = (
    "SSL_CERT_FILE",  # OpenSSL, Python, Go (Terraform and its providers, kubectl, helm)
    "AWS_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
)
"""The variables in which tools look for a bundle."""

_OF_SYSTEMS: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Alpine
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  # Fedora, RHEL, Amazon Linux
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # macOS
)


class TrustUnusable(ValueError):
    """The authority's file is unusable; the message says why and what to do."""


@dataclass(frozen=True)
class Trust:
    """The trusted authorities: the system's, and those of the enrolment."""

    own: str = ""
    """PEM of the enrolment's authorities."""

    @staticmethod
    def read(file: str | None) -> "Trust":
        """The authorities in a file.

        Raises:
            TrustUnusable: it cannot be read, or contains no certificate.
        """
        if file is None:
            return Trust()
        try:
            found = _certificates(Path(file).read_text(encoding="utf-8", errors="replace"))
        except OSError as error:
            raise TrustUnusable(
                f"ca_bundle: {file} cannot be read by this user: {error.strerror}. Put the "
                "authority's certificate there (PEM, mode 0644)."
            ) from error
        try:
            ssl.create_default_context(cadata="\n".join(found) or "-")
        except (ssl.SSLError, ValueError) as error:
            raise TrustUnusable(
                f"ca_bundle: {file} has no usable certificate in it; it has to be in PEM (from "
                "DER: openssl x509 -inform der -in FILE)."
            ) from error
        return Trust("\n".join(found) + "\n")

    def authorities(self, pinned: str | None = None) -> str | None:
        """PEM of all authorities that a connection may trust; None for only the system's.

        Args:
            pinned: PEM of authorities that replace the system's for this connection.
        """
        if pinned is not None:
            return "\n".join([*_certificates(pinned), *_certificates(self.own)]) + "\n"
        return self.bundle() if self.own else None

    def context(self) -> ssl.SSLContext:
        """The TLS context for HTTP to any host."""
        return ssl.create_default_context(cadata=self.authorities())

    def bundle(self, environment: Mapping[str, str] = os.environ) -> str:
        """PEM of the system's authorities, the environment's, and the enrolment's."""
        found: list[str] = []
        for file in _system_files(environment):
            found += _certificates(file.read_text(encoding="utf-8", errors="replace"))
        return "\n".join(dict.fromkeys([*found, *_certificates(self.own)])) + "\n"

    def spread(self, folder: Path, environment: MutableMapping[str, str] = os.environ) -> None:
        """Make this process, and every tool that inherits its environment, trust the same.

        Args:
            folder: The folder to write the bundle to.
            environment: The variables to set.

        Raises:
            TrustUnusable: the bundle cannot be written.
        """
        if not self.own:
            return
        bundle = folder / BUNDLE
        part = bundle.with_name(f".{BUNDLE}.{os.getpid()}")
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            part.write_text(self.bundle(environment), encoding="ascii")
            part.chmod(0o644)
            part.replace(bundle)
        except OSError as error:
            raise TrustUnusable(f"{error.filename} cannot be written: {error.strerror}") from error
        environment.update(dict.fromkeys(VARIABLES, str(bundle)))


def _certificates(text: str) -> list[str]:
    return [match.replace("\r", "") for match in _BLOCK.findall(text)]


def _system_files(environment: Mapping[str, str]) -> list[Path]:
    named = [Path(environment[name]) for name in VARIABLES if environment.get(name)]
    found = [file for file in named if _is_readable(file)]
    if Path(environment.get("SSL_CERT_FILE", "")) not in found:
        usual = [Path(one) for one in (*_OF_SYSTEMS, certifi.where())]
        found.append(next(file for file in usual if _is_readable(file)))
    return found


def _is_readable(file: Path) -> bool:
    return file.is_file() and os.access(file, os.R_OK)
