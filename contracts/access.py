"""Access: who of an org's workers may pass the gateway; enrolled keys, revocation, pause.

One workflow holds it for the whole org, `access/<org>`. It holds public keys and names alone:
whatever is secret is proven, or sealed to the worker, and never in a history.
"""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from contracts.activities import FEW, HEARTBEAT_TIMEOUT, Activity
from contracts.messages import Command, Message
from contracts.names import Name

Subject = Annotated[
    str, StringConstraints(pattern=r"^(install/[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?|build)$")
]
"""Who is enrolled: `install/acme`, the worker of an install, or `build`, the org's build worker."""

PublicKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{43}$")]
"""32 bytes as base64url without padding: an Ed25519 or an X25519 public key."""

Thumbprint = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
"""What a worker's key is called: the first half of its SHA-256."""

TokenNumber = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]

Told = Annotated[str, StringConstraints(max_length=300)]
"""A few words of a person: who, or why."""

TOKEN_KEYS = 16
"""What is kept; of more, the oldest are forgotten."""

KEYS_PER_SUBJECT = 8
"""What is kept; of more, revoked ones are forgotten first, then the oldest."""


class PublicKeys(Message):
    """What a worker shows of its keys."""

    signing: PublicKey
    """Ed25519."""
    sealing: PublicKey
    """X25519."""


class TokenProof(Message):
    """That the worker holds the one-time token of its stack, without the token's secret."""

    id: Annotated[str, StringConstraints(max_length=1000)]
    proof: Annotated[str, StringConstraints(max_length=100)]


class CloudProof(Message):
    """That a cloud vouches for the worker's machine."""

    kind: Annotated[str, StringConstraints(pattern=r"^[a-z]{1,20}$")]
    """`aws`, `azure` or `gcp`."""
    document: Annotated[str, StringConstraints(max_length=40_000)]
    """What the cloud gave to the machine, sealed to the control side."""


class EarlierAnswer(Message):
    """An answer to an enrolment of these very keys, by which the control side knows them again."""

    sealed: Annotated[str, StringConstraints(max_length=40_000)]
    signature: Annotated[str, StringConstraints(max_length=100)]


class CloudIdentity(Command):
    """Which machine a cloud has to vouch for: an account's role, or an issuer's subject."""

    kind: Literal["aws", "azure", "gcp"]
    account: Annotated[str, StringConstraints(pattern=r"^[0-9]{12}$")] | None = None
    """AWS: the account."""
    role: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+=,.@_-]{1,64}$")] | None = None
    """AWS: the name of the role that the machine has."""
    issuer: Annotated[str, StringConstraints(pattern=r"^https://[^\s]{1,300}$")] | None = None
    """Azure and Google Cloud: who signs the machine's identity tokens."""
    subject: Annotated[str, StringConstraints(max_length=300)] | None = None
    """Azure and Google Cloud: whom they name."""
    audience: Annotated[str, StringConstraints(max_length=300)] | None = None
    """Azure and Google Cloud: for whom they are made; by default, for this key's enrolment."""


class EnrolRequest(Command):
    """The argument of the update `enrol`; exactly one of the three proofs is given."""

    subject: Subject
    keys: PublicKeys
    token: TokenProof | None = None
    cloud: CloudProof | None = None
    earlier: EarlierAnswer | None = None
    """Of a worker that is enrolled, and asks for its payload keys as they are now."""


class Enrolled(Message):
    """What an enrolment gives back."""

    subject: Subject
    thumbprint: Thumbprint
    sealed: str
    """The worker's payload keys, sealed to its X25519 key."""
    signature: str
    """The control side's, over all of the answer and the keys that asked for it."""


class EnrolledKey(Message):
    """A key that a worker made for itself."""

    thumbprint: Thumbprint
    key: PublicKey
    at: str
    """UTC, ISO 8601."""
    how: str
    """`token`, or the cloud that vouched."""
    revoked: str = ""
    """When it was revoked; UTC, ISO 8601."""


class SubjectAccess(Message):
    """How one worker stands."""

    keys: list[EnrolledKey] = Field(default_factory=list)
    revoked: str = ""
    """When all of it was revoked; UTC, ISO 8601."""
    paused: str = ""
    """Since when it is paused; UTC, ISO 8601."""
    told: str = ""
    """Who revoked or paused it, and why, as told."""
    cloud: CloudIdentity | None = None


class UsedToken(Message):
    """A one-time token that was used."""

    subject: Subject
    thumbprint: Thumbprint
    expires: int
    """Seconds since 1970; forgotten after it, since the token is refused anyway."""


class TokenKeys(Command):
    """The argument of the signal `token_keys`: by what the control side's signatures are known.

    Each control worker tells its own. They add up, since old and new ones run side by side while
    a key is exchanged; whatever they pass is proven to the control side all the same.
    """

    keys: Annotated[list[PublicKey], Field(max_length=TOKEN_KEYS)]
    """Ed25519."""


class CarriedAccess(Message):
    """What the Access workflow carries over when it continues as new."""

    version: int = 0
    subjects: dict[str, SubjectAccess] = Field(default_factory=dict)
    used: dict[str, UsedToken] = Field(default_factory=dict)
    token_keys: list[PublicKey] = Field(default_factory=list)


class AccessInput(Command):
    """What `Access` is started with."""

    org: Name
    carried: CarriedAccess | None = None
    """Set by continue-as-new alone."""


class Revoke(Command):
    """The argument of the updates `revoke` and `restore`."""

    subject: Subject
    key: Thumbprint | None = None
    """One key; without it, the whole worker."""
    by: Told = ""
    reason: Told = ""


class Pause(Command):
    """The argument of the updates `pause` and `resume`."""

    subject: Subject
    by: Told = ""
    reason: Told = ""


class PinCloud(Command):
    """The argument of the update `pin`: which machine may enrol without a token."""

    subject: Subject
    cloud: CloudIdentity | None
    """None takes it back."""


class AccessPageRequest(Command):
    """The argument of the query `access`."""

    after: str = ""
    """The last subject of the page before."""
    limit: Annotated[int, Field(ge=1, le=2000)] = 1000


class AccessPage(Message):
    """The answer of the query `access`: subjects in order, beginning after the page before."""

    org: Name
    version: int
    """Grows with every change; pages of one version belong together."""
    subjects: dict[str, SubjectAccess] = Field(default_factory=dict)
    next: str | None = None
    """Where the next page begins; None after the last."""
    token_keys: list[PublicKey] = Field(default_factory=list)
    """By which gateways know a token before they take it on; empty where no control worker has told
    any yet, so that everything is left to the control side."""


class AccessChanged(Message):
    """What an update of access comes to."""

    subject: Subject
    version: int
    access: SubjectAccess


class VerifyEnrolment(Message):
    """The input of `access.verify_enrolment`."""

    org: Name
    request: EnrolRequest
    cloud: CloudIdentity | None = None
    """Whom a cloud has to vouch for."""


class VerifiedEnrolment(Message):
    """The result of `access.verify_enrolment`."""

    enrolled: Enrolled
    number: TokenNumber | None = None
    """Of the one-time token; None where a cloud vouched."""
    expires: int = 0
    """When the token does; seconds since 1970."""
    principal: str = ""
    """Whom the cloud vouched for."""


class MintToken(Message):
    """The input of `access.mint_token`."""

    subject: Subject
    seal_to: PublicKey
    """The X25519 key of whoever asks: the token's secret is in no history."""
    lifetime_seconds: Annotated[int, Field(ge=60, le=30 * 86_400)] = 86_400


class MintedToken(Message):
    """The result of `access.mint_token`."""

    id: str
    expires: str
    """UTC, ISO 8601."""
    sealed: str
    """The whole token, sealed to who asked."""
    enrolment: str = ""
    """Of a build worker, which has no stack: its enrolment file, which holds no secret."""


VERIFY_ENROLMENT = Activity(
    "access.verify_enrolment",
    VerifyEnrolment,
    VerifiedEnrolment,
    timedelta(seconds=20),
    retry=FEW,
    heartbeat=None,
)
MINT_TOKEN = Activity(
    "access.mint_token",
    MintToken,
    MintedToken,
    timedelta(seconds=20),
    retry=FEW,
    heartbeat=HEARTBEAT_TIMEOUT,
    schedule_to_start=timedelta(seconds=5),
)
