"""Checks whether a caller of the gateway's HTTP routes may pass, as the proxy does for gRPC."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from starlette.requests import Request

from gateway.audit import Audit
from gateway.http.app import prove
from gateway.identity import Access, Authenticator, Expired, Identity, Standing, Unauthenticated
from gateway.limits import Buckets

_IDENTITIES = 100_000
_SHORTEST_WAIT_SECONDS = 1
_RENEWED_SECONDS = 5
"""How soon a worker that has reached its gateway again has usually renewed its credential."""


class Refused(Exception):
    """A request is answered with an error status; the message is for the caller."""

    def __init__(
        self,
        status: int,
        reason: str,
        *,
        retry_after: int | None = None,
        identity: Identity | None = None,
        allow: Iterable[str] = (),
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        self.identity = identity
        self.allow = tuple(allow)
        """With status 405: the methods that are allowed."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer."""
        found = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        if self.status == 401:
            found["WWW-Authenticate"] = 'Bearer realm="exclave"'
        if self.allow:
            found["Allow"] = ", ".join(self.allow)
        return found


@dataclass(frozen=True)
class Rate:
    """How many requests one identity may make."""

    per_second: float
    at_once: float


@dataclass(frozen=True)
class Callers:
    """Identifies callers, and refuses those who may not pass."""

    authenticator: Authenticator
    access: Access
    audit: Audit
    rate: Rate
    _buckets: Buckets = field(init=False)

    def __post_init__(self) -> None:
        buckets = Buckets(self.rate.per_second, self.rate.at_once, _IDENTITIES)
        object.__setattr__(self, "_buckets", buckets)

    def admit(self, request: Request) -> Identity:
        """Identify the caller, before the body is read.

        Raises:
            Refused: no identity is proven, it is revoked, its credential has expired, or it calls
                too often.
        """
        try:
            identity = self.authenticator.authenticate(request.headers.get("Authorization"))
        except Expired as error:
            self._refuse_revoked(error.identity)
            # The worker renews it meanwhile. On 401 it would fail its run.
            raise Refused(
                503, str(error), retry_after=_RENEWED_SECONDS, identity=error.identity
            ) from error
        except Unauthenticated as error:
            raise Refused(401, str(error)) from error
        self._refuse_revoked(identity)
        if not self._buckets.take(identity.quota_key):
            raise Refused(
                429,
                f"{identity.shown} sends more than {self.rate.per_second:g} requests a second; "
                "slow down",
                retry_after=_SHORTEST_WAIT_SECONDS,
                identity=identity,
            )
        prove(request)
        return identity

    def _refuse_revoked(self, identity: Identity) -> None:
        if self.access.standing(identity) is Standing.REVOKED:
            raise Refused(403, f"{identity.shown} is revoked", identity=identity)

    def denied(self, request: Request, refused: Refused, counted_as: str) -> None:
        """Audit a refused request, as the proxy audits calls."""
        self.audit.denied(
            identity=refused.identity,
            # Not from the URL, which contains the caller's Host header.
            method=f"{request.method} {request.scope['path']}",
            counted_as=counted_as,
            status=str(refused.status),
            reason=refused.reason,
            peer=f"{request.client.host}:{request.client.port}" if request.client else "",
        )
