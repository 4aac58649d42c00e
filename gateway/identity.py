"""Who calls, and whether they may: the interfaces through which the gateway asks.

The proxy and the routes of the gateway know only these types. Credentials, enrolment and
revocation lie behind `Authenticator` and `Access`.
"""

import asyncio
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Literal, Protocol

from contracts.names import BUILD_QUEUE, install_queue


@dataclass(frozen=True)
class Identity:
    """A worker's identity, proven by its credential."""

    kind: Literal["install", "build"]
    org: str
    """The Temporal namespace."""
    name: str
    """The install's name; empty for a build worker."""
    key: str
    """The thumbprint of the worker's key."""
    expires: float
    """When the credential expires, in Unix seconds."""

    @property
    def queue(self) -> str:
        """The only task queue that this worker may poll."""
        return install_queue(self.name) if self.kind == "install" else BUILD_QUEUE

    @property
    def quota_key(self) -> tuple[str, str]:
        """The key under which its use is limited: org and name, whichever key it has enrolled."""
        return self.org, self.shown

    @cached_property
    def shown(self) -> str:
        """Its name in logs and in Temporal's UI: `install/acme`, `build`."""
        return f"{self.kind}/{self.name}" if self.name else self.kind


class Unauthenticated(Exception):
    """A call proves no identity; the message says why and what to do, and contains no secret."""


class Expired(Unauthenticated):
    """The credential is genuine but has expired.

    Its worker is harmless and will renew it, so it must be made to wait and not to end: on
    UNAUTHENTICATED an SDK worker shuts down, or drops the result of an hour's work.
    """

    def __init__(self, message: str, identity: Identity) -> None:
        super().__init__(message)
        self.identity = identity


class Authenticator(Protocol):
    """Identifies the caller by the credential that a call carries."""

    def authenticate(self, authorization: str | None) -> Identity:
        """The identity behind the value of an `Authorization` header (`Bearer …`).

        Called for every call, before its body is read: it must be quick and must not wait.

        Raises:
            Unauthenticated: there is no credential, or it is malformed or forged.
            Expired: the credential is genuine but has expired.
        """


class Standing(Enum):
    """What an identity may do at this moment."""

    ALLOWED = "allowed"
    PAUSED = "paused"
    """It gets no new work, but may finish what it runs."""
    REVOKED = "revoked"


class Access(Protocol):
    """Knows the standing of every identity, and when it changes."""

    def standing(self, identity: Identity) -> Standing:
        """The standing at this moment; it must not wait."""

    def changed(self, identity: Identity) -> "asyncio.Future[None]":
        """A future, done as soon as the identity's standing may have changed since this call.

        Every waiting poll has one, and cancels it when the poll ends, so a thousand of them must
        cost next to nothing.
        """
