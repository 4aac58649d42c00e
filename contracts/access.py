"""Access: which of an org's workers the gateway lets in; enrolled keys, revocation, pause.

One workflow, `access/<org>`, holds this for the whole org. It knows public keys and names only.
Possession of a secret is proven, or the secret is sealed to the worker: no history contains one.
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
"""An enrolled worker: `install/acme` is an install's worker, `build` the org's build worker."""

PublicKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{43}$")]
"""32 bytes as base64url without padding: an Ed25519 or an X25519 public key."""

Thumbprint = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
"""Identifies a worker's key: the first half of its SHA-256."""

TokenNumber = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]

Remark = Annotated[str, StringConstraints(max_length=300)]
"""Free text from a person: who they are, or why they act."""

TOKEN_KEYS = 16
"""How many are kept; beyond that, the oldest are dropped."""

KEYS_PER_SUBJECT = 8
"""How many are kept; beyond that, revoked keys are dropped first, then the oldest."""


class PublicKeys(Message):
    """The public halves of a worker's keys."""

    signing: PublicKey
    """Ed25519."""
    sealing: PublicKey
    """X25519."""


class TokenProof(Message):
    """Proof that the worker holds the one-time token of its stack, without the token's secret."""

    id: Annotated[str, StringConstraints(max_length=1000)]
    proof: Annotated[str, StringConstraints(max_length=100)]


class CloudProof(Message):
    """Proof that a cloud vouches for the worker's machine."""

    kind: Annotated[str, StringConstraints(pattern=r"^[a-z]{1,20}$")]
    """`aws`, `azure` or `gcp`."""
    document: Annotated[str, StringConstraints(max_length=40_000)]
    """The document that the cloud issued to the machine, sealed to the control side."""


class EarlierAnswer(Message):
    """The answer to an earlier enrolment of the same keys; it proves that they are enrolled."""

    sealed: Annotated[str, StringConstraints(max_length=40_000)]
    signature: Annotated[str, StringConstraints(max_length=100)]


class CloudIdentity(Command):
    """The machine that a cloud must vouch for: an account's role, or an issuer's subject."""

    kind: Literal["aws", "azure", "gcp"]
    account: Annotated[str, StringConstraints(pattern=r"^[0-9]{12}$")] | None = None
    """AWS: the account."""
    role: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+=,.@_-]{1,64}$")] | None = None
    """AWS: the name of the machine's role."""
    issuer: Annotated[str, StringConstraints(pattern=r"^https://[^\s]{1,300}$")] | None = None
    """Azure and Google Cloud: the issuer that signs the machine's identity tokens."""
    subject: Annotated[str, StringConstraints(max_length=300)] | None = None
    """Azure and Google Cloud: the subject of those tokens."""
    audience: Annotated[str, StringConstraints(max_length=300)] | None = None
    """Azure and Google Cloud: the tokens' audience; by default, derived from the enrolling key."""


class EnrolRequest(Command):
    """The argument of the update `enrol`; exactly one of the three proofs is given."""

    subject: Subject
    keys: PublicKeys
    token: TokenProof | None = None
    cloud: CloudProof | None = None
    earlier: EarlierAnswer | None = None
    """Sent by a worker that is already enrolled and asks for its current payload keys."""


class Enrolled(Message):
    """The result of an enrolment."""

    subject: Subject
    thumbprint: Thumbprint
    sealed: str
    """The worker's payload keys, sealed to its X25519 key."""
    signature: str
    """The control side's signature over the whole answer and the keys that asked for it."""


class EnrolledKey(Message):
    """A key that a worker generated for itself."""

    thumbprint: Thumbprint
    key: PublicKey
    at: str
    """UTC, ISO 8601."""
    how: str
    """`token`, or the cloud that vouched."""
    revoked: str = ""
    """When it was revoked; UTC, ISO 8601."""


class SubjectAccess(Message):
    """The access of one worker."""

    keys: list[EnrolledKey] = Field(default_factory=list)
    revoked: str = ""
    """When the whole worker was revoked; UTC, ISO 8601."""
    paused: str = ""
    """Since when it has been paused; UTC, ISO 8601."""
    told: str = ""
    """Who revoked or paused it, and why, in their own words."""
    cloud: CloudIdentity | None = None


class UsedToken(Message):
    """A one-time token that was used."""

    subject: Subject
    thumbprint: Thumbprint
    expires: int
    """Seconds since 1970; then this record is dropped, since the token is refused anyway."""


class TokenKeys(Command):
    """The argument of the signal `token_keys`: public keys that verify the control side's tokens.

    Each control worker announces its own. They accumulate, since old and new control workers run
    side by side during a key rotation. The control side checks every token again itself.
    """

    keys: Annotated[list[PublicKey], Field(max_length=TOKEN_KEYS)]
    """Ed25519."""


class CarriedAccess(Message):
    """The state that the Access workflow carries over when it continues as new."""

    version: int = 0
    subjects: dict[str, SubjectAccess] = Field(default_factory=dict)
    used: dict[str, UsedToken] = Field(default_factory=dict)
    token_keys: list[PublicKey] = Field(default_factory=list)


class AccessInput(Command):
    """The input of the workflow `Access`."""

    org: Name
    carried: CarriedAccess | None = None
    """Set only by continue-as-new."""


class Revoke(Command):
    """The argument of the updates `revoke` and `restore`."""

    subject: Subject
    key: Thumbprint | None = None
    """One key; without it, the whole worker."""
    by: Remark = ""
    reason: Remark = ""


class Pause(Command):
    """The argument of the updates `pause` and `resume`."""

    subject: Subject
    by: Remark = ""
    reason: Remark = ""


class PinCloud(Command):
    """The argument of the update `pin`: the machine that may enrol without a token."""

    subject: Subject
    cloud: CloudIdentity | None
    """None removes the pin."""


class AccessPageRequest(Command):
    """The argument of the query `access`."""

    after: str = ""
    """The last subject of the previous page."""
    limit: Annotated[int, Field(ge=1, le=2000)] = 1000


class AccessPage(Message):
    """The answer of the query `access`: subjects in order, continuing after the previous page."""

    org: Name
    version: int
    """Grows with every change; pages of one version belong together."""
    subjects: dict[str, SubjectAccess] = Field(default_factory=dict)
    next: str | None = None
    """Where the next page begins; None after the last."""
    token_keys: list[PublicKey] = Field(default_factory=list)
    """Gateways check a token against these before they forward it. Empty until a control worker has
    announced some; until then the control side alone checks."""


class AccessChanged(Message):
    """The result of an update of access."""

    subject: Subject
    version: int
    access: SubjectAccess


class VerifyEnrolment(Message):
    """The input of `access.verify_enrolment`."""

    org: Name
    request: EnrolRequest
    cloud: CloudIdentity | None = None
    """The machine that the cloud must vouch for."""


class VerifiedEnrolment(Message):
    """The result of `access.verify_enrolment`."""

    enrolled: Enrolled
    number: TokenNumber | None = None
    """The number of the one-time token; None where a cloud vouched."""
    expires: int = 0
    """When the token expires; seconds since 1970."""
    principal: str = ""
    """The principal that the cloud vouched for."""


class MintToken(Message):
    """The input of `access.mint_token`."""

    subject: Subject
    seal_to: PublicKey
    """The X25519 key of the person who asks, so that no history contains the token's secret."""
    lifetime_seconds: Annotated[int, Field(ge=60, le=30 * 86_400)] = 86_400


class MintedToken(Message):
    """The result of `access.mint_token`."""

    id: str
    expires: str
    """UTC, ISO 8601."""
    sealed: str
    """The whole token, sealed to the key of the person who asked."""
    enrolment: str = ""
    """For a build worker, which has no stack: its enrolment file, which holds no secret."""


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
