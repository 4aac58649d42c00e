"""`gateway.toml`: the settings of a gateway, the same for all gateways of a control plane."""

import ipaddress
import stat
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from contracts.names import Name
from gateway.bodies import MESSAGE_BYTES
from gateway.door import DoorSettings
from gateway.front.certificates import Certificate, CertificateUnusable
from gateway.front.limits import FrontLimits
from gateway.limits import Limits
from gateway.pulls.settings import ArtifactsSection
from gateway.rpc.task_tokens import SECRET_BYTES
from gateway.rpc.upstream import TemporalFrontend
from gateway.setting_paths import File
from gateway.telemetry.settings import TelemetrySection
from wire.setting_problems import problems


class SettingsError(Exception):
    """The settings are unusable; the message has one line for each problem."""


def _address(value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{value!r} is not an address; write HOST:PORT, for example 0.0.0.0:443")
    return value


Address = Annotated[str, AfterValidator(_address)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TemporalSection(_Section):
    """Where Temporal is, and how the gateway authenticates there."""

    address: Address
    tls: bool = False
    ca: File | None = None
    """PEM of the authorities to trust, if not the usual ones."""
    certificate: File | None = None
    key: File | None = None
    api_key: File | None = None
    """A file that nobody else may read."""

    @model_validator(mode="after")
    def _encrypted(self) -> "TemporalSection":
        needs = [name for name in ("ca", "certificate", "key", "api_key") if getattr(self, name)]
        if needs and not self.tls:
            raise ValueError(f"{needs[0]} is of no use, or in clear, without tls = true")
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key belong together")
        return self


class LimitsSection(_Section):
    """Limits of each identity, and of connections that have proven none yet."""

    calls_per_second: PositiveFloat = Limits.calls_per_second
    calls_at_once: PositiveFloat = Limits.calls_at_once
    polls: PositiveInt = Limits.polls
    bodies: PositiveInt = Limits.bodies
    bytes_per_second: PositiveFloat = Limits.bytes_per_second
    bytes_at_once: Annotated[float, Field(ge=MESSAGE_BYTES)] = Limits.bytes_at_once
    keys_per_second: PositiveFloat = Limits.keys_per_second
    keys_at_once: PositiveFloat = Limits.keys_at_once
    connections: PositiveInt = FrontLimits.connections
    connections_per_address: PositiveInt = FrontLimits.connections_per_address


class GatewaySettings(_Section):
    """The whole file. Paths in it are relative to its folder."""

    listen: Address
    certificate: File | None = None
    """PEM of the gateway's certificate and its chain; it may be left out only on loopback."""
    key: File | None = None
    secrets: Annotated[tuple[File, ...], Field(min_length=1)]
    """Files of random bytes (`head -c 32 /dev/urandom`) that nobody else may read, the same for all
    gateways. The first one seals task tokens, and all of them open."""
    credential_keys: Annotated[tuple[File, ...], Field(min_length=1)]
    """Ed25519 keys in PEM, the same for all gateways. The first one signs, all are accepted."""
    orgs: Annotated[tuple[Name, ...], Field(min_length=1)]
    """The orgs (Temporal namespaces) whose workers this gateway serves."""
    temporal: TemporalSection
    payload_keys: tuple[File, ...] = ()
    """For each org with encrypted payloads, the file that `exclave keys gateway` wrote. With it the
    gateway can read which workers may pass, and nothing else."""
    limits: LimitsSection = LimitsSection()
    artifacts: ArtifactsSection | None = None
    telemetry: TelemetrySection | None = None
    drain_seconds: Annotated[float, Field(ge=0)] = 20.0
    """How long calls may go on once the gateway is asked to stop."""

    @model_validator(mode="after")
    def _safe(self) -> "GatewaySettings":
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key belong together")
        if self.certificate is None and not _is_loopback(self.listen):
            raise ValueError(
                f"{self.listen} is not a loopback address, so credentials would travel in clear; "
                "set certificate and key"
            )
        if self.artifacts and self.artifacts.org not in (None, *self.orgs):
            raise ValueError(f"artifacts.org: {self.artifacts.org} is not one of orgs")
        return self

    @staticmethod
    def read(path: Path) -> "GatewaySettings":
        """Read the file.

        Raises:
            SettingsError: it cannot be read, is not TOML, or has wrong keys or values.
        """
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
            return GatewaySettings.model_validate(values, context=path.parent)
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path} cannot be read: {error}") from error
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{path} is not TOML: {error}") from error
        except ValidationError as error:
            raise SettingsError(problems(error, path)) from error

    def door(self) -> DoorSettings:
        """The gateway's settings, with every file read.

        Raises:
            SettingsError: a file is unusable.
        """
        temporal = self.temporal
        certificate = None
        if self.certificate is not None and self.key is not None:
            _private(self.key)
            try:
                certificate = Certificate(self.certificate, self.key)
            except CertificateUnusable as error:
                raise SettingsError(str(error)) from error
        return DoorSettings(
            TemporalFrontend(
                temporal.address,
                temporal.tls,
                _bytes(temporal.ca),
                _bytes(temporal.certificate),
                _private(temporal.key) if temporal.key else None,
                _private(temporal.api_key).decode().strip() if temporal.api_key else None,
            ),
            self.read_secrets(),
            certificate,
            Limits(**self.limits.model_dump(include={one.name for one in fields(Limits)})),
            FrontLimits(self.limits.connections, self.limits.connections_per_address),
        )

    def read_secrets(self) -> tuple[bytes, ...]:
        """The secrets that all gateways share.

        Raises:
            SettingsError: one cannot be read, is too short, or may be read by others.
        """
        secrets = tuple(_private(path) for path in self.secrets)
        for path, secret in zip(self.secrets, secrets, strict=True):
            if len(secret) < SECRET_BYTES:
                raise SettingsError(
                    f"{path}: a secret has at least {SECRET_BYTES} bytes; make one with: head -c "
                    f"{SECRET_BYTES} /dev/urandom > {path.name}"
                )
        return secrets


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bytes(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from error


def _private(path: Path) -> bytes:
    """The content of a file, which only its owner and group may be able to read."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from error
    if mode & (stat.S_IRWXO | stat.S_IWGRP | stat.S_IXGRP):
        raise SettingsError(
            f"{path} can be accessed by others (mode {stat.S_IMODE(mode):04o}); run: "
            f"chmod 600 {path}"
        )
    return _bytes(path) or b""
