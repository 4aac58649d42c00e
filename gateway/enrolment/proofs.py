"""Checks that a gateway can make of an enrolment before it becomes an update of the org's Access.

Each update adds to a history and costs an activity, so a stranger's garbage must be stopped here. A
gateway knows the control side's public keys, which tell genuine tokens and earlier answers from
forged ones. Only the control side decides whether a worker may be enrolled with them.
"""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from contracts.access import CloudProof, EarlierAnswer, TokenProof
from gateway.enrolment.access import AccessWatch
from gateway.limits import Buckets
from wire.enrolment.messages import SKEW_SECONDS, EnrolBody
from wire.enrolment.sealing import decoded
from wire.enrolment.token import InvalidToken, TokenId, answer_bytes, signed_by_one_of

_RENDER_ANEW = "Render the stack anew for a fresh one (exclave install, or exclave access token)."
_SUBJECTS = 10_000


class NotProven(Exception):
    """The gateway refuses an enrolment; the message says why."""

    def __init__(self, code: str, message: str, what_to_do: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.what_to_do = what_to_do


class EnrolmentProofs:
    """Checks the proofs of enrolments."""

    def __init__(self) -> None:
        # A cloud's document is sealed to the control side, so a forged one cannot be detected here.
        self._by_cloud = Buckets(1 / 30, 10, _SUBJECTS)

    def check(self, body: EnrolBody, watch: AccessWatch, now: float) -> None:
        """Refuse an enrolment that the control side would certainly refuse.

        Args:
            body: What the worker sent.
            watch: The access of the worker's org.
            now: Seconds since 1970, by this gateway's clock.

        Raises:
            NotProven: the enrolment is refused.
        """
        proofs = (body.token, body.cloud, body.earlier)
        if sum(proof is not None for proof in proofs) != 1:
            raise NotProven(
                "malformed", "An enrolment is proven by a token, a cloud, or an earlier answer."
            )
        access = watch.access_of(body.subject)
        if access is not None and access.revoked:
            raise NotProven("revoked", f"{body.subject} was revoked at {access.revoked}.")
        keys = [Ed25519PublicKey.from_public_bytes(decoded(one)) for one in watch.token_keys]
        if body.token is not None:
            _check_token(body, body.token, keys, watch.org, now)
        elif body.earlier is not None:
            _check_earlier(body, body.earlier, keys)
        elif body.cloud is not None:
            self._check_cloud(body, body.cloud, watch)

    def _check_cloud(self, body: EnrolBody, shown: CloudProof, watch: AccessWatch) -> None:
        access = watch.access_of(body.subject)
        if access is None or access.cloud is None or access.cloud.kind != shown.kind:
            raise NotProven(
                "not_pinned",
                f"No {shown.kind} identity is pinned for {body.subject}; the vendor can: exclave "
                f"access pin {body.subject.removeprefix('install/')} --help",
            )
        if not self._by_cloud.take((watch.org, body.subject)):
            raise NotProven("too_often", f"{body.subject} is enrolled by its cloud too often.")


def _check_token(
    body: EnrolBody, shown: TokenProof, keys: list[Ed25519PublicKey], org: str, now: float
) -> None:
    try:
        named = TokenId.parse(shown.id)
    except InvalidToken as error:
        raise NotProven("malformed", str(error)) from None
    if keys and not named.is_signed_by_one_of(keys):
        raise NotProven(
            "token_invalid",
            "This token was not made by this control plane, or before tokens were signed.",
            _RENDER_ANEW,
        )
    if (named.org, named.subject) != (org, body.subject):
        raise NotProven(
            "token_foreign",
            f"This token is for {named.subject} of the org {named.org}, not for {body.subject} of "
            f"{org}.",
        )
    if named.expires + SKEW_SECONDS < now:
        raise NotProven("token_expired", "The time of this token is over.", _RENDER_ANEW)


def _check_earlier(body: EnrolBody, shown: EarlierAnswer, keys: list[Ed25519PublicKey]) -> None:
    data = answer_bytes(body.subject, body.keys, shown.sealed)
    if keys and not signed_by_one_of(keys, shown.signature, data):
        raise NotProven(
            "not_enrolled",
            "This worker was enrolled at another control plane; enrol it with a new token.",
        )
