"""Makes the files of the development gateway: settings, keys, a certificate.

Also the enrolment files and tokens of its build workers.
"""

import json
import secrets
import time
from pathlib import Path

from activities.access.authority import EnrolmentAuthority, EnrolmentKey
from client.enrolment_tokens import write_build_worker
from exclave.dev.certificates import Certificates, make_certificates
from exclave.dev.declaration import Declaration
from exclave.dev.encryption import keys_file
from gateway.enrolment.credentials import CredentialKey
from stacks.enrolment import BuildEnrolment
from wire.encryption.keys import MasterKeys
from wire.encryption.subjects import ACCESS
from wire.enrolment.token import TokenId

_SECRET_BYTES = 32
_TOKEN_SECONDS = 24 * 3600


class GatewayFiles:
    """The gateway's files, within the data folder."""

    def __init__(self, declaration: Declaration) -> None:
        """The files for this control plane."""
        self._declaration = declaration
        self.folder = declaration.data / "gateway"
        self.settings = self.folder / "gateway.toml"
        self.authority = self.folder / "ca.pem"
        """The authority by which workers check the gateway's certificate."""
        self._build_workers = declaration.data / "build-workers"
        self.enrolment_key = declaration.data / "enrolment-key"
        """Belongs to the control side; the gateway never reads it."""

    def make(self) -> None:
        """Make the files that do not exist yet, and rewrite the settings.

        Raises:
            OSError: a file cannot be written.
            KeyFileError: the master keys cannot be used.
            EnrolmentKeyUnusable: the enrolment key cannot be used.
            Refused: a build worker's files cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.enrolment_key.exists():
            EnrolmentKey.make(self.enrolment_key)
        if not self._credential_key.exists():
            CredentialKey.make(self._credential_key)
        if not self._secret.exists():
            self._secret.touch(mode=0o600)
            self._secret.write_bytes(secrets.token_bytes(_SECRET_BYTES))
        if not self._certificates.usable():
            make_certificates(self._certificates)
        master = keys_file(self._declaration)
        if master is not None:
            keys = MasterKeys.read(master).for_subject(self._declaration.namespace, ACCESS)
            keys.write(self._access_keys, replaces=True)
        self.settings.write_text(self._rendered(encrypted=master is not None))

    def build_worker(self, name: str) -> Path:
        """The folder with the enrolment file and token of the build worker of that name."""
        return self._build_workers / name

    def make_build_worker(self, name: str) -> None:
        """Write its enrolment file, and a fresh token, since it may have to enrol again."""
        authority = EnrolmentAuthority([EnrolmentKey.read(self.enrolment_key)])
        org = self._declaration.namespace
        enrolment = BuildEnrolment.of(
            namespace=org,
            gateway=f"https://{self._declaration.gateway}",
            gateway_ca=self.authority.read_text(),
            control_key=authority.public,
        )
        expires = int(time.time()) + _TOKEN_SECONDS
        token = authority.mint(TokenId.fresh(org, enrolment.subject, expires)).render()
        write_build_worker(self.build_worker(name), enrolment.render(), token)

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
        # Strings, and lists of strings, look the same in JSON and in TOML.
        lines = ["# Written by `exclave dev` each time it starts."]
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
        for name, section in sections.items():
            lines += ["", f"[{name}]"]
            lines += [f"{key} = {json.dumps(value)}" for key, value in section.items()]
        return "\n".join(lines) + "\n"
