"""`control.keys`: lets a caller check that it holds the same key as the control worker."""

from temporalio import activity
from temporalio.client import Client

from contracts import proofs
from contracts.proofs import KeysProven, ProveKeys


class KeyProofs:
    """Runs on the control worker."""

    def __init__(self, client: Client) -> None:
        """Report whether this client, the worker's own, encrypts payloads."""
        self._encrypts = client.data_converter.payload_codec is not None

    @activity.defn(name=proofs.PROVE_KEYS.name)
    async def prove(self, input: ProveKeys) -> KeysProven:
        """Repeat the caller's nonce: with another key, or none, neither side could read it."""
        return KeysProven(nonce=input.nonce, encrypted=self._encrypts)
