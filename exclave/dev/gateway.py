"""What the gateway of the development control plane needs: settings, keys and a certificate."""

import json
import secrets
from pathlib import Path

from activities.access.authority import EnrolmentKey
from exclave.dev.certificates import Certificates, make_certificates
from exclave.dev.declaration import Declaration
from exclave.dev.encryption import keys_file
from gateway.credentials import CredentialKey
from wire.keys import MasterKeys
from wire.subjects import ACCESS

_SECRET_BYTES = 32


class GatewayFiles:
    """Where the gateway's files lie, within the data folder."""

    def __init__(self, declaration: Declaration) -> None:
        """Of this control plane."""
        self._declaration = declaration
        self.folder = declaration.data / "gateway"
        self.settings = self.folder / "gateway.toml"
        self.authority = self.folder / "ca.pem"
        """What workers know the gateway's certificate by."""
        self.enrolment_key = declaration.data / "enrolment-key"
        """The control side's: the gateway has no part of it."""

    def make(self) -> None:
        """Make what is not there from before, and write the settings anew.

        Raises:
            OSError: a file cannot be written.
            KeyFileError: the master keys cannot be used.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.enrolment_key.exists():
            EnrolmentKey.make(self.enrolment_key)
        if not self._credential_key.exists():
            CredentialKey.make(self._credential_key)
        if not self._secret.exists():
            self._secret.touch(mode=0o600)
            self._secret.write_bytes(secrets.token_bytes(_SECRET_BYTES))
        if not self._certificates.certificate.exists():
            make_certificates(self._certificates)
        master = keys_file(self._declaration)
        if master is not None:
            keys = MasterKeys.read(master).for_subject(self._declaration.namespace, ACCESS)
            keys.write(self._access_keys, replaces=True)
        self.settings.write_text(self._rendered(encrypted=master is not None))

    @property
    def _secret(self) -> Path:
        return self.folder / "secret"

    @property
    def _credential_key(self) -> Path:
        return self.folder / "credential-key.pem"

    @property
    def _access_keys(self) -> Path:
        return self.folder / "access-keys.json"

    @property
    def _certificates(self) -> Certificates:
        return Certificates(
            self.authority, self.folder / "certificate.pem", self.folder / "certificate-key.pem"
        )

    def _rendered(self, encrypted: bool) -> str:
        declaration = self._declaration
        values: dict[str, object] = {
            "listen": str(declaration.gateway),
            "certificate": self._certificates.certificate.name,
            "key": self._certificates.key.name,
            "secrets": [self._secret.name],
            "credential_keys": [self._credential_key.name],
            "orgs": [declaration.namespace],
            "payload_keys": [self._access_keys.name] if encrypted else [],
        }
        sections = {
            "temporal": {"address": str(declaration.temporal.address)},
            "artifacts": {"layout": str(declaration.data / "registry")},
            "telemetry": {"store": "telemetry.db"},
        }
        # What JSON writes of strings and lists of them is TOML, too.
        lines = ["# Written by `exclave dev` each time it starts."]
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
        for name, section in sections.items():
            lines += ["", f"[{name}]"]
            lines += [f"{key} = {json.dumps(value)}" for key, value in section.items()]
        return "\n".join(lines) + "\n"
