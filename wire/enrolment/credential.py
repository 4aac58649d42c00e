"""A worker's credential: got by enrolling once, and kept fresh for as long as the worker runs.

It is renewed at half its life, by a clock that nobody sets and that goes on while the machine is
suspended. A worker that was away for a week renews by its key alone.
"""

import asyncio
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
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
"""One that was away for longer than a credential lives leaves its workers idle until they ask."""
_STEP_SECONDS = 15.0
_FILE = "enrolled.json"


class Proof(Protocol):
    """What a worker has been given to enrol with."""

    async def enrol(self, calls: GatewayCalls, bound: str) -> Answer:
        """Enrol. Raises as `GatewayCalls` does.

        Args:
            calls: To the gateway.
            bound: Names the worker and its key, for what has to be bound to it.
        """


@dataclass(frozen=True)
class ByToken:
    """The one-time token of the stack, in a file that is read anew for each try."""

    path: Path

    async def enrol(self, calls: GatewayCalls, bound: str) -> Answer:
        """As `Proof` says."""
        try:
            token = EnrolmentToken.parse(await asyncio.to_thread(self.path.read_text, "utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise GatewayRefused(
                "no_token",
                f"{self.path} cannot be read ({error}); put the token there that the stack has "
                "(exclave install INSTALL --app APP --stack DIR makes a fresh one; of a build "
                "worker: exclave access build-worker DIR).",
            ) from error
        except InvalidToken as error:
            raise GatewayRefused("malformed", f"{self.path}: {error}") from error
        return await calls.enrol_by_token(token)


@dataclass(frozen=True)
class ByCloud:
    """What the cloud gives to this machine."""

    cloud: str
    document: Callable[[str], bytes]
    """Asks the cloud, for what the document is to be bound to; OSError where it does not answer."""

    async def enrol(self, calls: GatewayCalls, bound: str) -> Answer:
        """As `Proof` says."""
        try:
            document = await asyncio.to_thread(self.document, bound)
        except OSError as error:
            raise GatewayAway(f"{self.cloud} does not vouch for this machine: {error}") from error
        return await calls.enrol_by_cloud(self.cloud, document)


class Enrolling:
    """How a worker gets enrolled, and its memory of that."""

    def __init__(
        self, who: Enrolee, folder: Path, proof: Proof, calls: GatewayCalls | None = None
    ) -> None:
        """Enrol with what is given.

        Args:
            who: Who, and where.
            folder: Where the worker remembers that it is enrolled; beside its keys.
            proof: What it has been given for that.
            calls: With another clock, for tests.
        """
        self.who = who
        self.calls = calls or GatewayCalls(who)
        self._folder = folder
        self._proof = proof

    def payload_keys(self) -> bytes | None:
        """What the control side sealed to this worker; None before it is enrolled with its key."""
        earlier = self._earlier()
        if earlier is None:
            return None
        try:
            about = sealed_about("payload keys", self.who.subject)
            return unseal(earlier.sealed, self.who.identity.sealing, about)
        except CannotUnseal:
            _log.warning("%s is damaged: the worker enrols anew.", self._folder / _FILE)
            return None

    def _earlier(self) -> EarlierAnswer | None:
        try:
            kept = json.loads((self._folder / _FILE).read_text(encoding="utf-8"))
            mine = (kept["org"], kept["subject"], kept["key"]) == self._mine
            return EarlierAnswer.model_validate(kept["answer"]) if mine else None
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            _log.warning("%s is damaged: the worker enrols anew.", self._folder / _FILE)
            return None

    @property
    def _mine(self) -> tuple[str, Subject, str]:
        return self.who.org, self.who.subject, self.who.identity.thumbprint

    async def enrol(self) -> None:
        """Enrol, and remember it.

        Raises:
            GatewayAway: nobody answers.
            GatewayRefused: it is refused, or there is nothing to enrol with.
            AnswerForged: somebody else than the control side answered.
        """
        org, subject, key = self._mine
        self._keep(await self._proof.enrol(self.calls, f"exclave:{subject}:{key}"))
        _log.info("This worker is enrolled as %s of %s, with the key %s.", subject, org, key)

    async def ask_again(self) -> bool:
        """Get the payload keys as they are now; whether they have changed.

        Raises:
            GatewayAway: nobody answers.
            GatewayRefused: this worker is not enrolled, or revoked.
            AnswerForged: somebody else than the control side answered.
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
    """Seconds, also of those during which the machine is suspended, where it knows them."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Credentials:
    """The credential that a worker shows, wherever it shows one."""

    def __init__(
        self,
        enrolling: Enrolling,
        *,
        elapsed: Callable[[], float] = _elapsed,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Keep a credential for who enrols; `start` gets the first one."""
        self._enrolling = enrolling
        self._elapsed = elapsed
        self._sleep = sleep
        self._token = ""
        self._ends = 0.0
        self._clients: WeakSet[Client] = WeakSet()
        self._renewing: asyncio.Task[None] | None = None
        self._asking = asyncio.Lock()
        self._told = ""

    @property
    def token(self) -> str:
        """The newest credential; a secret."""
        return self._token

    def attach(self, client: Client) -> None:
        """Give a Temporal client each new credential, while it is connected."""
        client.api_key = self._token
        self._clients.add(client)

    def payload_keys(self) -> bytes:
        """What the control side handed to this worker, to read its payloads with."""
        return self._enrolling.payload_keys() or b""

    async def refresh_payload_keys(self) -> bool:
        """Ask for the payload keys as they are now; whether there are others than before.

        Where they cannot be had, those at hand stay, and the log says why.
        """
        try:
            return await self._enrolling.ask_again()
        except (GatewayAway, GatewayRefused, AnswerForged) as error:
            _log.warning("The payload keys stay as they were: %s", error)
            return False

    async def start(self) -> None:
        """Get the first credential, however long it takes, and keep it fresh from then on."""
        enrolled_before = self._enrolling.payload_keys() is not None
        answer = await self._insist()
        if enrolled_before:
            await self.refresh_payload_keys()
        self._renewing = asyncio.create_task(self._keep_fresh(answer))

    async def renew(self) -> None:
        """Get a new one, however long it takes: the one at hand was refused."""
        refused = self._token
        async with self._asking:
            if self._token == refused:
                await self._insist()

    async def stop(self) -> None:
        """Renew no more."""
        if self._renewing is not None:
            self._renewing.cancel()
            with suppress(asyncio.CancelledError):
                await self._renewing

    async def _keep_fresh(self, answer: Credential) -> None:
        while True:
            # Workers that started together do not renew together.
            half = answer.seconds / 2 * random.uniform(0.8, 1.1)  # noqa: S311
            await self._pass(half)
            async with self._asking:
                answer = await self._insist()

    async def _pass(self, seconds: float) -> None:
        """Wait in small steps: while the machine is suspended, sleeps are, too."""
        ends = self._elapsed() + seconds
        while (left := ends - self._elapsed()) > 0:
            await self._sleep(min(left, _STEP_SECONDS))

    async def _insist(self) -> Credential:
        """Try until there is a credential: what is refused today may be restored tomorrow."""
        for delay in backoff(1.0, _LONGEST_WAIT_SECONDS):
            wait = delay
            try:
                answer = await self._try()
            except GatewayAway as error:
                wait = min(delay, _LONGEST_WAIT_FOR_GATEWAY_SECONDS)
                self._tell(logging.WARNING, f"No new credential yet: {error}")
            except GatewayRefused as error:
                self._tell(logging.ERROR, f"No credential: {error}")
            except AnswerForged as error:
                self._tell(logging.ERROR, str(error))
            else:
                self._take(answer)
                return answer
            await self._sleep(wait * random.uniform(0.7, 1.3))  # noqa: S311
        raise AssertionError("the delays never end")

    async def _try(self) -> Credential:
        enrolled = self._enrolling.payload_keys() is not None
        if not enrolled:
            await self._enrolling.enrol()
        try:
            return await self._enrolling.calls.credential()
        except GatewayRefused as refused:
            if refused.code != "not_enrolled" or not enrolled:
                raise
        # The control plane has forgotten this key: the documented way back is a new token.
        await self._enrolling.enrol()
        return await self._enrolling.calls.credential()

    def _take(self, answer: Credential) -> None:
        if self._told:
            _log.info("There is a credential again.")
            self._told = ""
        about_clock = self._enrolling.calls.about_clock()
        if about_clock:
            _log.warning("The credential is good, but %s.", about_clock)
        self._token = answer.token
        self._ends = self._elapsed() + answer.seconds
        for client in self._clients:
            client.api_key = answer.token

    def _tell(self, level: int, words: str) -> None:
        """Say it once, and again only when it changes: it is tried for as long as it takes."""
        if self._token:
            left = self._ends - self._elapsed()
            state = (
                f"the one at hand is good for {left:.0f} s" if left > 0 else "the last has ended"
            )
            if left > 0 and level == logging.WARNING:
                level = logging.INFO
        else:
            state = "it is tried again until there is one"
        if words != self._told:
            self._told = words
            _log.log(level, "%s (%s)", words, state)
