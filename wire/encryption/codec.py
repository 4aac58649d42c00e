"""The payload codec: AES-256-GCM under the key of the subject that a payload belongs to.

The authenticated data also contains the namespace, the subject and the key's id. For the input or
answer of a worker's activity it also contains the type of the activity, the workflow's id, and
whether it is an answer. For the input of a workflow it does not contain the workflow's id, since
schedules append a time to that. So no payload can be moved to another install; within an install,
an answer can only take the place of another answer of the same activity type in the same workflow.

    metadata: encoding             binary/encrypted
              encryption-key-id    the id of the key
              encryption-subject   the subject that the payload belongs to
              encryption-place     the activity that it belongs to, if any
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
"""Metadata key that marks a payload which stays plain."""
_NONCE_BYTES = 12


class Encryption(PayloadCodec, WithSerializationContext):
    """Encrypts the payloads that leave this process, and decrypts those meant for it."""

    def __init__(
        self,
        keys: Keys,
        namespace: str,
        context: SerializationContext | None = None,
        patience: KeyPatience | None = None,
    ) -> None:
        """Encrypt in a namespace.

        Args:
            keys: The control side's keys, or a worker's own.
            namespace: The org.
            context: The workflow or activity that the payloads belong to, if known.
            patience: Decides how long to wait for missing keys.
        """
        self._patience = patience or KeyPatience()
        self._keys = keys
        self._namespace = namespace
        self._subject = subject_of(context)
        self._is_answer = keys.control and comes_from_a_worker(context)
        self._is_alone = is_without_workflow(context)
        asked, answered = places_of(context)
        self._place = asked if keys.control else answered
        self._places = {answered} if keys.control else {asked, answered}
        if self._is_alone:
            # Older workers and commands state no place here.
            self._places.add("")

    def with_context(self, context: SerializationContext) -> "Encryption":
        """The same codec, for payloads that belong to this context."""
        namespace = self._namespace
        if isinstance(context, WorkflowSerializationContext | ActivitySerializationContext):
            namespace = context.namespace
        return Encryption(self._keys, namespace, context, self._patience)

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encrypt.

        Raises:
            KeyMissing: this process has no key for the recipient.
        """
        return [self.encrypt(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decrypt; payloads that cannot or may not be read are replaced with a mark."""
        return [self.decrypt(payload) for payload in payloads]

    def encrypt(self, payload: Payload) -> Payload:
        """Encrypt a payload, unless it is public."""
        if PUBLIC in payload.metadata:
            return payload
        subject = self._subject or self._keys.home
        key = self._keys.newest(self._namespace, subject)
        if key is None:
            raise KeyMissing(f"There is no key here to encrypt for {self._whose(subject)}.")
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
        """Decrypt a payload; one that is refused is replaced with a mark."""
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
                    f"An answer that claims to be from the worker of "
                    f"{self._whose(self._subject or 'an activity')} is in plain text, which no "
                    "worker with keys sends. Somebody between the worker and Temporal, who has no "
                    "key, must have sent it. Look at the gateways."
                )
            if self._keys.control:
                return payload
            raise PayloadRefused(
                "What this worker was sent is not encrypted, and it accepts nothing else: whoever "
                "sent it does not have its key. Start the control plane with its master keys."
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
            # ORG, its home, is also expected here: the subject of what the codec server encrypts.
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
        """A subject for a message; anybody may have written it, so it is quoted and cut."""
        return f"{subject[:80]!r} in the namespace {self._namespace!r}"


def _bound(namespace: str, subject: str, key_id: str, place: str) -> bytes:
    """The authenticated data of a payload; only the last part could contain the separator."""
    parts = (namespace, subject, key_id, *([place] if place else []))
    return b"\0".join(part.encode() for part in parts)
