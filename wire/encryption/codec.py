"""The payload codec: AES-256-GCM under the key of the subject that a payload belongs to.

What is authenticated beside the payload is the namespace, the subject and the key's id; of what
goes to or comes from an activity also which one of which workflow that is, and whether a worker has
answered it. The id of a workflow that is started is not: schedules append a time to it. So nothing
can be moved to another install; within one, an answer only into the place of another answer of the
same activity in the same workflow.

    metadata: encoding             binary/encrypted
              encryption-key-id    which key
              encryption-subject   whose payload it is
              encryption-place     of which activity it is, where it is of one
    data:     12 bytes of nonce, then the ciphertext with its tag
"""

import os
from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    ActivitySerializationContext,
    PayloadCodec,
    SerializationContext,
    WithSerializationContext,
    WorkflowSerializationContext,
)

from contracts.errors import KeyMissing, PayloadRefused
from wire.encryption.key_patience import KeyPatience
from wire.encryption.keys import Keys
from wire.encryption.server_payloads import is_of_the_server, of_the_server
from wire.encryption.subjects import comes_from_a_worker, is_without_workflow, places_of, subject_of
from wire.encryption.unreadable import ENCRYPTED, unreadable

KEY_ID: Final = "encryption-key-id"
SUBJECT: Final = "encryption-subject"
PLACE: Final = "encryption-place"
PUBLIC: Final = "exclave-public"
"""In the metadata of a payload that stays plain."""
_NONCE_BYTES = 12


class Encryption(PayloadCodec, WithSerializationContext):
    """Encrypts what leaves this process, and decrypts what is meant for it."""

    def __init__(
        self,
        keys: Keys,
        namespace: str,
        context: SerializationContext | None = None,
        patience: KeyPatience | None = None,
    ) -> None:
        """Encrypt in a namespace.

        Args:
            keys: The control side's, or a worker's own.
            namespace: The org.
            context: Where the payloads belong, if it is known.
            patience: How long keys that are missing are waited for.
        """
        self._patience = patience or KeyPatience()
        self._keys = keys
        self._namespace = namespace
        self._subject = subject_of(context)
        self._is_answer = keys.control and comes_from_a_worker(context)
        self._is_alone = is_without_workflow(context)
        told, answered = places_of(context)
        self._place = told if keys.control else answered
        self._places = {answered} if keys.control else {told, answered}
        if self._is_alone:
            # Older workers and commands name no place here.
            self._places.add("")

    def with_context(self, context: SerializationContext) -> "Encryption":
        """For payloads that belong there."""
        namespace = self._namespace
        if isinstance(context, WorkflowSerializationContext | ActivitySerializationContext):
            namespace = context.namespace
        return Encryption(self._keys, namespace, context, self._patience)

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encrypt.

        Raises:
            KeyMissing: we have no key for whom this is for.
        """
        return [self.encrypt(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decrypt; what may not be read is marked as such."""
        return [self.decrypt(payload) for payload in payloads]

    def encrypt(self, payload: Payload) -> Payload:
        """Encrypt one, unless it is public."""
        if PUBLIC in payload.metadata:
            return payload
        subject = self._subject or self._keys.home
        key = self._keys.newest(self._namespace, subject)
        if key is None:
            raise KeyMissing(f"There is no key here to encrypt for {self._whose(subject)} with.")
        nonce = os.urandom(_NONCE_BYTES)
        metadata = {"encoding": ENCRYPTED, KEY_ID: key.id.encode(), SUBJECT: subject.encode()}
        if self._place:
            metadata[PLACE] = self._place.encode()
        bound = _bound(self._namespace, subject, key.id, self._place)
        return Payload(
            metadata=metadata,
            data=nonce + key.cipher.encrypt(nonce, payload.SerializeToString(), bound),
        )

    def decrypt(self, payload: Payload) -> Payload:
        """Decrypt one, or return what stands for a payload that is refused."""
        try:
            return self._decrypted(payload)
        except KeyMissing as error:
            return unreadable(error, given_up=self._patience.is_over(payload.data))
        except PayloadRefused as error:
            return unreadable(error)

    def _decrypted(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") != ENCRYPTED:
            if self._is_answer:
                if is_of_the_server(payload, alone=self._is_alone):
                    return of_the_server(payload)
                raise PayloadRefused(
                    f"The worker of {self._whose(self._subject or 'an activity')} seems to have "
                    "answered in plain text, which no worker with keys does: whoever answered is "
                    "between the worker and Temporal, and holds no key. Look at the gateways."
                )
            if self._keys.control:
                return payload
            raise PayloadRefused(
                "What this worker was told is not encrypted, and it takes nothing else: whoever "
                "sent it does not hold its key. Start the control plane with its master keys."
            )
        subject = payload.metadata.get(SUBJECT, b"").decode(errors="replace")
        key_id = payload.metadata.get(KEY_ID, b"").decode(errors="replace")
        place = payload.metadata.get(PLACE, b"").decode(errors="replace")
        self._check_subject(subject)
        self._check_place(place)
        key = self._keys.find(self._namespace, subject, key_id)
        if key is None:
            raise KeyMissing(
                f"This payload of {self._whose(subject)} is encrypted with the key {key_id!r}, "
                "which this process was not given (yet)."
            )
        nonce, sealed = payload.data[:_NONCE_BYTES], payload.data[_NONCE_BYTES:]
        try:
            bound = _bound(self._namespace, subject, key_id, place)
            plain = key.cipher.decrypt(nonce, sealed, bound)
        except (InvalidTag, ValueError):
            # ValueError: too short to hold a nonce.
            raise PayloadRefused(
                f"This payload of {self._whose(subject)} was altered, or encrypted with another "
                f"key than the {key_id!r} that it names."
            ) from None
        return Payload.FromString(plain)

    def _check_subject(self, subject: str) -> None:
        expected = {self._keys.home}
        if self._keys.control:
            # Besides, what a person sent through the codec server: that is the org's.
            expected.add(self._subject or subject)
        if subject not in expected:
            here = self._subject or self._keys.home
            raise PayloadRefused(
                f"This payload belongs to {self._whose(subject)}, and was sent to "
                f"{self._whose(here)}."
            )

    def _check_place(self, place: str) -> None:
        if self._place and place not in self._places:
            raise PayloadRefused(
                f"This payload belongs to {place[:200] or 'no activity'}, and was sent in the "
                f"place of {self._place}: whoever sent it is between the worker and Temporal."
            )

    def _whose(self, subject: str) -> str:
        """A subject that anybody may have written, as a message may show it."""
        return f"{subject[:80]!r} in the namespace {self._namespace!r}"


def _bound(namespace: str, subject: str, key_id: str, place: str) -> bytes:
    """What is authenticated beside a payload; of the parts only the last can hold the separator."""
    parts = (namespace, subject, key_id, *([place] if place else []))
    return b"\0".join(part.encode() for part in parts)
