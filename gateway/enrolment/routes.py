"""The three routes that need no credential: a worker enrols here and gets its credentials.

Only the control side decides on an enrolment; the gateway passes it on unless it is plainly forged
(`enrolment.proofs`). For a credential, a worker proves itself by a signature of its enrolled key.
"""

import asyncio
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from temporalio.client import WorkflowQueryFailedError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from contracts.access import Enrolled, EnrolRequest
from contracts.errors import BadInput, CredentialsRefused
from contracts.names import access_workflow_id
from gateway.enrolment.access import AccessOfOrgs, AccessWatch
from gateway.enrolment.address_limits import AddressLimits
from gateway.enrolment.credentials import GatewayCredentials
from gateway.enrolment.proofs import EnrolmentProofs, NotProven
from gateway.http.app import prove
from gateway.limits import Buckets
from wire.enrolment.messages import (
    ASSERTION_ALGORITHM,
    ASSERTION_AUDIENCE,
    ASSERTION_SECONDS,
    CREDENTIAL_PATH,
    ENROL_PATH,
    SKEW_SECONDS,
    TIME_PATH,
    CredentialAnswer,
    CredentialBody,
    EnrolAnswer,
    EnrolBody,
    Refusal,
    TimeAnswer,
    skew_in_words,
)
from wire.enrolment.sealing import decoded, seal
from wire.enrolment.token import sealed_about

_log = logging.getLogger(__name__)

B = TypeVar("B", bound=BaseModel)

_LARGEST_BODY = 64 * 1024
_ENROLLING = 4
"""How many enrol at a time: a workflow accepts ten updates at once, and there may be other
gateways."""
_ANSWER = timedelta(seconds=20)
_REMEMBERED_ASSERTIONS = 100_000
_LOOKS_PER_SECOND = 1.0
_LOOKS_AT_ONCE = 20.0
"""How often a stranger's request may make the gateway read an org's access from Temporal. Changes
arrive without that."""
_ORGS = 1000


class _Refused(Exception):
    def __init__(
        self, status: int, code: str, message: str, what_to_do: str = "", wait: float = 0.0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.what_to_do = what_to_do
        self.wait = wait


@dataclass
class Enrolment:
    """The three routes, and what they need."""

    access: AccessOfOrgs
    credentials: GatewayCredentials
    limits: AddressLimits = field(default_factory=lambda: AddressLimits(60, 2.0))
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self._seen: OrderedDict[str, float] = OrderedDict()
        self._proofs = EnrolmentProofs()
        self._looks = Buckets(_LOOKS_PER_SECOND, _LOOKS_AT_ONCE, _ORGS)
        self._enrolling = asyncio.Semaphore(_ENROLLING)

    def routes(self) -> list[Route]:
        """The routes, for the root of a listener with TLS."""
        return [
            Route(ENROL_PATH, self._answering(self._enrol), methods=["POST"]),
            Route(CREDENTIAL_PATH, self._answering(self._credential), methods=["POST"]),
            Route(TIME_PATH, self._answering(self._time), methods=["GET"]),
        ]

    def _answering(
        self, handler: Callable[[Request], Awaitable[BaseModel]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                self._limit(request)
                return _json(await handler(request), 200)
            except _Refused as refused:
                return self._refusal(refused)
            except ClientDisconnect:
                return self._refusal(_Refused(499, "gone", "the client went away"))
            except (RPCError, WorkflowQueryFailedError) as error:
                _log.warning(
                    "%s: the control plane does not answer: %s", request.scope["path"], error
                )
                return self._refusal(_unavailable())

        return answer

    def _limit(self, request: Request) -> None:
        address = request.client.host if request.client else ""
        wait = self.limits.wait_seconds(address)
        if wait:
            raise _Refused(
                429, "too_often", f"{address} calls too often.", "It is tried again later.", wait
            )

    def _refusal(self, refused: _Refused) -> Response:
        body = Refusal(
            code=refused.code,
            message=refused.message,
            what_to_do=refused.what_to_do,
            time=self.clock(),
        )
        answer = _json(body, refused.status)
        if refused.wait:
            answer.headers["Retry-After"] = str(math.ceil(refused.wait))
        return answer

    async def _time(self, request: Request) -> TimeAnswer:
        return TimeAnswer(time=self.clock())

    async def _enrol(self, request: Request) -> EnrolAnswer:
        body = await _body(request, EnrolBody)
        watch = self._watch(body.org)
        await self._check(body, watch)
        argument = EnrolRequest(
            subject=body.subject,
            keys=body.keys,
            token=body.token,
            cloud=body.cloud,
            earlier=body.earlier,
        )
        try:
            async with self._enrolling:
                enrolled: Enrolled = await watch.client.get_workflow_handle(
                    access_workflow_id(watch.org)
                ).execute_update("enrol", argument, result_type=Enrolled, rpc_timeout=_ANSWER)
        except WorkflowUpdateFailedError as error:
            refused = self._of_update(error, body)
            _log.warning("%s is not enrolled (%s).", body.subject, refused.code)
            raise refused from error
        await watch.refresh()
        _log.info(
            "%s of %s is enrolled, key %s, from %s.",
            enrolled.subject,
            watch.org,
            enrolled.thumbprint,
            request.client.host if request.client else "?",
        )
        prove(request)
        return EnrolAnswer(time=self.clock(), **enrolled.model_dump())

    async def _check(self, body: EnrolBody, watch: AccessWatch) -> None:
        try:
            try:
                self._proofs.check(body, watch, self.clock())
            except NotProven:
                # A key, a pin or a restoration may have been added a moment ago.
                if not await self._looked_again(watch):
                    raise
                self._proofs.check(body, watch, self.clock())
        except NotProven as error:
            status = {"malformed": 400, "too_often": 429}.get(error.code, 403)
            _log.warning("%s is not enrolled (%s).", body.subject, error.code)
            words = " ".join(one for one in (error.what_to_do, self._about_clock(body.time)) if one)
            raise _Refused(status, error.code, error.message, words) from error

    async def _looked_again(self, watch: AccessWatch) -> bool:
        """Read the org's access again, unless that was done too often; whether it was read."""
        if not self._looks.take(watch.org):
            return False
        await watch.refresh()
        return True

    def _watch(self, org: str) -> AccessWatch:
        watch = self.access.of(org)
        if watch is None:
            raise _Refused(403, "other_org", f"This gateway does not serve the org {org[:63]}.")
        return watch

    def _of_update(self, error: WorkflowUpdateFailedError, body: EnrolBody) -> _Refused:
        cause = error.cause
        if not isinstance(cause, ApplicationError):
            return _unavailable()
        if cause.type == BadInput.__name__:
            return _Refused(400, "malformed", cause.message)
        if cause.type != CredentialsRefused.__name__:
            _log.error("An enrolment failed: %s", cause)
            return _unavailable()
        details = cause.details[0] if cause.details else {}
        code = details.get("code", "refused") if isinstance(details, dict) else "refused"
        return _Refused(403, str(code), cause.message, self._about_clock(body.time))

    async def _credential(self, request: Request) -> CredentialAnswer:
        body = await _body(request, CredentialBody)
        org, subject, thumbprint = _named(body.assertion)
        watch = self._watch(org)
        key = watch.key_of(subject, thumbprint)
        if key is None:
            # It may have been enrolled at another gateway a moment ago.
            await self._looked_again(watch)
            key = watch.key_of(subject, thumbprint)
        if key is None:
            raise _Refused(
                403,
                "not_enrolled",
                f"The key {thumbprint} of {subject} is not enrolled.",
                "Give the worker a new enrolment token, from a stack that is rendered anew.",
            )
        claims = self._claims(body, key.key)
        access = watch.access_of(subject)
        if access is None or access.revoked or key.revoked:
            since = (access.revoked if access else "") or key.revoked
            raise _Refused(
                403,
                "revoked" if access and access.revoked else "key_revoked",
                f"{subject} (key {thumbprint}) was revoked at {since}.",
                "The vendor can restore it: exclave access restore "
                f"{subject.removeprefix('install/')}",
            )
        self._once(claims)
        kind, _, name = subject.partition("/")
        issued = self.credentials.issue(kind, watch.org, name, thumbprint)
        prove(request)
        return CredentialAnswer(
            sealed=self._sealed(issued.token, claims, subject),
            expires=issued.expires,
            seconds=issued.seconds,
            time=self.clock(),
        )

    def _sealed(self, token: str, claims: dict[str, Any], subject: str) -> str:
        try:
            return seal(
                token.encode(), decoded(str(claims["seal_to"])), sealed_about("credential", subject)
            )
        except ValueError as error:
            raise _Refused(401, "assertion_invalid", "Its seal_to is no X25519 key.") from error

    def _claims(self, body: CredentialBody, key: str) -> dict[str, Any]:
        try:
            claims: dict[str, Any] = jwt.decode(
                body.assertion,
                Ed25519PublicKey.from_public_bytes(decoded(key)),
                algorithms=[ASSERTION_ALGORITHM],
                audience=ASSERTION_AUDIENCE,
                # Times are checked below, so that a wrong clock is reported as such.
                options={
                    "require": ["exp", "iat", "aud", "sub", "org", "jti", "seal_to"],
                    "verify_exp": False,
                    "verify_iat": False,
                },
            )
            times = float(claims["iat"]), float(claims["exp"])
        except (jwt.InvalidTokenError, ValueError, TypeError) as error:
            raise _Refused(401, "assertion_invalid", "The assertion does not hold.") from error
        self._judge(*times)
        return claims

    def _judge(self, made: float, ends: float) -> None:
        now = self.clock()
        if not 0 < ends - made <= ASSERTION_SECONDS:
            raise _Refused(401, "assertion_invalid", "The assertion is good for too long.")
        if not made - SKEW_SECONDS <= now <= ends + SKEW_SECONDS:
            raise _Refused(
                401,
                "clock_skew",
                f"The assertion was not made now: {skew_in_words(made - now)}.",
                "Set the clock of the worker's machine (timedatectl set-ntp true).",
            )

    def _once(self, claims: dict[str, Any]) -> None:
        """Refuse an assertion that was used before; it is remembered until it expires anyway."""
        now = self.clock()
        number = f"{claims['org']} {claims['sub']} {claims['jti']}"[:300]
        if number in self._seen:
            raise _Refused(401, "replayed", "This assertion was used before.")
        while self._seen and (
            next(iter(self._seen.values())) < now or len(self._seen) >= _REMEMBERED_ASSERTIONS
        ):
            self._seen.popitem(last=False)
        self._seen[number] = now + 2 * SKEW_SECONDS + ASSERTION_SECONDS

    def _about_clock(self, theirs: float) -> str:
        skew = theirs - self.clock()
        if abs(skew) <= SKEW_SECONDS:
            return ""
        words = skew_in_words(skew)
        return f"Note that {words}; set it (timedatectl set-ntp true)."


def _named(assertion: str) -> tuple[str, str, str]:
    """The org, subject and key that an assertion claims; its signature is yet to be verified."""
    try:
        header = jwt.get_unverified_header(assertion)
        claims = jwt.decode(assertion, options={"verify_signature": False, "verify_exp": False})
        named = claims["org"], claims["sub"], header["kid"]
        if not all(isinstance(one, str) for one in named):
            raise TypeError("no text")
    except (jwt.InvalidTokenError, KeyError, TypeError) as error:
        raise _Refused(401, "assertion_invalid", "This is no assertion of a worker.") from error
    org, subject, thumbprint = named
    return org, subject[:100], thumbprint[:100]


async def _body(request: Request, model: type[B]) -> B:
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > _LARGEST_BODY:
            raise _Refused(413, "too_large", f"The body has over {_LARGEST_BODY} bytes.")
    try:
        return model.model_validate_json(bytes(data))
    except ValidationError as error:
        # Name the places that are wrong, but repeat nothing of what was sent.
        places = ", ".join(
            f"{'.'.join(str(part) for part in one['loc']) or 'the body'}: {one['msg']}"
            for one in error.errors(include_input=False, include_url=False)
        )
        raise _Refused(400, "malformed", f"The body is not what it should be: {places}.") from error


def _unavailable() -> _Refused:
    return _Refused(
        503, "unavailable", "The control plane does not answer.", "It is tried again by itself.", 5
    )


def _json(body: BaseModel, status: int) -> JSONResponse:
    return JSONResponse(
        body.model_dump(mode="json"), status_code=status, headers={"Cache-Control": "no-store"}
    )
