"""The names on the wire: task queues, workflow ids, search attributes.

The first two segments of a workflow id name its kind and owner (`deploy/acme/7` belongs to the
install `acme`, `build/shop/…` to the app `shop`). Nothing may depend on the rest, since schedules
append a time to it.
"""

import hashlib
import re
from typing import Annotated, Final

from pydantic import StringConstraints

from apps.parts import SANDBOX

CONTROL_QUEUE: Final = "control"
BUILD_QUEUE: Final = "build"

NAME_PATTERN: Final = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
DIGEST_PATTERN: Final = r"^sha256:[0-9a-f]{64}$"

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
"""The name of an app or an install: lower case letters, digits and dashes, at most 63."""

ComponentName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_-]{0,127}$")]
"""The name of a component or an action, as the app config allows it."""

PartName = Annotated[
    str, StringConstraints(pattern=rf"^({SANDBOX}|[a-zA-Z0-9][a-zA-Z0-9_-]{{0,127}})$")
]
"""A part of an install that an engine deploys: the sandbox, or a component by its name."""

Digest = Annotated[str, StringConstraints(pattern=DIGEST_PATTERN)]
"""An OCI digest, for example of a release: `sha256:` and 64 hexadecimal digits."""

ATTRIBUTE_APP: Final = "ExclaveApp"
ATTRIBUTE_INSTALL: Final = "ExclaveInstall"
ATTRIBUTE_RELEASE: Final = "ExclaveRelease"
ATTRIBUTE_STATUS: Final = "ExclaveStatus"
ATTRIBUTE_COMPONENT: Final = "ExclaveComponent"
SEARCH_ATTRIBUTES: Final = (
    ATTRIBUTE_APP,
    ATTRIBUTE_INSTALL,
    ATTRIBUTE_RELEASE,
    ATTRIBUTE_STATUS,
    ATTRIBUTE_COMPONENT,
)
"""All have the type Keyword: an SQL store allows ten of that type and three of any other."""


ID_LIMIT: Final = 255
"""The most characters of any id: a Temporal server on PostgreSQL cannot store a longer one, and
retries for ever."""
_ID: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:@+=~/-]{{0,{ID_LIMIT - 1}}}")


def is_id(text: str) -> bool:
    """Whether the text may be the id of a workflow or activity, which people and logs see.

    Every id that Exclave makes may, also with the time that a schedule appends.
    """
    return _ID.fullmatch(text) is not None


def action_subject(action: str) -> str:
    """The subject of an action's operations; that of a component's is its name."""
    return f"action/{action}"


def digits_of(text: str) -> str:
    """32 hexadecimal digits that identify a text which is too long for an id."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def install_queue(install: str) -> str:
    """The task queue that only the install worker of `install` polls."""
    return f"install.{install}"


def install_workflow_id(install: str) -> str:
    """The workflow id of the Install workflow, the install's entity."""
    return f"install/{install}"


def access_workflow_id(org: str) -> str:
    """The workflow id of the Access workflow, which knows the workers that the gateway lets in."""
    return f"access/{org}"


def owner_of(workflow_id: str) -> tuple[str, str] | None:
    """The kind and the owner that a workflow id names, or None if it has another form."""
    kind, _, rest = workflow_id.partition("/")
    owner, _, _ = rest.partition("/")
    return (kind, owner) if kind and owner else None
