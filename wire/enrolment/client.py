"""A worker's calls to its gateway: to enrol, and to get credentials."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, ValidationError

from contracts.access import CloudProof, EarlierAnswer, TokenProof
from wire.enrolment.messages import (
    ASSERTION_AUDIENCE,
    ASSERTION_SECONDS,
    CREDENTIAL_PATH,
    ENROL_PATH,
    SKEW_SECONDS,
    CredentialAnswer,
    CredentialBody,
    EnrolAnswer,
    EnrolBody,
    Refusal,
    skew_in_words,
)
from wire.enrolment.sealing import KEY_BYTES, CannotUnseal, decoded, seal, unseal
from wire.enrolment.token import EnrolmentToken, TokenId, answer_bytes, sealed_about
from wire.enrolment.worker_identity import WorkerIdentity
from wire.network.daemon_thread import in_daemon_thread
from wire.network.gateway_address import GatewayAddress
from wire.network.gateway_http import HttpAnswer, NoAnswer, post

_SECONDS = 90.0
"""The limit of a whole call; each of its steps has its own limit."""

M = TypeVar("M", bound=BaseModel)


class GatewayAway(Exception):
    """The gateway, or what is behind it, does not answer; a retry may succeed."""


class GatewayRefused(Exception):
    """The gateway refuses; the message says what happened and what to do."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class AnswerForged(Exception):
    """The answer does not come from the control side; none of it is used."""


@dataclass(frozen=True)
class ControlKeys:
    """The public half of the control side's enrolment key, as the stack contains it."""

    signing: bytes
    sealing: bytes

    @staticmethod
    def parse(text: str) -> "ControlKeys":
        """Read the text in the stack.

        Raises:
            ValueError: it is not such a key.
        """
        raw = decoded(text)
        if len(raw) != 2 * KEY_BYTES:
            raise ValueError("it is not a control key")
        return ControlKeys(raw[:KEY_BYTES], raw[KEY_BYTES:])


@dataclass(frozen=True)
class Enrolee:
    """The worker that enrols, and its gateway."""

    org: str
    subject: str
    identity: WorkerIdentity
    gateway: GatewayAddress
    control: ControlKeys


@dataclass(frozen=True)
class Credential:
    """A short-lived credential for the gateway."""

    token: str = field(repr=False)
    seconds: float
    """How long it is valid from now on."""


@dataclass(frozen=True)
class Answer:
    """The control side's answer to an enrolment."""

    signed: EarlierAnswer
    payload_keys: bytes = field(repr=False)


class GatewayCalls:
    """Calls of one worker to its gateway."""

    def __init__(self, who: Enrolee, clock: Callable[[], float] = time.time) -> None:
        """Call as `who`; `clock` is the machine's."""
        self._who = who
        self._clock = clock
        self._offset = 0.0
        """The gateway's clock minus this machine's, as of the gateway's last answer."""

    @property
    def skew(self) -> float:
        """This machine's clock minus the gateway's, in seconds."""
        return -self._offset

    async def enrol_by_token(self, token: EnrolmentToken) -> Answer:
        """Enrol with the stack's one-time token.

        Raises:
            GatewayAway: nobody answers.
            GatewayRefused: the enrolment is refused.
            AnswerForged: the answer does not come from the control side.
        """
        named = TokenId.parse(token.id)
        if (named.org, named.subject) != (self._who.org, self._who.subject):
            raise GatewayRefused(
                "token_foreign",
                f"The token is for {named.subject} of the org {named.org}, and this worker is "
                f"{self._who.subject} of {self._who.org}. Use this worker's own token.",
            )
        proof = TokenProof(id=token.id, proof=token.prove(self._who.identity.public))
        return await self._enrol(token=proof)

    async def enrol_by_cloud(self, kind: str, document: bytes) -> Answer:
        """Enrol with the document that the cloud issued to this machine; as `enrol_by_token`."""
        about = sealed_about("document", self._who.subject)
        sealed = seal(document, self._who.control.sealing, about)
        return await self._enrol(cloud=CloudProof(kind=kind, document=sealed))

    async def ask_again(self, earlier: EarlierAnswer) -> Answer:
        """Get the current payload keys, proven by an earlier answer; as `enrol_by_token`."""
        return await self._enrol(earlier=earlier)

    async def _enrol(
        self,
        *,
        token: TokenProof | None = None,
        cloud: CloudProof | None = None,
        earlier: EarlierAnswer | None = None,
    ) -> Answer:
        who = self._who
        body = EnrolBody(
            org=who.org,
            subject=who.subject,
            keys=who.identity.public,
            token=token,
            cloud=cloud,
            earlier=earlier,
            time=self._clock(),
        )
        answer = await self._post(ENROL_PATH, body, EnrolAnswer)
        signed = answer_bytes(who.subject, who.identity.public, answer.sealed)
        try:
            Ed25519PublicKey.from_public_bytes(who.control.signing).verify(
                decoded(answer.signature), signed
            )
            about = sealed_about("payload keys", who.subject)
            keys = unseal(answer.sealed, who.identity.sealing, about)
        except (InvalidSignature, CannotUnseal, ValueError) as error:
            raise AnswerForged(
                f"The answer of {who.gateway.url} is not from the control side that made this "
                "worker's stack. Either the stack belongs to another control plane, or somebody is "
                "intercepting the connection. The answer is not used."
            ) from error
        return Answer(EarlierAnswer(sealed=answer.sealed, signature=answer.signature), keys)

    async def credential(self) -> Credential:
        """A new credential, for the key that was enrolled.

        Raises:
            GatewayAway: nobody answers.
            GatewayRefused: this worker gets none.
            AnswerForged: the answer is not meant for this worker.
        """
        try:
            answer = await self._post(CREDENTIAL_PATH, self._asking(), CredentialAnswer)
        except GatewayRefused as refused:
            if refused.code != "clock_skew":
                raise
            # The refusal contained the gateway's time.
            answer = await self._post(CREDENTIAL_PATH, self._asking(), CredentialAnswer)
        who = self._who
        try:
            about = sealed_about("credential", who.subject)
            token = unseal(answer.sealed, who.identity.sealing, about).decode()
        except ValueError as error:
            raise AnswerForged(
                f"The credential in the answer of {who.gateway.url} is not sealed to this worker. "
                "The answer is not used."
            ) from error
        return Credential(token, answer.seconds)

    def _asking(self) -> CredentialBody:
        now = self._clock()
        made = int(now + self._offset)
        claims = {
            "aud": ASSERTION_AUDIENCE,
            "org": self._who.org,
            "sub": self._who.subject,
            "iat": made,
            "exp": made + ASSERTION_SECONDS,
            "jti": uuid.uuid4().hex,
            "seal_to": self._who.identity.public.sealing,
        }
        return CredentialBody(assertion=self._who.identity.signed(claims), time=now)

    async def _post(self, path: str, body: BaseModel, model: type[M]) -> M:
        gateway, sent = self._who.gateway, body.model_dump_json().encode()
        url = gateway.url + path
        try:
            if gateway.secure:
                gateway.context()
        except OSError as error:
            raise GatewayAway(
                f"The certificate authority of {url} cannot be used: {error}"
            ) from error
        try:
            response = await in_daemon_thread(lambda: post(gateway, path, sent), _SECONDS)
        except NoAnswer as error:
            raise GatewayAway(f"{url} does not answer: {error}") from error
        except TimeoutError as error:
            raise GatewayAway(f"{url} does not answer within {_SECONDS:.0f} s.") from error
        if response.status != 200:
            raise self._refusal(url, response)
        try:
            answer = model.model_validate_json(response.content)
        except ValidationError as error:
            raise GatewayAway(f"{url} does not answer as a gateway does.") from error
        self._learn_time(answer)
        return answer

    def _refusal(self, url: str, response: HttpAnswer) -> GatewayAway | GatewayRefused:
        try:
            refusal = Refusal.model_validate_json(response.content)
        except ValidationError:
            return GatewayAway(f"{url} answers {response.status}, not as a gateway does.")
        self._learn_time(refusal)
        words = " ".join(one for one in (refusal.message, refusal.what_to_do) if one)
        if response.status >= 500 or response.status == 429:
            return GatewayAway(f"{url} answers: {words}")
        return GatewayRefused(refusal.code, words)

    def _learn_time(self, answer: BaseModel) -> None:
        theirs = getattr(answer, "time", None)
        if isinstance(theirs, float):
            self._offset = theirs - self._clock()

    def about_clock(self) -> str:
        """A warning if this machine's clock is far off; else empty."""
        if abs(self.skew) <= SKEW_SECONDS:
            return ""
        return f"{skew_in_words(self.skew)}; set it (timedatectl set-ntp true)"
