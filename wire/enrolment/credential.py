"""A worker's credential: obtained after enrolling once, and renewed while the worker runs.

It is renewed after half its lifetime, measured by a clock that cannot be set and that also runs
while the machine is suspended. A worker that was away for a week needs only its key to renew it.
"""

import asyncio
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

from temporalio.client import Client

from contracts.access import EarlierAnswer, Subject
from wire.backoff import backoff
from wire.enrolment.client import (
    Answer,
    AnswerForged,
    Credential,
    Enrolee,
    GatewayAway,
    GatewayCalls,
    GatewayRefused,
)
from wire.enrolment.sealing import CannotUnseal, unseal
from wire.enrolment.token import EnrolmentToken, InvalidToken, sealed_about
from wire.private_files import write_whole

_log = logging.getLogger(__name__)

_LONGEST_WAIT_SECONDS = 60.0
_LONGEST_WAIT_FOR_GATEWAY_SECONDS = 15.0
"""After a long outage of the gateway, credentials have expired, and workers are idle until they
retry."""
_STEP_SECONDS = 15.0
_FILE = "enrolled.json"


class Proof(Protocol):
    """The proof that a worker enrols with."""

    async def enrol(self, calls: GatewayCalls, bound: str) -> Answer:
        """Enrol. Raises like `GatewayCalls`.

        Args:
            calls: The gateway.
            bound: Names the worker and its key, which the proof may have to be bound to.
        """


@dataclass(frozen=True)
class ByToken:
    """The one-time token of the stack, in a file that is read again for each attempt."""

    path: Path

    async def enrol(self, calls: GatewayCalls, bound: str) -> Answer:
        """As in `Proof`."""
        try:
            token = EnrolmentToken.parse(await asyncio.to_thread(self.path.read_text, "utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise GatewayRefused(
                "no_token",
                f"{self.path} cannot be read ({error}); put the token of the stack there "
                "(exclave install INSTALL --app APP --stack DIR makes a fresh one; for a build "
                "worker: exclave access build-worker DIR).",
            ) from error
        except InvalidToken as error:
            raise GatewayRefused("malformed", f"{self.path}: {error}") from error
        return await calls.enrol_by_token(token)


@dataclass(frozen=True)
class ByCloud:
    """A document that the cloud issues to this machine."""

    cloud: str
    document: Callable[[str], bytes]
    """Asks the cloud for a document bound to its argument; raises OSError if there is none."""

    async def enrol(self, calls: GatewayCalls, bound: str) -> Answer:
        """As in `Proof`."""
        try:
            document = await asyncio.to_thread(self.document, bound)
        except OSError as error:
            raise GatewayAway(f"{self.cloud} does not vouch for this machine: {error}") from error
        return await calls.enrol_by_cloud(self.cloud, document)


class Enrolling:
    """Enrols a worker, and remembers that on its disk."""

    def __init__(
        self, who: Enrolee, folder: Path, proof: Proof, calls: GatewayCalls | None = None
    ) -> None:
        """Prepare to enrol.

        Args:
            who: The worker, and its gateway.
            folder: Where the worker remembers that it is enrolled; its keys are there, too.
            proof: What it enrols with.
            calls: Another way to call the gateway, for tests.
        """
        self.who = who
        self.calls = calls or GatewayCalls(who)
        self._folder = folder
        self._proof = proof

    def payload_keys(self) -> bytes | None:
        """The payload keys from the control side; None until the worker's key is enrolled."""
        earlier = self._earlier()
        if earlier is None:
            return None
        try:
            about = sealed_about("payload keys", self.who.subject)
            return unseal(earlier.sealed, self.who.identity.sealing, about)
        except CannotUnseal:
            _log.warning("%s is damaged, so the worker enrols again.", self._folder / _FILE)
            return None

    def _earlier(self) -> EarlierAnswer | None:
        try:
            kept = json.loads((self._folder / _FILE).read_text(encoding="utf-8"))
            mine = (kept["org"], kept["subject"], kept["key"]) == self._mine
            return EarlierAnswer.model_validate(kept["answer"]) if mine else None
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            _log.warning("%s is damaged, so the worker enrols again.", self._folder / _FILE)
            return None

    @property
    def _mine(self) -> tuple[str, Subject, str]:
        return self.who.org, self.who.subject, self.who.identity.thumbprint

    async def enrol(self) -> None:
        """Enrol, and remember it.

        Raises:
            GatewayAway: nobody answers.
            GatewayRefused: the enrolment is refused, or there is nothing to enrol with.
            AnswerForged: the answer does not come from the control side.
        """
        org, subject, key = self._mine
        self._keep(await self._proof.enrol(self.calls, f"exclave:{subject}:{key}"))
        _log.info("This worker is enrolled as %s of %s, with the key %s.", subject, org, key)

    async def ask_again(self) -> bool:
        """Get the current payload keys; returns whether they have changed.

        Raises:
            GatewayAway: nobody answers.
            GatewayRefused: this worker is not enrolled, or revoked.
            AnswerForged: the answer does not come from the control side.
        """
        earlier, before = self._earlier(), self.payload_keys()
        if earlier is None:
            raise GatewayRefused("not_enrolled", "This worker is not enrolled yet.")
        answer = await self.calls.ask_again(earlier)
        self._keep(answer)
        return answer.payload_keys != before

    def _keep(self, answer: Answer) -> None:
        org, subject, key = self._mine
        kept = {"org": org, "subject": subject, "key": key, "answer": answer.signed.model_dump()}
        write_whole(self._folder / _FILE, json.dumps(kept).encode())


def _elapsed() -> float:
    """Seconds, including those while the machine was suspended, if the system counts them."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(eq=False)
class Credentials:
    """The credential of an enrolling worker, for all its connections; `start` gets the first."""

    enrolling: Enrolling
    elapsed: Callable[[], float] = _elapsed
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _token: str = field(default="", init=False, repr=False)
    _ends: float = field(default=0.0, init=False)
    _clients: WeakSet[Client] = field(default_factory=WeakSet, init=False)
    _renewing: asyncio.Task[None] | None = field(default=None, init=False)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _last_problem: str = field(default="", init=False)

    @property
    def token(self) -> str:
        """The newest credential; a secret."""
        return self._token

    def attach(self, client: Client) -> None:
        """Give a Temporal client every new credential from now on."""
        client.api_key = self._token
        self._clients.add(client)

    def payload_keys(self) -> bytes:
        """The keys to this worker's payloads, from the control side."""
        return self.enrolling.payload_keys() or b""

    async def refresh_payload_keys(self) -> bool:
        """Get the current payload keys; returns whether they have changed.

        If that fails, the former keys stay in use, and the log says why.
        """
        try:
            return await self.enrolling.ask_again()
        except (GatewayAway, GatewayRefused, AnswerForged) as error:
            _log.warning("The payload keys stay as they were: %s", error)
            return False

    async def start(self) -> None:
        """Get the first credential, however long it takes, and keep it fresh from then on."""
        enrolled_before = self.enrolling.payload_keys() is not None
        answer = await self._insist()
        if enrolled_before:
            await self.refresh_payload_keys()
        self._renewing = asyncio.create_task(self._keep_fresh(answer))

    async def renew(self) -> None:
        """Replace the current credential, which was refused, however long it takes."""
        refused = self._token
        async with self._asking:
            if self._token == refused:
                await self._insist()

    async def stop(self) -> None:
        """Stop renewing."""
        if self._renewing is not None:
            self._renewing.cancel()
            with suppress(asyncio.CancelledError):
                await self._renewing

    async def _keep_fresh(self, answer: Credential) -> None:
        while True:
            # Random, so that workers that started together do not renew together.
            half = answer.seconds / 2 * random.uniform(0.8, 1.1)  # noqa: S311
            await self._pass(half)
            async with self._asking:
                answer = await self._insist()

    async def _pass(self, seconds: float) -> None:
        """Wait in small steps, since a sleep does not end while the machine is suspended."""
        ends = self.elapsed() + seconds
        while (left := ends - self.elapsed()) > 0:
            await self.sleep(min(left, _STEP_SECONDS))

    async def _insist(self) -> Credential:
        """Retry until there is a credential; a worker that is refused now may be restored later."""
        for delay in backoff(1.0, _LONGEST_WAIT_SECONDS):
            wait = delay
            try:
                answer = await self._try()
            except GatewayAway as error:
                wait = min(delay, _LONGEST_WAIT_FOR_GATEWAY_SECONDS)
                self._log_problem(logging.WARNING, f"No new credential yet: {error}")
            except GatewayRefused as error:
                self._log_problem(logging.ERROR, f"No credential: {error}")
            except AnswerForged as error:
                self._log_problem(logging.ERROR, str(error))
            else:
                self._take(answer)
                return answer
            await self.sleep(wait * random.uniform(0.7, 1.3))  # noqa: S311
        raise AssertionError("the delays never end")

    async def _try(self) -> Credential:
        enrolled = self.enrolling.payload_keys() is not None
        if not enrolled:
            await self.enrolling.enrol()
        try:
            return await self.enrolling.calls.credential()
        except GatewayRefused as refused:
            if refused.code != "not_enrolled" or not enrolled:
                raise
        # The control plane has forgotten this key, so the worker enrols again, with a new token.
        await self.enrolling.enrol()
        return await self.enrolling.calls.credential()

    def _take(self, answer: Credential) -> None:
        if self._last_problem:
            _log.info("There is a credential again.")
            self._last_problem = ""
        about_clock = self.enrolling.calls.about_clock()
        if about_clock:
            _log.warning("The credential is valid, but %s.", about_clock)
        self._token = answer.token
        self._ends = self.elapsed() + answer.seconds
        for client in self._clients:
            client.api_key = answer.token

    def _log_problem(self, level: int, words: str) -> None:
        """Log a problem once, and again only when it changes, since retries may go on for days."""
        if self._token:
            left = self._ends - self.elapsed()
            state = (
                f"the current one is valid for {left:.0f} s" if left > 0 else "the last has expired"
            )
            if left > 0 and level == logging.WARNING:
                level = logging.INFO
        else:
            state = "retrying until there is one"
        if words != self._last_problem:
            self._last_problem = words
            _log.log(level, "%s (%s)", words, state)
