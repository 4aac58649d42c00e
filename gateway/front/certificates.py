"""The gateway's own certificate, read from files and again whenever they change."""

import logging
import ssl
from pathlib import Path

import grpc

_log = logging.getLogger(__name__)


class CertificateUnusable(Exception):
    """The certificate or its key cannot be read, or do not belong together."""


class Certificate:
    """The gateway's certificate, which both inner servers present."""

    def __init__(self, chain: Path, key: Path) -> None:
        """Read the files.

        Args:
            chain: PEM of the certificate, followed by those of its signers.
            key: PEM of its key, without a password.

        Raises:
            CertificateUnusable: see its name.
        """
        self._chain = chain
        self._key = key
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._context.set_alpn_protocols(["http/1.1"])
        self._read: tuple[bytes, bytes] = (b"", b"")
        self._newer: grpc.ServerCertificateConfiguration | None = None
        self.refresh()

    def refresh(self) -> bool:
        """Read the files again; new connections get what has changed. Returns whether it changed.

        Raises:
            CertificateUnusable: see its name; the certificate read before stays in use.
        """
        try:
            read = self._key.read_bytes(), self._chain.read_bytes()
            if read == self._read:
                return False
            # Checks that the two belong together, which gRPC would notice only at a handshake.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._chain, self._key)
            self._context.load_cert_chain(self._chain, self._key)
        except (OSError, ssl.SSLError) as error:
            raise CertificateUnusable(
                f"the certificate {self._chain} with the key {self._key} cannot be used: {error}; "
                "both must be PEM, belong together, and have no password"
            ) from error
        self._read = read
        self._newer = grpc.ssl_server_certificate_configuration([read])
        return True

    def for_http(self) -> ssl.SSLContext:
        """The TLS context of the HTTP server; it follows the files."""
        return self._context

    def for_grpc(self) -> grpc.ServerCredentials:
        """The credentials of the gRPC server; at each handshake it asks for a newer certificate."""
        self._newer = None
        current = grpc.ssl_server_certificate_configuration([self._read])
        return grpc.dynamic_ssl_server_credentials(current, self._take_newer)

    def _take_newer(self) -> grpc.ServerCertificateConfiguration:
        """A certificate that gRPC does not have yet, else None, which its types do not allow for.

        gRPC takes ownership of the object: returning the same one twice crashes the process.
        """
        newer, self._newer = self._newer, None
        return newer  # type: ignore[return-value]
