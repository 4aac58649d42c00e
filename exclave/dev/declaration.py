"""Reads `temporal-dev.yaml`, which declares what the development control plane consists of.

The development server has no TLS and no authorization, and the registry accepts anything. So every
address must be a loopback address, even that of the gateway, which authenticates workers.
"""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)

from contracts.names import Name
from wire.setting_problems import problems

_ADDRESS = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[0-9.]+):(?P<port>[0-9]{1,5})")


class DeclarationError(Exception):
    """The declaration cannot be used; the message has one line for each problem."""


class Address(BaseModel):
    """A loopback address and a port, written as `127.0.0.1:7233` or `[::1]:7233`."""

    model_config = ConfigDict(frozen=True)

    host: str
    """An IP address, without brackets."""
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _parse_address(value: object) -> object:
    if isinstance(value, Address):
        return value
    match = _ADDRESS.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is not an address; write IP:PORT, for example 127.0.0.1:7233")
    host, port = match["host"].strip("[]"), int(match["port"])
    if not 1 <= port <= 65535:
        raise ValueError(f"port {port} does not exist; it must be between 1 and 65535")
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError as error:
        raise ValueError(
            f"{host} is not an IP address; write for example 127.0.0.1:{port}"
        ) from error
    if not loopback:
        raise ValueError(
            f"{host} is not a loopback address; the development control plane authenticates "
            f"nobody, so write 127.0.0.1:{port}"
        )
    return {"host": host, "port": port}


def _parse_address_or_false(value: object) -> object:
    return None if value is False else _parse_address(value)


def _without_line_break(value: str) -> str:
    if "\n" in value or "=" in value:
        raise ValueError(f"{value!r} may contain neither `=` nor a line break")
    return value


LoopbackAddress = Annotated[Address, BeforeValidator(_parse_address)]
LoopbackAddressOrFalse = Annotated[Address | None, BeforeValidator(_parse_address_or_false)]
_Key = Annotated[str, AfterValidator(_without_line_break)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TemporalSection(_Section):
    """The Temporal development server."""

    address: LoopbackAddress
    ui: LoopbackAddress
    database: Path
    """A file, relative to the data folder; it is kept across restarts."""
    dynamic_config: dict[_Key, JsonValue] = Field(default_factory=dict)
    sqlite_pragmas: dict[_Key, str | int] = Field(default_factory=dict)


class RegistrySection(_Section):
    """The OCI registry, which listens on two addresses."""

    push: LoopbackAddress
    """Where uploads and builds write."""
    pull: LoopbackAddress
    """Where install workers read; it refuses every write."""


class WorkersSection(_Section):
    """How many worker processes of each kind run."""

    control: int = Field(default=1, ge=1, le=16)
    build: int = Field(default=1, ge=0, le=8)
    """At most 8, since the control plane keeps no more keys for one worker identity."""


class Declaration(_Section):
    """The development control plane, as `temporal-dev.yaml` declares it."""

    namespace: Name
    data: Path
    """A folder, relative to the declaration's own; it contains everything kept across restarts."""
    temporal: TemporalSection
    registry: RegistrySection
    workers: WorkersSection = WorkersSection()
    gateway: LoopbackAddressOrFalse = Address(host="127.0.0.1", port=7443)
    """Where the gateway listens, with TLS. With `false`, workers dial Temporal and the registry
    directly."""
    codec: LoopbackAddressOrFalse = Address(host="127.0.0.1", port=8234)
    """Where the codec server listens, which shows plain text. With `false`, payloads are not
    encrypted. Encryption needs the gateway, which gives workers their keys: without a gateway this
    is `false`."""

    @property
    def addresses(self) -> dict[str, Address]:
        """Every address to listen on, by the key that declares it."""
        return {
            "temporal.address": self.temporal.address,
            "temporal.ui": self.temporal.ui,
            "registry.push": self.registry.push,
            "registry.pull": self.registry.pull,
            **({"gateway": self.gateway} if self.gateway else {}),
            **({"codec": self.codec} if self.codec else {}),
        }

    @model_validator(mode="before")
    @classmethod
    def _plain_without_gateway(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("gateway") is False:
            return {"codec": False, **values}
        return values

    @model_validator(mode="after")
    def _addresses_differ(self) -> "Declaration":
        seen: dict[Address, str] = {}
        for key, address in self.addresses.items():
            if address in seen:
                raise ValueError(f"{key} and {seen[address]} are both {address}; change one")
            seen[address] = key
        return self

    @model_validator(mode="after")
    def _workers_get_their_keys(self) -> "Declaration":
        if self.codec and not self.gateway:
            raise ValueError(
                "codec is set, so payloads are encrypted, and only the gateway gives workers their "
                "keys; declare `gateway`, too, or set both to false"
            )
        return self


def read_declaration(path: Path) -> Declaration:
    """Read and check a declaration; its paths become absolute.

    Raises:
        DeclarationError: the file cannot be read, is no YAML, or has wrong content; the message has
            one line for each problem, with file and key.
    """
    try:
        declared = Declaration.model_validate(_parse(path))
    except ValidationError as error:
        advice = "; remove it, or correct its spelling"
        raise DeclarationError(problems(error, path, lambda _: advice)) from error
    data = (path.absolute().parent / declared.data).resolve()
    temporal = declared.temporal.model_copy(update={"database": data / declared.temporal.database})
    return declared.model_copy(update={"data": data, "temporal": temporal})


def _parse(path: Path) -> object:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DeclarationError(
            f"{path} does not exist; run `exclave dev` in the folder that contains it, or name it "
            "with --file"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise DeclarationError(f"{path} cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise DeclarationError(f"{path} is no YAML: {' '.join(str(error).split())}") from error
