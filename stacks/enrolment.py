"""The enrolment file: what a worker must know to reach its control plane. It contains no secret.

The one-time token, which is secret, lies in a file of its own beside it.
"""

import json
import re
import ssl
import tomllib
from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    StringConstraints,
    ValidationError,
    model_validator,
)

from contracts.names import Name
from store.opening import folder_description, s3_description
from store.s3_place import S3Place
from wire.encryption.subjects import BUILD, install_subject
from wire.enrolment.client import ControlKeys
from wire.network.gateway_address import GatewayAddress
from wire.setting_problems import problems

_HOST = r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)"
_ADDRESS = re.compile(rf"{_HOST}:(?P<port>[0-9]{{1,5}})")
_PATH = re.compile(r"/[!-~]{1,300}")
_REGION = re.compile(r"[a-z0-9-]{1,40}")
_URL = re.compile(rf"https?://{_HOST}(?::(?P<port>[0-9]{{1,5}}))?(?P<path>/[A-Za-z0-9._~/-]*)?")


TOKEN_FILE = "enrolment-token"  # noqa: S105 - the name of a file
"""Lies beside the enrolment file; only the worker's user may read it."""


class EnrolmentError(ValueError):
    """An enrolment is unusable; the message has one line for each problem."""


def _address(value: str) -> str:
    match = _ADDRESS.fullmatch(value)
    if match is None or not _exists(match["port"]):
        raise ValueError(f"{value!r} is not an address; write HOST:PORT, such as 127.0.0.1:7233")
    return value


def _url(value: str) -> str:
    match = _URL.fullmatch(value)
    if match is None or not _exists(match["port"]):
        raise ValueError(f"{value!r} is not a URL; write for example http://127.0.0.1:5081")
    return value.rstrip("/")


def _gateway(value: str) -> str:
    return GatewayAddress.parse(value).url


def _authority(value: str) -> str:
    try:
        ssl.create_default_context(cadata=value)
    except (ssl.SSLError, ValueError) as error:
        raise ValueError("this is not a PEM certificate") from error
    return value


def _path(value: str) -> str:
    if not _PATH.fullmatch(value):
        raise ValueError(f"{value!r} is not an absolute path, such as /etc/exclave/ca.pem")
    return value


def _control_key(value: str) -> str:
    try:
        ControlKeys.parse(value)
    except ValueError as error:
        raise ValueError("this is not a control key; take it from the stack as it is") from error
    return value


def _bucket(value: str) -> str:
    S3Place.parse(value)
    return value.rstrip("/")


def _region(value: str) -> str:
    if not _REGION.fullmatch(value):
        raise ValueError(f"{value!r} is not a region; write for example eu-central-1")
    return value


def _exists(port: str | None) -> bool:
    return port is None or 1 <= int(port) <= 65535


class WorkerEnrolment(BaseModel):
    """What every kind of worker needs for a gateway to let it in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    heading: ClassVar[str]
    """The first line of the file."""
    origin: ClassVar[str]
    """Where the file comes from, for a message that it is not there."""

    namespace: Name
    gateway: Annotated[str, AfterValidator(_gateway)] | None = None
    """URL of the gateway, where the worker enrols and through which it reaches everything."""
    gateway_ca: Annotated[str, AfterValidator(_authority)] | None = None
    """PEM of the authority that signed the gateway's certificate; by default, the system's."""
    control_key: Annotated[str, AfterValidator(_control_key)] | None = None
    """Verifies that the answer to the enrolment comes from the control side."""
    cloud: Literal["aws", "azure", "gcp"] | None = None
    """The cloud that vouches for the machine; without it, the token in the file beside this one."""
    cloud_audience: Annotated[str, StringConstraints(pattern=r"^[!-~]{1,300}$")] | None = None
    """The audience of the cloud's token, if the cloud does not let the worker choose it."""
    ca_bundle: Annotated[str, AfterValidator(_path)] | None = None
    """A file on the worker's machine with further authorities (PEM) that the worker and all its
    tools trust, for networks whose proxy intercepts TLS."""

    @property
    @abstractmethod
    def subject(self) -> str:
        """The worker that enrols with it."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for key in ("gateway_ca", "cloud", "cloud_audience"):
            if getattr(self, key) is not None and self.gateway is None:
                raise ValueError(f"{key} is of no use without a gateway")
        if (self.gateway is None) != (self.control_key is None):
            raise ValueError("a gateway and control_key belong together")
        return self

    def render(self) -> str:
        """The enrolment as TOML, for `read`."""
        # Every value is ASCII by its pattern, so it can be quoted as in JSON.
        return f"# {self.heading}\n" + "".join(
            f"{key} = {json.dumps(value)}\n"
            for key, value in self.model_dump(exclude_none=True).items()
        )

    @classmethod
    def of(cls, **values: str | None) -> Self:
        """Make an enrolment from its keys and what a person typed for them.

        Raises:
            EnrolmentError: a value cannot be used.
        """
        given = {key: value for key, value in values.items() if value is not None}
        return _checked(cls, given, "enrolment")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read an enrolment file.

        Raises:
            EnrolmentError: the file cannot be read, is not TOML, or has wrong keys or values.
        """
        return _checked(cls, _values(path, cls.origin), str(path))


class Enrolment(WorkerEnrolment):
    """The install that a worker serves, and the addresses of its control plane."""

    heading = "The install worker's enrolment. Start the worker with: exclave-worker FILE"
    origin = "it comes with the stack: exclave install INSTALL --app APP --stack DIR"

    install: Name
    temporal: Annotated[str, AfterValidator(_address)]
    """`host:port` that the worker polls for tasks."""
    releases: Annotated[str, AfterValidator(_url)]
    """URL of the registry that the worker pulls releases from."""
    store: Annotated[str, AfterValidator(_bucket)] | None = None
    """`s3://bucket/prefix`; without it the store is a folder in the worker's data folder."""
    store_region: Annotated[str, AfterValidator(_region)] | None = None
    """The bucket's region; without it, the region in the machine's AWS settings."""
    store_endpoint: Annotated[str, AfterValidator(_url)] | None = None
    """URL of an S3-compatible store; without it, AWS."""

    @property
    def subject(self) -> str:
        """The install."""
        return install_subject(self.install)

    @model_validator(mode="after")
    def _complete(self) -> "Enrolment":
        for key in ("store_region", "store_endpoint"):
            if getattr(self, key) is not None and self.store is None:
                raise ValueError(f'{key} is of no use without store = "s3://BUCKET/PREFIX"')
        return self

    def store_description(self, data: Path) -> dict[str, str]:
        """The description of the install's store, for `store.opening.open_store`.

        Args:
            data: The worker's data folder.
        """
        if self.store is None:
            return folder_description(data / "store")
        place = S3Place.parse(
            self.store, region=self.store_region or "", endpoint=self.store_endpoint or ""
        )
        return s3_description(place)


class BuildEnrolment(WorkerEnrolment):
    """The enrolment of an org's build worker, whose control plane is always behind a gateway."""

    heading = "The build worker's enrolment. Start the worker with: exclave-build-worker FILE"
    origin = "the vendor creates it: exclave access build-worker DIR"

    worker: Literal["build"] = "build"
    gateway: Annotated[str, AfterValidator(_gateway)]
    control_key: Annotated[str, AfterValidator(_control_key)]

    @property
    def subject(self) -> str:
        """All build workers of the org are the same subject."""
        return BUILD


E = TypeVar("E", bound=WorkerEnrolment)


def _values(path: Path, origin: str) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise EnrolmentError(f"{path} does not exist; {origin}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise EnrolmentError(f"{path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise EnrolmentError(f"{path} is not TOML: {error}") from error


def _checked(kind: type[E], values: dict[str, Any], where: str) -> E:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        known = ", ".join(kind.model_fields)
        raise EnrolmentError(problems(error, where, lambda _: f"; the keys are {known}")) from error
