"""`access.verify_enrolment` and `access.mint_token`, on the control worker."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from temporalio import activity

from activities.access.authority import EnrolmentAuthority, EnrolmentKey
from activities.access.vouching import NotVouched, Vouching
from contracts import access as declared
from contracts.access import (
    CloudProof,
    EarlierAnswer,
    Enrolled,
    EnrolRequest,
    MintedToken,
    MintToken,
    TokenProof,
    VerifiedEnrolment,
    VerifyEnrolment,
)
from contracts.errors import BadInput, CredentialsRefused, Unreachable
from stacks.enrolment import BuildEnrolment
from wire.encryption.subjects import BUILD
from wire.enrolment.sealing import CannotUnseal, decoded, encoded, seal
from wire.enrolment.token import InvalidToken, TokenId, answer_bytes, sealed_about
from wire.enrolment.worker_identity import thumbprint

PayloadKeys = Callable[[str], bytes]
"""Returns the keys with which a worker reads its payloads, by its subject."""


def no_payload_keys(subject: str) -> bytes:
    """For plain payloads: there are no keys to hand out."""
    return b""


@dataclass(frozen=True)
class AccessActivities:
    """The activities that need the enrolment key."""

    authority: EnrolmentAuthority | None
    """The enrolment keys; without them every request is refused."""
    namespace: str
    """The org."""
    vouching: Vouching = field(default_factory=Vouching)
    """The clouds that may vouch for machines; by default the real ones."""
    payload_keys: PayloadKeys = no_payload_keys
    """Returns what each worker is handed, sealed to it."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970, by which tokens expire."""
    build_enrolment: BuildEnrolment | None = None
    """What build workers are given; None if there is no gateway."""

    @property
    def _authority(self) -> EnrolmentAuthority:
        if self.authority is None:
            raise BadInput(
                "This control plane has no enrolment key, so nobody can enrol; start its control "
                "workers with --enrolment-key."
            )
        return self.authority

    @activity.defn(name=declared.MINT_TOKEN.name)
    async def mint_token(self, input: MintToken) -> MintedToken:
        """Make a one-time token, sealed to the caller's key.

        Raises:
            BadInput: the caller's key is not a valid key.
        """
        expires = int(self.clock()) + input.lifetime_seconds
        named = TokenId.fresh(self.namespace, input.subject, expires)
        minted = self._authority.mint(named)
        token = minted.render().encode()
        try:
            sealed = seal(token, decoded(input.seal_to), sealed_about("token", input.subject))
        except ValueError:
            raise BadInput("seal_to is not an X25519 public key.") from None
        when = datetime.fromtimestamp(expires, UTC).isoformat()
        enrolment = ""
        if input.subject == BUILD and self.build_enrolment is not None:
            enrolment = self.build_enrolment.render()
        return MintedToken(id=minted.id, expires=when, sealed=sealed, enrolment=enrolment)

    @activity.defn(name=declared.VERIFY_ENROLMENT.name)
    async def verify_enrolment(self, input: VerifyEnrolment) -> VerifiedEnrolment:
        """Check the proof, and answer with payload keys that only the worker can read.

        Raises:
            CredentialsRefused: the proof is not valid; the error's details have a code.
            Unreachable: the cloud that should vouch does not answer.
        """
        # In a thread, since a cloud may take seconds to answer.
        return await asyncio.to_thread(self._verified, input)

    def _verified(self, input: VerifyEnrolment) -> VerifiedEnrolment:
        request = input.request
        if request.token is not None:
            key, named = self._check_token(request.token, request, input.org)
            return VerifiedEnrolment(
                enrolled=self._answer(request, key), number=named.number, expires=named.expires
            )
        if request.cloud is not None:
            key, principal = self._check_cloud(request.cloud, input)
            return VerifiedEnrolment(enrolled=self._answer(request, key), principal=principal)
        if request.earlier is not None:
            key = self._check_earlier(request.earlier, request)
            return VerifiedEnrolment(enrolled=self._answer(request, key))
        raise _refused(
            "malformed", "An enrolment needs a token, a cloud's document, or an earlier answer."
        )

    def _check_earlier(self, shown: EarlierAnswer, request: EnrolRequest) -> EnrolmentKey:
        """An answer that the control side once signed proves that it accepted these keys."""
        key = self._authority.which_signed(
            shown.signature, answer_bytes(request.subject, request.keys, shown.sealed)
        )
        if key is None:
            raise _refused(
                "not_enrolled",
                "This worker was enrolled at another control plane; enrol it with a new token.",
            )
        return key

    def _check_token(
        self, shown: TokenProof, request: EnrolRequest, org: str
    ) -> tuple[EnrolmentKey, TokenId]:
        try:
            named = TokenId.parse(shown.id)
        except InvalidToken as error:
            raise _refused("malformed", str(error)) from None
        key = self._authority.which_made(
            shown.id, lambda token: token.proves(shown.proof, request.keys)
        )
        if key is None:
            raise _refused(
                "token_invalid",
                "This token was not made by this control plane, or does not belong to these keys. "
                "Render the stack again for a new one.",
            )
        # From here on the token's id is known to be genuine.
        if (named.org, named.subject) != (org, request.subject):
            raise _refused(
                "token_foreign",
                f"This token is for {named.subject} of the org {named.org}, not for "
                f"{request.subject} of {org}.",
            )
        now = self.clock()
        if named.expires <= now:
            raise _refused(
                "token_expired",
                f"This token expired at {_at(named.expires)}; by the control plane's clock it is "
                f"{_at(now)}. Render the stack again for a new one.",
            )
        return key, named

    def _check_cloud(self, shown: CloudProof, input: VerifyEnrolment) -> tuple[EnrolmentKey, str]:
        request = input.request
        if input.cloud is None or input.cloud.kind != shown.kind:
            raise _refused(
                "not_pinned",
                f"No {shown.kind} identity is pinned for {request.subject}; the vendor can: "
                f"exclave access pin {request.subject.removeprefix('install/')} --help",
            )
        try:
            key, document = self._authority.open(
                shown.document, sealed_about("document", request.subject)
            )
            bound = f"exclave:{request.subject}:{_thumbprint(request)}"
            principal = self.vouching.verify(input.cloud, document, bound)
        except CannotUnseal as error:
            raise _refused("malformed", str(error)) from None
        except NotVouched as error:
            raise _refused("not_vouched", str(error)) from None
        except OSError as error:
            raise Unreachable(f"{shown.kind} cannot identify the machine now: {error}") from None
        return key, principal

    def _answer(self, request: EnrolRequest, key: EnrolmentKey) -> Enrolled:
        subject = request.subject
        try:
            sealed = seal(
                self.payload_keys(subject),
                decoded(request.keys.sealing),
                sealed_about("payload keys", subject),
            )
        except ValueError:
            raise _refused("malformed", "The worker's sealing key is not an X25519 key.") from None
        return Enrolled(
            subject=subject,
            thumbprint=_thumbprint(request),
            sealed=sealed,
            signature=encoded(key.signing.sign(answer_bytes(subject, request.keys, sealed))),
        )


def _thumbprint(request: EnrolRequest) -> str:
    return thumbprint(decoded(request.keys.signing))


def _refused(code: str, message: str) -> CredentialsRefused:
    return CredentialsRefused(message, {"code": code})


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
