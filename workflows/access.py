"""Access: the entity that decides which of an org's workers may pass the gateway."""

from temporalio import workflow

from contracts import access
from contracts.access import (
    KEYS_PER_SUBJECT,
    TOKEN_KEYS,
    AccessChanged,
    AccessInput,
    AccessPage,
    AccessPageRequest,
    CarriedAccess,
    Enrolled,
    EnrolledKey,
    EnrolRequest,
    Pause,
    PinCloud,
    Revoke,
    SubjectAccess,
    TokenKeys,
    UsedToken,
    VerifiedEnrolment,
    VerifyEnrolment,
)
from contracts.errors import CredentialsRefused, NotThere
from workflows.calls import call_control, without_local_activities
from workflows.search_attributes import require_id
from workflows.words import require_words


@workflow.defn(name="Access")
class Access:
    """Lives as long as the org does, and continues as new when its history grows."""

    def __init__(self) -> None:
        self._org = ""
        self._version = 0
        self._subjects: dict[str, SubjectAccess] = {}
        self._used: dict[str, UsedToken] = {}
        self._token_keys: list[str] = []
        self._ready = False
        self._local = False

    @workflow.run
    async def run(self, input: AccessInput) -> None:
        """Serve until somebody ends this workflow; from then on no worker passes."""
        self._local = not without_local_activities()
        require_id("access", input.org, "")
        carried = input.carried or CarriedAccess()
        self._org = input.org
        self._version = carried.version
        self._subjects = dict(carried.subjects)
        self._used = dict(carried.used)
        # The signal may have come before this has started.
        self._token_keys = _together(carried.token_keys, self._token_keys)
        self._ready = True
        await workflow.wait_condition(
            lambda: (
                workflow.info().is_continue_as_new_suggested() and workflow.all_handlers_finished()
            )
        )
        self._forget_expired()
        carried = CarriedAccess(
            version=self._version,
            subjects=self._subjects,
            used=self._used,
            token_keys=self._token_keys,
        )
        workflow.continue_as_new(AccessInput(org=self._org, carried=carried))

    @workflow.update
    async def enrol(self, request: EnrolRequest) -> Enrolled:
        """Enrol a worker's key; the same proof with the same key may be sent again."""
        await self._started()
        self._refuse_revoked(request.subject, None)
        verify = VerifyEnrolment(
            org=self._org, request=request, cloud=self._of(request.subject).cloud
        )
        verified = await call_control(
            access.VERIFY_ENROLMENT,
            verify,
            local=self._local,
            summary=f"enrol {request.subject}",
        )
        # The worker may have been revoked while its proof was checked.
        self._refuse_revoked(request.subject, verified.enrolled.thumbprint)
        self._refuse_used(verified)
        self._enrol(request, verified)
        return verified.enrolled

    def _enrol(self, request: EnrolRequest, verified: VerifiedEnrolment) -> None:
        enrolled = verified.enrolled
        self._forget_expired()
        if verified.number is not None:
            self._used[verified.number] = UsedToken(
                subject=enrolled.subject,
                thumbprint=enrolled.thumbprint,
                expires=verified.expires,
            )
        found = self._of(enrolled.subject)
        if all(one.thumbprint != enrolled.thumbprint for one in found.keys):
            if request.earlier is not None:
                raise CredentialsRefused(
                    f"The key {enrolled.thumbprint} of {enrolled.subject} is not enrolled any "
                    "more; enrol the worker with a new token.",
                    {"code": "not_enrolled"},
                )
            key = EnrolledKey(
                thumbprint=enrolled.thumbprint,
                key=request.keys.signing,
                at=_now(),
                how=request.cloud.kind if request.cloud else "token",
            )
            self._set(enrolled.subject, keys=_bounded([*found.keys, key]))

    @enrol.validator
    def _validate_enrol(self, request: EnrolRequest) -> None:
        proofs = (request.token, request.cloud, request.earlier)
        if sum(proof is not None for proof in proofs) != 1:
            raise CredentialsRefused(
                "An enrolment needs exactly one proof: a token, a cloud, or an earlier answer.",
                {"code": "malformed"},
            )

    def _refuse_revoked(self, subject: str, thumbprint: str | None) -> None:
        found = self._of(subject)
        if found.revoked:
            raise CredentialsRefused(
                f"{subject} was revoked at {found.revoked}; the vendor can restore it: "
                f"exclave access restore {_typed_as(subject)}",
                {"code": "revoked"},
            )
        for key in found.keys:
            if key.thumbprint == thumbprint and key.revoked:
                raise CredentialsRefused(
                    f"The key {thumbprint} of {subject} was revoked at {key.revoked}; remove the "
                    "worker's keys, so that it makes new ones, and enrol it with a new token.",
                    {"code": "key_revoked"},
                )

    def _refuse_used(self, verified: VerifiedEnrolment) -> None:
        used = self._used.get(verified.number or "")
        if used is not None and used.thumbprint != verified.enrolled.thumbprint:
            raise CredentialsRefused(
                f"This token was already used by the key {used.thumbprint} of {used.subject}; a "
                "token is good for one worker. If that was not you, revoke it: exclave access "
                f"revoke {_typed_as(used.subject)} --key {used.thumbprint}",
                {"code": "token_used"},
            )

    @workflow.update
    async def revoke(self, request: Revoke) -> AccessChanged:
        """Refuse a worker, or one of its keys, from now on."""
        await self._started()
        self._set_revoked(request, _now())
        return self._changed(request.subject)

    @workflow.update
    async def restore(self, request: Revoke) -> AccessChanged:
        """Let a revoked worker, or key, pass again."""
        await self._started()
        self._require_known(request.subject)
        self._set_revoked(request, "")
        return self._changed(request.subject)

    @revoke.validator
    @restore.validator
    def _validate_revoke(self, request: Revoke) -> None:
        require_words(by=request.by, reason=request.reason)

    @workflow.update
    async def pause(self, request: Pause) -> AccessChanged:
        """Give the worker no more work; it may finish what it has. A worker that is not enrolled
        yet will start paused."""
        await self._started()
        if not self._of(request.subject).paused:
            self._set(request.subject, paused=_now(), told=_reason(request))
        return self._changed(request.subject)

    @workflow.update
    async def resume(self, request: Pause) -> AccessChanged:
        """Give the worker work again."""
        await self._started()
        self._require_known(request.subject)
        if self._of(request.subject).paused:
            self._set(request.subject, paused="", told=_reason(request))
        return self._changed(request.subject)

    @pause.validator
    @resume.validator
    def _validate_pause(self, request: Pause) -> None:
        require_words(by=request.by, reason=request.reason)

    @workflow.update
    async def pin(self, request: PinCloud) -> AccessChanged:
        """Set which machine may enrol because its cloud vouches for it."""
        await self._started()
        if self._of(request.subject).cloud != request.cloud:
            self._set(request.subject, cloud=request.cloud)
        return self._changed(request.subject)

    @pin.validator
    def _validate_pin(self, request: PinCloud) -> None:
        """The argument's own checks are all; a validator has them made before the acceptance."""

    @workflow.signal
    def token_keys(self, message: TokenKeys) -> None:
        """Add keys that the control side signs its tokens with."""
        together = _together(self._token_keys, message.keys)
        if together != self._token_keys:
            self._token_keys = together
            self._version += 1

    @workflow.query
    def access(self, request: AccessPageRequest) -> AccessPage:
        """Which workers may pass, one page at a time."""
        if not self._ready:
            raise NotThere("The access of this org has not begun yet.")
        names = sorted(name for name in self._subjects if name > request.after)
        page = names[: request.limit]
        return AccessPage(
            org=self._org,
            version=self._version,
            subjects={name: self._subjects[name] for name in page},
            next=page[-1] if len(names) > len(page) else None,
            token_keys=self._token_keys,
        )

    async def _started(self) -> None:
        """Wait until `run` has restored its state, since messages may arrive before it starts."""
        if not self._ready:
            await workflow.wait_condition(lambda: self._ready)

    def _of(self, subject: str) -> SubjectAccess:
        return self._subjects.get(subject, SubjectAccess())

    def _set(self, subject: str, **changes: object) -> None:
        self._subjects[subject] = self._of(subject).model_copy(update=changes)
        self._version += 1

    def _set_revoked(self, request: Revoke, revoked: str) -> None:
        """Revoke or restore a worker or one of its keys, unless that was done already."""
        self._require_key(request)
        before = self._of(request.subject)
        if request.key is None:
            if bool(before.revoked) != bool(revoked):
                self._set(request.subject, revoked=revoked, told=_reason(request))
            return
        keys = [
            one.model_copy(update={"revoked": revoked})
            if one.thumbprint == request.key and bool(one.revoked) != bool(revoked)
            else one
            for one in before.keys
        ]
        if keys != before.keys:
            self._set(request.subject, keys=keys, told=_reason(request))

    def _changed(self, subject: str) -> AccessChanged:
        return AccessChanged(subject=subject, version=self._version, access=self._of(subject))

    def _require_known(self, subject: str) -> None:
        if subject not in self._subjects:
            raise NotThere(f"{subject} is not known here; see exclave access list.")

    def _require_key(self, request: Revoke) -> None:
        keys = [one.thumbprint for one in self._of(request.subject).keys]
        if request.key is not None and request.key not in keys:
            known = ", ".join(keys) or "none"
            raise NotThere(f"{request.subject} has no key {request.key}; its keys: {known}.")

    def _forget_expired(self) -> None:
        now = workflow.now().timestamp()
        self._used = {number: one for number, one in self._used.items() if one.expires > now}


def _together(before: list[str], more: list[str]) -> list[str]:
    return [*before, *(one for one in more if one not in before)][-TOKEN_KEYS:]


def _bounded(keys: list[EnrolledKey]) -> list[EnrolledKey]:
    while len(keys) > KEYS_PER_SUBJECT:
        keys.remove(next((one for one in keys if one.revoked), keys[0]))
    return keys


def _now() -> str:
    return workflow.now().isoformat(timespec="seconds")


def _reason(request: Revoke | Pause) -> str:
    return ": ".join(words for words in (request.by, request.reason) if words)


def _typed_as(subject: str) -> str:
    """A subject as people type it in commands."""
    return subject.removeprefix("install/")
