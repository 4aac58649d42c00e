"""The messages between a worker and the gateway over HTTP, before there is a credential."""

from typing import Annotated

from pydantic import StringConstraints

from contracts.access import CloudProof, EarlierAnswer, Enrolled, PublicKeys, Subject, TokenProof
from contracts.messages import Message
from contracts.names import Name

ENROL_PATH = "/v1/enrol"
CREDENTIAL_PATH = "/v1/credential"
TIME_PATH = "/v1/time"

ASSERTION_AUDIENCE = "exclave-gateway-credential"
ASSERTION_ALGORITHM = "EdDSA"
ASSERTION_SECONDS = 60
"""How long a worker's assertion is valid."""

SKEW_SECONDS = 300.0
"""How much the clocks of a worker and a gateway may differ."""

BOUND_HEADER = "x-exclave-bound-to"
"""The header of the signed AWS request that names the worker and its key."""
STS_BODY = "Action=GetCallerIdentity&Version=2011-06-15"


class EnrolBody(Message):
    """The body of POST /v1/enrol."""

    org: Name
    subject: Subject
    keys: PublicKeys
    token: TokenProof | None = None
    cloud: CloudProof | None = None
    earlier: EarlierAnswer | None = None
    time: float
    """The worker's clock, in Unix seconds."""


class EnrolAnswer(Enrolled):
    """The answer of POST /v1/enrol."""

    time: float
    """The gateway's clock, in Unix seconds."""


class CredentialBody(Message):
    """The body of POST /v1/credential."""

    assertion: Annotated[str, StringConstraints(max_length=4096)]
    """A JWT that the worker has just signed with its own key; its claim `seal_to` is the X25519 key
    that the answer is sealed to."""
    time: float


class CredentialAnswer(Message):
    """The answer of POST /v1/credential."""

    sealed: str
    """The credential, sealed to the assertion's `seal_to` key, so that whoever captures the
    assertion and replays it gets nothing usable."""
    expires: float
    """Unix seconds, by the gateway's clock."""
    seconds: float
    """How long it is valid from now on."""
    time: float


class TimeAnswer(Message):
    """The answer of GET /v1/time."""

    time: float


class Refusal(Message):
    """The body of every answer with a status other than 200."""

    code: str
    message: str
    """What happened."""
    what_to_do: str = ""
    time: float


def skew_in_words(skew: float) -> str:
    """Describes a difference of clocks (the worker's minus the gateway's) for people."""
    seconds = abs(skew)
    amount = f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
    return f"this machine's clock is {amount} {'ahead of' if skew > 0 else 'behind'} the gateway's"
