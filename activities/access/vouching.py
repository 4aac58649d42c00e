"""A cloud vouches for a machine: which document each cloud gives, and how it is checked.

Every document is bound to the worker and its key, or to the pinned audience, so that a document
made for another system cannot be used here.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx
import jwt
from jwt import PyJWKClient

from contracts.access import CloudIdentity
from wire.enrolment.messages import BOUND_HEADER, STS_BODY

_SECONDS = 8.0
_LARGEST_ANSWER = 20_000
_STS = re.compile(r"https://sts(\.[a-z]{2}(-[a-z]+)+-[0-9])?\.amazonaws\.com(\.cn)?/")
_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[A-Za-z0-9]+/[0-9]{8}/[a-z0-9-]+/sts/aws4_request, ?"
    r"SignedHeaders=([a-z0-9;-]+), ?Signature=[0-9a-f]{64}"
)
"""Must match the whole header: if a part came twice, AWS might use the other one."""
_ACCOUNT = re.compile(r"<Account>([0-9]{12})</Account>")
_ARN = re.compile(r"<Arn>([^<]{1,2048})</Arn>")
_ROLE_ARN = re.compile(r"arn:[a-z-]+:sts::([0-9]{12}):assumed-role/([^/]+)/[^/]+")
_HEADERS = frozenset(
    {"authorization", "x-amz-date", "x-amz-security-token", "content-type", BOUND_HEADER}
)
_ALGORITHMS = ["RS256", "ES256"]
_SKEW_SECONDS = 300
_THROTTLED = "<Code>Throttling"


class NotVouched(Exception):
    """The cloud does not vouch for this machine; the message says what differs."""


class Cloud(Protocol):
    """One way to vouch for a machine."""

    def verify(self, pinned: CloudIdentity, document: bytes, bound: str) -> str:
        """Check that the document is the pinned identity's, and return that identity's name.

        Args:
            pinned: The identity that the machine must have.
            document: What the cloud gave to the machine.
            bound: Names the worker and its key; the document must be made for it.

        Raises:
            NotVouched: the document is not valid, or another identity's.
            OSError: the cloud does not answer.
        """


@dataclass(frozen=True)
class Aws:
    """The document is a signed STS GetCallerIdentity request. It is forwarded to STS, which says
    who signed it."""

    endpoints: Sequence[str] = ()
    """URLs that are allowed in addition to those of AWS, for a private partition."""

    def verify(self, pinned: CloudIdentity, document: bytes, bound: str) -> str:
        """As `Cloud.verify`."""
        try:
            request = json.loads(document)
            url, sent = str(request["url"]), dict(request["headers"])
            headers = {str(name).lower(): str(value) for name, value in sent.items()}
        except (ValueError, KeyError, TypeError) as error:
            raise NotVouched("This is not a signed request to STS.") from error
        if not (_STS.fullmatch(url) or url in self.endpoints):
            raise NotVouched("The request is not addressed to AWS STS.")
        signed = _SIGNED.fullmatch(headers.get("authorization", ""))
        names = signed[1].split(";") if signed else []
        if headers.get(BOUND_HEADER) != bound or not {"host", BOUND_HEADER} <= set(names):
            raise NotVouched("The request was not signed for the enrolment of this worker's key.")
        kept = {name: value for name, value in headers.items() if name in _HEADERS}
        return self._checked(pinned, self._ask(url, kept))

    def _ask(self, url: str, headers: dict[str, str]) -> str:
        try:
            with httpx.Client(timeout=_SECONDS, follow_redirects=False) as client:
                answer = client.post(url, headers=headers, content=STS_BODY)
        except httpx.HTTPError as error:
            raise OSError(f"{url} does not answer ({type(error).__name__})") from error
        # When STS throttles, it answers with the status of a bad request.
        is_busy = answer.status_code == 400 and _THROTTLED in answer.text[:_LARGEST_ANSWER]
        if answer.status_code >= 500 or answer.status_code == 429 or is_busy:
            raise OSError(f"{url} answers {answer.status_code}")
        if answer.status_code != 200:
            raise NotVouched(
                f"AWS STS does not accept the machine's credentials ({answer.status_code}); if its "
                "clock is wrong, set it."
            )
        return answer.text[:_LARGEST_ANSWER]

    def _checked(self, pinned: CloudIdentity, answer: str) -> str:
        account, arn = _ACCOUNT.search(answer), _ARN.search(answer)
        if account is None or arn is None:
            raise NotVouched("AWS STS did not say who the machine is.")
        role = _ROLE_ARN.fullmatch(arn[1])
        if role is None or role[1] != account[1]:
            raise NotVouched(f"{arn[1]} is not a role that a machine can have.")
        if (role[1], role[2]) != (pinned.account, pinned.role):
            raise NotVouched(
                f"The machine is {role[2]} of the account {role[1]}; pinned is {pinned.role} of "
                f"{pinned.account}."
            )
        return arn[1]


@dataclass(frozen=True)
class OpenId:
    """The document is an OpenID Connect token that the cloud signed, as with Azure and Google."""

    def verify(self, pinned: CloudIdentity, document: bytes, bound: str) -> str:
        """As `Cloud.verify`."""
        if not pinned.issuer or not pinned.subject:
            raise NotVouched("An issuer and a subject have to be pinned.")
        # Without a pinned audience, the token's audience must name this worker's key.
        audience = pinned.audience or bound
        try:
            claims: dict[str, Any] = jwt.decode(
                document,
                self._key(pinned.issuer, document.decode("ascii")),
                algorithms=_ALGORITHMS,
                audience=audience,
                issuer=pinned.issuer,
                leeway=_SKEW_SECONDS,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except (jwt.InvalidTokenError, UnicodeDecodeError) as error:
            raise NotVouched(f"The machine's token is not valid: {error}") from error
        if claims["sub"] != pinned.subject:
            raise NotVouched(
                f"The machine is {str(claims['sub'])[:200]!r}; pinned is {pinned.subject!r}."
            )
        return f"{pinned.issuer} {pinned.subject}"

    def _key(self, issuer: str, token: str) -> Any:
        try:
            return PyJWKClient(_keys_url(issuer), timeout=_SECONDS).get_signing_key_from_jwt(token)
        except jwt.PyJWKClientConnectionError as error:
            raise OSError(f"the keys of {issuer} cannot be read") from error
        except jwt.PyJWKClientError as error:
            raise NotVouched("The machine's token is not signed by the pinned issuer.") from error


def _keys_url(issuer: str) -> str:
    """The URL of the issuer's keys, from its discovery document."""
    url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    try:
        with httpx.Client(timeout=_SECONDS, follow_redirects=False) as client:
            answer = client.get(url)
            answer.raise_for_status()
        found = str(answer.json()["jwks_uri"])
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        raise OSError(f"{url} does not answer as an issuer does") from error
    if not found.startswith(("https://", issuer)):
        raise OSError(f"{url} names keys that are not on HTTPS")
    return found


@dataclass(frozen=True)
class Vouching:
    """The clouds that may vouch, by name."""

    clouds: dict[str, Cloud] = field(
        default_factory=lambda: {"aws": Aws(), "azure": OpenId(), "gcp": OpenId()}
    )

    def verify(self, pinned: CloudIdentity, document: bytes, bound: str) -> str:
        """As `Cloud.verify`, by the pinned cloud."""
        return self.clouds[pinned.kind].verify(pinned, document, bound)
