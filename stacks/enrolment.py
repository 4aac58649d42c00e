"""The enrolment file: what an install worker must know to reach its control plane. No secret."""

import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from contracts.names import Name

_HOST = r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)"
_ADDRESS = re.compile(rf"{_HOST}:(?P<port>[0-9]{{1,5}})")
_URL = re.compile(rf"https?://{_HOST}(?::(?P<port>[0-9]{{1,5}}))?(?P<path>/[A-Za-z0-9._~/-]*)?")


class EnrolmentError(ValueError):
    """An enrolment cannot be used; the message has one line for each problem."""


def _address(value: str) -> str:
    match = _ADDRESS.fullmatch(value)
    if match is None or not _exists(match["port"]):
        raise ValueError(f"{value!r} is no address; write HOST:PORT, for example 127.0.0.1:7233")
    return value


def _url(value: str) -> str:
    match = _URL.fullmatch(value)
    if match is None or not _exists(match["port"]):
        raise ValueError(f"{value!r} is no URL; write for example http://127.0.0.1:5081")
    return value.rstrip("/")


def _exists(port: str | None) -> bool:
    return port is None or 1 <= int(port) <= 65535


class Enrolment(BaseModel):
    """Which install a worker serves, and where its control plane is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    install: Name
    namespace: Name
    temporal: Annotated[str, AfterValidator(_address)]
    """`host:port` that the worker takes its tasks from."""
    releases: Annotated[str, AfterValidator(_url)]
    """URL of the registry that the worker pulls releases from."""

    @staticmethod
    def of(*, install: str, namespace: str, temporal: str, releases: str) -> "Enrolment":
        """Make an enrolment from what a person typed.

        Raises:
            EnrolmentError: a value cannot be used.
        """
        return _checked(
            {
                "install": install,
                "namespace": namespace,
                "temporal": temporal,
                "releases": releases,
            },
            "enrolment",
        )

    @staticmethod
    def read(path: Path) -> "Enrolment":
        """Read an enrolment file.

        Raises:
            EnrolmentError: the file cannot be read, is no TOML, or does not fit.
        """
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise EnrolmentError(
                f"{path} is not there; write it with: exclave enrolment INSTALL > {path}"
            ) from error
        except (OSError, UnicodeDecodeError) as error:
            raise EnrolmentError(f"{path} cannot be read: {error}") from error
        except tomllib.TOMLDecodeError as error:
            raise EnrolmentError(f"{path} is no TOML: {error}") from error
        return _checked(values, str(path))

    def render(self) -> str:
        """The enrolment as the TOML that `read` takes."""
        # Every value is plain ASCII by its pattern, so JSON's quoting is TOML's.
        return (
            "# The install worker's enrolment. Give it with: exclave-worker FILE\n"
            f"install = {json.dumps(self.install)}\n"
            f"namespace = {json.dumps(self.namespace)}\n"
            f"temporal = {json.dumps(self.temporal)}\n"
            f"releases = {json.dumps(self.releases)}\n"
        )


def _checked(values: dict[str, Any], where: str) -> Enrolment:
    try:
        return Enrolment.model_validate(values)
    except ValidationError as error:
        raise EnrolmentError(
            "\n".join(_problem(where, found) for found in error.errors())
        ) from error


def _problem(where: str, found: Any) -> str:
    key = ".".join(str(part) for part in found["loc"])
    match found["type"]:
        case "extra_forbidden":
            known = ", ".join(Enrolment.model_fields)
            return f"{where}: {key}: there is no such key; the keys are {known}"
        case "missing":
            return f"{where}: {key}: is missing"
        case "string_pattern_mismatch":
            return (
                f"{where}: {key}: {found['input']!r} is no name; use lower case letters, digits "
                "and dashes, at most 63"
            )
        case "value_error":
            return f"{where}: {key}: {found['ctx']['error']}"
        case _:
            return f"{where}: {key}: {found['msg']}, not {found['input']!r}"
