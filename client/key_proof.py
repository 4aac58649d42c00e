"""Proves, before anything is sent, that the command and the control plane have the same key.

A question without content is sent, encrypted like everything else. If both sides can read it and
its answer, they can also read what follows.
"""

import secrets

from temporalio import exceptions
from temporalio.client import ActivityFailureError, Client
from temporalio.exceptions import ApplicationError

from client.errors import Refused
from client.refusals import UNKNOWN_ACTIVITY
from client.standalone import answer_of
from contracts.errors import KeyMissing, PayloadRefused
from contracts.names import CONTROL_QUEUE
from contracts.proofs import PROVE_KEYS, ProveKeys
from wire.connection import TemporalAddress
from wire.encryption.key_settings import MASTER_VARIABLE
from wire.faults import Unreadable

_UNREAD = "Encoded failure"
"""The message that the SDK shows, without keys, for an error whose message is encrypted."""


class NobodyProves(Exception):
    """No control worker took the question."""


class KeyProof:
    """The proof for one connection."""

    def __init__(self, where: TemporalAddress, client: Client) -> None:
        self._where = where
        self._client = client
        self._encrypts = client.data_converter.payload_codec is not None
        self._is_given = False

    async def once(self) -> None:
        """Ask, unless the key is proven already.

        Raises:
            Refused: the control plane has another key, or only one side has a key.
            NobodyProves: no control worker took the question.
            RPCError: the server refuses it, or does not answer.
        """
        if self._is_given:
            return
        asked = ProveKeys(nonce=secrets.token_hex(16))
        try:
            answer = await answer_of(self._client, PROVE_KEYS, asked, CONTROL_QUEUE)
        except Unreadable as error:
            raise self._refused(str(error)) from error
        except ActivityFailureError as error:
            self._judge(error)
        else:
            if answer.encrypted != self._encrypts or answer.nonce != asked.nonce:
                raise self._refused("it answers in plain text")
        self._is_given = True

    def _judge(self, error: ActivityFailureError) -> None:
        cause = error.__cause__
        if isinstance(cause, exceptions.TimeoutError):
            raise NobodyProves from error
        if not isinstance(cause, ApplicationError):
            raise self._refused(str(cause or error)) from error
        if cause.type == UNKNOWN_ACTIVITY and cause.message != _UNREAD:
            # The control worker is older than this question, but its answer could be read.
            return
        unread = cause.type in {KeyMissing.__name__, PayloadRefused.__name__}
        said = cause.message if unread and cause.message != _UNREAD else ""
        raise self._refused(said) from error

    def _refused(self, why: str) -> Refused:
        plane = f"The control plane at {self._where.address} (namespace {self._where.namespace})"
        if not self._encrypts:
            return Refused(
                f"{plane} uses encryption, and this command has no keys; nothing was "
                f"sent. Name the file with its master keys: export {MASTER_VARIABLE}=FILE "
                "(`exclave dev` prints where its own are)."
            )
        return Refused(
            f"{plane} does not have the keys in {MASTER_VARIABLE}; nothing was sent. Name the file "
            f"with its master keys, or unset {MASTER_VARIABLE} if it has none."
            + (f" ({why})" if why else "")
        )
