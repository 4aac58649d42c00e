"""What a worker and the gateway say to each other over HTTP, before there is a credential."""

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
"""How long a worker's assertion is good for."""

SKEW_SECONDS = 300.0
"""By how much the clocks of a worker and a gateway may differ."""

BOUND_HEADER = "x-exclave-bound-to"
"""In what AWS vouches with: the worker and its key, signed like the rest."""
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
    """A JWT that the worker signed with its own key just now; its claim `seal_to` is the X25519
    key that the answer is sealed to."""
    time: float


class CredentialAnswer(Message):
    """The answer of POST /v1/credential."""

    sealed: str
    """The credential, to the key that the assertion names as `seal_to`: who only carried the
    assertion, and shows it again, gets nothing that it can use."""
    expires: float
    """Unix seconds, by the gateway's clock."""
    seconds: float
    """How long it is good for from now on."""
    time: float


class TimeAnswer(Message):
    """The answer of GET /v1/time."""

    time: float


class Refusal(Message):
    """The body of every answer that is not 200."""

    code: str
    message: str
    """What happened."""
    what_to_do: str = ""
    time: float


def skew_in_words(skew: float) -> str:
    """A difference of clocks (the worker's less the gateway's) for a person."""
    seconds = abs(skew)
    amount = f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
    return f"this machine's clock is {amount} {'ahead of' if skew > 0 else 'behind'} the gateway's"
