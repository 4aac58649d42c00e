"""Who calls, and whether they may: what the door asks of whoever keeps credentials and standing.

The proxy and the routes of the gateway know these types alone. Credentials, enrolment and
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
    """A worker, as its credential proves it."""

    kind: Literal["install", "build"]
    org: str
    """The Temporal namespace."""
    name: str
    """The install's name; empty for a build worker."""
    key: str
    """The thumbprint of the worker's key."""
    expires: float
    """When the credential ends, in Unix seconds."""

    @property
    def queue(self) -> str:
        """The only task queue that this worker may poll."""
        return install_queue(self.name) if self.kind == "install" else BUILD_QUEUE

    @property
    def whose(self) -> tuple[str, str]:
        """What is counted for it is counted under this: org and name, whatever the key."""
        return self.org, self.shown

    @cached_property
    def shown(self) -> str:
        """How logs and Temporal's UI call it: `install/acme`, `build`."""
        return f"{self.kind}/{self.name}" if self.name else self.kind


class Unauthenticated(Exception):
    """A call proves no identity; the message says why, and what to do, without any secret."""


class Expired(Unauthenticated):
    """The credential is one of this gateway's, and its time is over.

    Who shows it does no harm by it, and renews it: it has to wait, and not to end. A worker that
    is a year old ends on UNAUTHENTICATED, or drops the result of an hour's work.
    """

    def __init__(self, message: str, identity: Identity) -> None:
        super().__init__(message)
        self.identity = identity


class Authenticator(Protocol):
    """Tells whose credential a call carries."""

    def authenticate(self, authorization: str | None) -> Identity:
        """The identity behind the value of an `Authorization` header (`Bearer …`).

        Called for every call, before its body is read: it must be quick and must not wait.

        Raises:
            Unauthenticated: there is none, or it is malformed or forged.
            Expired: it is genuine, and its time is over.
        """


class Standing(Enum):
    """What an identity may do at this moment."""

    ALLOWED = "allowed"
    PAUSED = "paused"
    """It gets no new work; what it runs it may finish."""
    REVOKED = "revoked"


class Access(Protocol):
    """Knows the standing of every identity, and when it changes."""

    def standing(self, identity: Identity) -> Standing:
        """The standing at this moment; it must not wait."""

    def changed(self, identity: Identity) -> "asyncio.Future[None]":
        """Done as soon as the identity's standing may have changed since this call.

        Every waiting poll has one, and cancels it when the poll ends: a thousand of them must cost
        next to nothing.
        """
